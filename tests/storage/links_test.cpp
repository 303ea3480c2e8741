// Symbolic links: a caller's path is resolved once, and at any other name that is written nothing
// is reached through one; pipes are refused at once.
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/scratch.hpp"
#include "storage/small_file.hpp"
#include "storage/storage.hpp"
#include "storage/store_begin.hpp"
#include "storage/without_proc.hpp"

namespace sluice::storage {
namespace {

namespace fs = std::filesystem;

std::string content_of(const std::string& path) {
  const auto file = make_posix()->open(path, Access::read);
  std::vector<std::byte> bytes(file->size());
  file->read(0, bytes);
  return text_of(bytes);
}

void make_file(const std::string& path, const std::string& text) {
  make_posix()->open(path, Access::create)->write(0, bytes_of(text));
}

class Links : public testing::TestWithParam<const char*> {
 protected:
  Links() : root_(fs::canonical(scratch_.folder()).string()) {}
  std::string at(const std::string& name) const { return root_ + "/" + name; }
  void link(const std::string& target, const std::string& name) {
    fs::create_symlink(target, at(name));
  }
  void expect_refused(const Error& error, const std::string& name) {
    EXPECT_EQ(error.code(), Code::permission) << error.what();
    EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
  }

  Scratch scratch_;
  const std::string root_;
  std::shared_ptr<Storage> storage_ = make(GetParam());
};

TEST_P(Links, APathIsWhatItsLinksLeadTo) {
  make_file(at("real.h5"), "x");
  fs::create_directories(at("deep/er"));
  make_file(at("deep/data.h5"), "y");
  link("real.h5", "one");
  link(at("one"), "two");
  link("deep/er/../data.h5", "up");
  link("deep/er", "folder");
  link("../data.h5", "deep/er/inner");
  link("not-there.h5", "dangling");
  EXPECT_EQ(storage_->real_path(at("real.h5")), at("real.h5"));
  EXPECT_EQ(storage_->real_path(at("new.h5")), at("new.h5"));
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(storage_->real_path("plain/../name.h5"), here + "/plain/../name.h5");
  EXPECT_EQ(storage_->real_path("././name.h5"), here + "/name.h5");
  EXPECT_EQ(storage_->real_path(at("one")), at("real.h5"));
  EXPECT_EQ(storage_->real_path(at("two")), at("real.h5"));
  EXPECT_EQ(storage_->real_path(at("up")), at("deep/data.h5"));
  EXPECT_EQ(storage_->real_path(at("folder/inner")), at("deep/data.h5"));
  EXPECT_EQ(storage_->real_path(at("folder/")), at("deep/er"));
  EXPECT_EQ(storage_->real_path(at("deep/er/")), at("deep/er"));
  EXPECT_EQ(storage_->real_path(at("dangling")), at("not-there.h5"));
}

TEST_P(Links, LoopsAndLinksIntoNowhereAreErrors) {
  link("b", "a");
  link("a", "b");
  expect_refused(error_of([&] { storage_->real_path(at("a")); }), at("a"));
  link("no/folder/x.h5", "lost");
  const Error error = error_of([&] { storage_->real_path(at("lost")); });
  EXPECT_EQ(error.code(), Code::not_found) << error.what();
  EXPECT_NE(std::string(error.what()).find(at("lost")), std::string::npos) << error.what();
}

TEST_P(Links, NothingIsWrittenThroughOne) {
  make_file(at("victim"), "untouched");
  link("victim", "planted");
  expect_refused(error_of([&] { storage_->open(at("planted"), Access::read_write); }),
                 at("planted"));
  EXPECT_EQ(error_of([&] { storage_->open(at("planted"), Access::create); }).code(), Code::exists);
  EXPECT_EQ(error_of([&] { storage_->create_like(at("planted"), at("victim")); }).code(),
            Code::exists);
  link("not-there", "dangling");
  EXPECT_EQ(error_of([&] { storage_->open(at("dangling"), Access::create); }).code(), Code::exists);
  EXPECT_TRUE(storage_->exists(at("dangling"))) << "the name is taken";
  storage_->remove(at("planted"));
  storage_->remove(at("dangling"));
  EXPECT_EQ(content_of(at("victim")), "untouched");
  EXPECT_FALSE(fs::exists(at("not-there")));
}

TEST_P(Links, ALeaseIsTakenOfNothingElse) {
  make_file(at("victim"), "untouched");
  link("victim", "a.h5.sluice-lease");
  expect_refused(error_of([&] { storage_->lease(at("a.h5")); }), at("a.h5.sluice-lease"));
  link("not-there", "b.h5.sluice-lease");
  expect_refused(error_of([&] { storage_->lease(at("b.h5")); }), at("b.h5.sluice-lease"));
  fs::create_hard_link(at("victim"), at("c.h5.sluice-lease"));
  expect_refused(error_of([&] { storage_->lease(at("c.h5")); }), at("c.h5.sluice-lease"));
  ASSERT_EQ(::mkfifo(at("d.h5.sluice-lease").c_str(), 0600), 0);
  expect_refused(error_of([&] { storage_->lease(at("d.h5")); }), at("d.h5.sluice-lease"));
  EXPECT_EQ(content_of(at("victim")), "untouched");
  EXPECT_FALSE(fs::exists(at("not-there")));
}

TEST_P(Links, NoneIsFollowedInAConfinedFolder) {
  fs::create_directories(at("victim/inside"));
  make_file(at("victim/file"), "untouched");
  make_file(at("victim/inside/file"), "untouched");
  fs::create_directories(at("store/real"));
  make_file(at("store/real/object"), "own");
  link("../victim", "store/planted");
  storage_->confine(at("store"));

  const std::string through = at("store/planted");
  const auto refused = [&](auto&& action) { expect_refused(error_of(action), through); };
  refused([&] { storage_->open(through + "/file", Access::read); });
  refused([&] { storage_->open(through + "/file", Access::read_write); });
  refused([&] { storage_->open(through + "/new", Access::create); });
  refused([&] { storage_->create_like(through + "/new", through + "/file"); });
  refused([&] { storage_->open(through + "/inside/file", Access::read_write); });
  refused([&] { storage_->remove(through + "/file"); });
  refused([&] { storage_->remove_folder(through + "/inside"); });
  refused([&] { storage_->make_folder(through + "/made"); });
  refused([&] { storage_->make_folder(through); });
  refused([&] { storage_->rename(at("store/real/object"), through + "/file"); });
  refused([&] { storage_->rename(through + "/file", at("store/real/stolen")); });
  refused([&] { storage_->exists(through + "/file"); });
  refused([&] { storage_->sync_directory(through + "/file"); });
  expect_refused(error_of([&] { storage_->open(at("store/../victim/file"), Access::read_write); }),
                 "..");

  storage_->make_folder(at("store/a/b/c"));
  storage_->open(at("store/a/b/c/x"), Access::create)->write(0, bytes_of("x"));
  storage_->rename(at("store/a/b/c/x"), at("store/a/y"));
  storage_->sync_directory(at("store/a/y"));
  EXPECT_EQ(content_of(at("store/a/y")), "x");
  EXPECT_FALSE(storage_->exists(at("store/no/such/folder")));
  fs::create_symlink("../../victim", at("store/a/link"));
  storage_->remove_folder(at("store/a"));  // with the link, not what it leads to
  EXPECT_FALSE(fs::exists(at("store/a")));

  EXPECT_EQ(content_of(at("victim/file")), "untouched");
  EXPECT_EQ(content_of(at("victim/inside/file")), "untouched");
  EXPECT_FALSE(fs::exists(at("victim/new")) || fs::exists(at("victim/made")));
}

TEST_P(Links, ObjectsOfAStoreAreMadeInsideIt) {
  fs::create_directories(at("victim"));
  begin_store(*storage_, at("a.zarr"), "manifest.json", {"manifest.json"}, false);
  link("../victim", "a.zarr/x");
  const std::vector<Segment> objects{{4096, 8, 8, "x/c/0"}};
  expect_refused(error_of([&] { make_objects(*storage_, at("a.zarr"), objects); }), at("a.zarr/x"));
  EXPECT_TRUE(fs::is_empty(at("victim")));
}

TEST_P(Links, APipeIsRefusedAtOnce) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  ::alarm(20);  // ends the test where it would hang
  for (const Access access : {Access::read, Access::read_write}) {
    const Error error = error_of([&] { storage_->open(at("pipe"), access); });
    EXPECT_EQ(error.code(), Code::io) << error.what();
    EXPECT_NE(std::string(error.what()).find("pipe"), std::string::npos) << error.what();
  }
  EXPECT_EQ(error_of([&] { read_small_file(at("pipe"), 100, Trust::anybody); }).code(), Code::io);
  ::alarm(0);
}

/// As in a bare container: what cannot be removed is not said to be.
TEST_P(Links, WithoutProcNoFolderBelowAConfinedOneIsRemoved) {
  fs::create_directories(at("store/inner"));
  storage_->confine(at("store"));
  const std::optional<bool> is_said = answer_without_proc([&] {
    const Error error = error_of([&] { storage_->remove_folder(at("store/inner")); });
    return error.code() == Code::io &&
           std::string(error.what()).find("mount /proc") != std::string::npos;
  });
  if (!is_said) GTEST_SKIP() << "no mount can be made here";
  EXPECT_TRUE(*is_said);
  EXPECT_TRUE(fs::exists(at("store/inner")));
  storage_->remove_folder(at("store/inner"));
  EXPECT_FALSE(fs::exists(at("store/inner")));
}

INSTANTIATE_TEST_SUITE_P(Each, Links, testing::Values("posix", "writeback", "direct"),
                         [](const auto& which) { return std::string(which.param); });

}  // namespace
}  // namespace sluice::storage
