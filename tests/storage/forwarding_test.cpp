// A wrapper leaves nothing out: what it wraps is asked what its users ask it.
#include "storage/forwarding.hpp"

#include <functional>

#include "storage/object/by_path.hpp"
#include "storage/scratch.hpp"
#include "storage/self_storage.hpp"
#include "storage/store.hpp"
#include "support/faulty_storage.hpp"
#include "support/observing_storage.hpp"
#include "support/recording_storage.hpp"

namespace sluice::storage {
namespace {

/// Counts the looks for names, and keeps the path of which it was asked for whole files.
class CountedStorage final : public ObservingStorage {
 public:
  using ObservingStorage::ObservingStorage;
  bool exists(const std::string& path) override {
    ++looks;
    return inner().exists(path);
  }
  bool may_have_names(const std::string& path) override {
    ++looks;
    return inner().may_have_names(path);
  }
  WholeFiles* whole_files(const std::string& path) override {
    asked_path = path;
    return nullptr;
  }
  int ranks_together() const override { return 3; }

  int looks = 0;
  std::string asked_path;
};

/// Whole files that nobody calls.
class UnusedFiles final : public WholeFiles {
 public:
  void put(const std::string&, std::span<const std::byte>) override {}
  void replace(const std::string&, std::span<const std::byte>, std::int64_t, bool&) override {}
  bool has_conditions() const override { return false; }
  std::unique_ptr<File> open_version(const std::string&, std::uint64_t, std::uint64_t) override {
    return nullptr;
  }
  std::unique_ptr<File> open_unseen(const std::string&) override { return nullptr; }
  void finish() override {}
  void discard() override {}
  void note_empty() override {}
  bool may_have_leftovers() const override { return false; }
  void remove_all(std::span<const std::string>) override {}
  Sizes sizes_of(std::span<const std::string> paths) override { return Sizes(paths.size()); }
  std::shared_ptr<void> will_read(std::vector<ObjectRange>) override { return nullptr; }
};

class WithWholeFiles final : public ForwardingStorage {
 public:
  using ForwardingStorage::ForwardingStorage;
  WholeFiles* whole_files(const std::string&) override { return &whole; }

  UnusedFiles whole;
};

using Wrap = std::function<std::shared_ptr<Storage>(const std::shared_ptr<Storage>&)>;

/// All wrappers of one storage.
std::vector<std::pair<std::string, Wrap>> wrappers() {
  return {{"self",
           [](const std::shared_ptr<Storage>& inner) -> std::shared_ptr<Storage> {
             return make_self_storage(*inner);
           }},
          {"recording",
           [](const std::shared_ptr<Storage>& inner) {
             return std::make_shared<RecordingStorage>(inner, std::make_shared<Log>());
           }},
          {"faulty",
           [](const std::shared_ptr<Storage>& inner) {
             return std::make_shared<FaultyStorage>(inner, std::make_shared<Faults>());
           }},
          {"observing",
           [](const std::shared_ptr<Storage>& inner) {
             return std::make_shared<ObservingStorage>(inner);
           }},
          {"forwarding", [](const std::shared_ptr<Storage>& inner) {
             return std::make_shared<ForwardingStorage>(inner);
           }}};
}

class Forwarding : public testing::Test {
 protected:
  void SetUp() override {
    make_posix()->open(file_, Access::create)->write(0, bytes_of("data"));
    make_posix()->make_folder(folder_);
  }

  Scratch scratch_;
  const std::string file_ = scratch_ / "out.h5";
  const std::string folder_ = scratch_ / "out.zarr";
  const Manifests known_ = {"zarr.json", "repo", "other"};
};

/// Not one for each name that a manifest may have.
TEST_F(Forwarding, ARegularFileIsNoStoreByOneLook) {
  for (const auto& [name, wrap] : wrappers()) {
    const auto counted = std::make_shared<CountedStorage>(make_posix());
    EXPECT_FALSE(is_store(*wrap(counted), file_, known_)) << name;
    EXPECT_EQ(counted->looks, 1) << name;
  }
}

TEST_F(Forwarding, WhoHasWholeFilesIsAskedByPath) {
  for (const auto& [name, wrap] : wrappers()) {
    const auto counted = std::make_shared<CountedStorage>(make_posix());
    wrap(counted)->whole_files(folder_);
    EXPECT_EQ(counted->asked_path, folder_) << name;
  }
}

/// Not recorded, and not made to fail: puts and removals of whole files would go past them.
TEST_F(Forwarding, WhoObservesCallsRefusesWholeFiles) {
  const auto objects = std::make_shared<WithWholeFiles>(make_posix());
  for (const auto& [name, wrap] : wrappers()) {
    const auto wrapped = wrap(objects);
    if (name == "recording" || name == "faulty") {
      EXPECT_EQ(error_of([&] { wrapped->whole_files(folder_); }).code(), Code::internal) << name;
    } else {
      EXPECT_EQ(wrapped->whole_files(folder_), &objects->whole) << name;
    }
    EXPECT_EQ(wrap(make_posix())->whole_files(folder_), nullptr) << name;
  }
}

TEST_F(Forwarding, OnlyTheCommandsStorageRefusesToChangeObjects) {
  const auto by_path = make_by_path([] { return 1.0; });
  EXPECT_FALSE(by_path->may_have_names(file_));
  EXPECT_TRUE(by_path->may_have_names(folder_));
  EXPECT_EQ(by_path->whole_files(file_), nullptr);
  EXPECT_EQ(error_of([&] { by_path->rename(file_, "s3://bucket/out"); }).code(), Code::unsupported);
  EXPECT_EQ(error_of([&] { by_path->rename("s3://bucket/out", file_); }).code(), Code::unsupported);
  EXPECT_EQ(error_of([&] { by_path->open("s3://bucket/out", Access::create); }).code(),
            Code::unsupported);
  EXPECT_EQ(error_of([&] { by_path->lease("s3://bucket/out"); }).code(), Code::unsupported);
}

TEST_F(Forwarding, WhoWrapsForOneRankOpensAlone) {
  for (const auto& [name, wrap] : wrappers()) {
    const auto counted = std::make_shared<CountedStorage>(make_posix());
    EXPECT_EQ(wrap(counted)->ranks_together(), name == "forwarding" ? 3 : 0) << name;
    EXPECT_EQ(wrap(counted)->open_together(file_, Access::read, false), nullptr) << name;
    EXPECT_NE(wrap(counted)->open_together(file_, Access::read, true), nullptr) << name;
  }
}

/// With the permissions of what it replaces.
TEST_F(Forwarding, ASetsPartIsMadeLikeItsModel) {
  std::filesystem::permissions(file_, std::filesystem::perms(0600));
  const auto posix = make_posix();
  make_self_storage(*posix)->create_like(scratch_ / "new", file_);
  EXPECT_EQ(std::filesystem::status(scratch_ / "new").permissions(), std::filesystem::perms(0600));
}

}  // namespace
}  // namespace sluice::storage
