// What every storage must do, tested on each of them.
#include <algorithm>
#include <cerrno>
#include <gtest/gtest.h>
#include <memory>
#include <stdio.h>
#include <string>

#include "storage/named_file.hpp"
#include "storage/posix_calls.hpp"
#include "storage/scratch.hpp"
#include "storage/storage.hpp"
#include "support/faulty_storage.hpp"
#include "support/memory_storage.hpp"
#include "support/recording_storage.hpp"

namespace sluice::storage {
namespace {

std::shared_ptr<Storage> storage_named(const std::string& name) {
  if (name == "memory") return make_memory();
  if (name == "recording") {
    return std::make_shared<RecordingStorage>(make_memory(), std::make_shared<Log>());
  }
  if (name == "faulty") {
    return std::make_shared<FaultyStorage>(make_posix(), std::make_shared<Faults>());
  }
  return make(name);
}

class Conformance : public testing::TestWithParam<const char*> {
 protected:
  std::string path(const std::string& name = "a") const { return scratch_ / name; }
  std::vector<std::byte> all_of(const std::string& file_path) {
    auto file = storage_->open(file_path, Access::read);
    std::vector<std::byte> bytes(file->size());
    EXPECT_EQ(file->read(0, bytes), bytes.size());
    return bytes;
  }
  void put(const std::string& file_path, const std::string& text) {
    storage_->open(file_path, Access::create)->write(0, bytes_of(text));
  }

  Scratch scratch_;
  std::shared_ptr<Storage> storage_ = storage_named(GetParam());
};

TEST_P(Conformance, BytesComeBackAtAnyOffset) {
  auto file = storage_->open(path(), Access::create);
  const std::uint64_t offsets[] = {0, 1, 4095, 70'000, (1ull << 32) - 7, (1ull << 40) + 4097};
  std::uint64_t seed = 1;
  for (const std::uint64_t offset : offsets) file->write(offset, random_bytes(300, seed++));
  EXPECT_EQ(file->size(), (1ull << 40) + 4097 + 300);
  // Later writes won where they overlap, and holes read as zeros.
  std::vector<std::byte> front(302);
  EXPECT_EQ(file->read(0, front), front.size());
  EXPECT_EQ(front[0], random_bytes(1, 1)[0]);
  const auto second = random_bytes(300, 2);
  EXPECT_TRUE(std::equal(second.begin(), second.end(), front.begin() + 1));
  EXPECT_EQ(front[301], std::byte{0});
  for (std::size_t i = 2; i < std::size(offsets); ++i) {
    std::vector<std::byte> got(300);
    EXPECT_EQ(file->read(offsets[i], got), got.size());
    EXPECT_EQ(got, random_bytes(300, i + 1)) << "offset " << offsets[i];
  }
}

TEST_P(Conformance, LargeWritesComeBackFromAnyMemory) {
  auto file = storage_->open(path(), Access::create);
  const auto bytes = random_bytes(9'000'000, 7);
  file->write(123, std::span(bytes).subspan(1));
  file->sync();
  file->drop_cache();
  std::vector<std::byte> got(bytes.size() - 1);
  EXPECT_EQ(file->read(123, got), got.size());
  EXPECT_TRUE(std::equal(got.begin(), got.end(), bytes.begin() + 1));
}

TEST_P(Conformance, ReadsEndWithTheFile) {
  auto file = storage_->open(path(), Access::create);
  file->write(0, bytes_of("0123456789"));
  std::vector<std::byte> got(20);
  EXPECT_EQ(file->read(4, got), 6u);
  EXPECT_EQ(text_of(std::span(got).first(6)), "456789");
  EXPECT_EQ(file->read(10, got), 0u);
  EXPECT_EQ(file->read(1'000'000, got), 0u);
}

TEST_P(Conformance, EmptyWritesChangeNothing) {
  auto file = storage_->open(path(), Access::create);
  file->write(5000, {});
  EXPECT_EQ(file->size(), 0u);
}

TEST_P(Conformance, CreateIsExclusiveAndOpenIsNot) {
  EXPECT_EQ(error_of([&] { storage_->open(path(), Access::read); }).code(), Code::not_found);
  EXPECT_EQ(error_of([&] { storage_->open(path(), Access::read_write); }).code(), Code::not_found);
  put(path(), "old");
  EXPECT_EQ(error_of([&] { storage_->open(path(), Access::create); }).code(), Code::exists);
  EXPECT_EQ(text_of(all_of(path())), "old");
  storage_->open(path(), Access::read_write)->write(0, bytes_of("new"));
  EXPECT_EQ(text_of(all_of(path())), "new");
}

TEST_P(Conformance, FilesOpenedForReadingRefuseWrites) {
  put(path(), "old");
  auto file = storage_->open(path(), Access::read);
  EXPECT_EQ(error_of([&] { file->write(0, bytes_of("new")); }).code(), Code::io);
  EXPECT_EQ(text_of(all_of(path())), "old");
}

TEST_P(Conformance, TwoFilesOfOnePathSeeTheSameBytes) {
  auto one = storage_->open(path(), Access::create);
  auto other = storage_->open(path(), Access::read_write);
  one->write(0, bytes_of("one"));
  other->write(3, bytes_of("other"));
  EXPECT_EQ(text_of(all_of(path())), "oneother");
  EXPECT_EQ(one->size(), 8u);
}

TEST_P(Conformance, PreallocationGrowsAndKeepsBytes) {
  auto file = storage_->open(path(), Access::create);
  file->write(0, bytes_of("kept"));
  file->preallocate(0, 1 << 20);
  EXPECT_EQ(file->size(), 1u << 20);
  file->preallocate(0, 0);
  file->preallocate(100, 100);
  EXPECT_EQ(file->size(), 1u << 20);
  const auto bytes = all_of(path());
  EXPECT_EQ(text_of(std::span(bytes).first(4)), "kept");
  EXPECT_EQ(bytes.back(), std::byte{0});
}

TEST_P(Conformance, ResizeCutsAndGrowsWithZeros) {
  auto file = storage_->open(path(), Access::create);
  file->write(0, random_bytes(10'000, 3));
  file->resize(5'000);
  file->resize(20'000);
  auto expected = random_bytes(10'000, 3);
  expected.resize(5'000);
  expected.resize(20'000);
  EXPECT_EQ(all_of(path()), expected);
}

TEST_P(Conformance, ModificationTimeIsKept) {
  auto file = storage_->open(path(), Access::create);
  for (const std::int64_t ns : {1'700'000'000'123'456'789, std::int64_t{0}, -1'500'000'000l}) {
    file->set_modified_ns(ns);
    EXPECT_EQ(file->modified_ns(), ns);
  }
  file->write(0, bytes_of("x"));
  EXPECT_GT(file->modified_ns(), 0);
}

TEST_P(Conformance, RenameReplacesAndOpenFilesKeepTheirInode) {
  put(path("old"), "old");
  put(path("new"), "new!");
  auto replaced = storage_->open(path("old"), Access::read_write);
  auto moved = storage_->open(path("new"), Access::read_write);
  storage_->rename(path("new"), path("old"));
  EXPECT_FALSE(storage_->exists(path("new")));
  EXPECT_EQ(text_of(all_of(path("old"))), "new!");
  replaced->write(0, bytes_of("lost"));
  moved->write(0, bytes_of("kept"));
  EXPECT_EQ(text_of(all_of(path("old"))), "kept");
  EXPECT_EQ(replaced->size(), 4u);
  EXPECT_EQ(error_of([&] { storage_->rename(path("new"), path("b")); }).code(), Code::not_found);
  storage_->rename(path("old"), path("old"));
  EXPECT_EQ(text_of(all_of(path("old"))), "kept");
}

TEST_P(Conformance, ARenameToANewNameReplacesNothing) {
  put(path("old"), "old");
  put(path("new"), "new!");
  EXPECT_EQ(error_of([&] { storage_->rename_new(path("new"), path("old")); }).code(), Code::exists);
  EXPECT_EQ(text_of(all_of(path("old"))), "old");
  EXPECT_EQ(text_of(all_of(path("new"))), "new!");
  storage_->rename_new(path("new"), path("free"));
  EXPECT_FALSE(storage_->exists(path("new")));
  EXPECT_EQ(text_of(all_of(path("free"))), "new!");
  EXPECT_EQ(error_of([&] { storage_->rename_new(path("new"), path("b")); }).code(),
            Code::not_found);
}

TEST_P(Conformance, ANameLeadsToTheFileThatWasOpenedByIt) {
  const auto file = storage_->open(path("a"), Access::create);
  const auto other = storage_->open(path("b"), Access::create);
  EXPECT_TRUE(is_at(*storage_, path("a"), file->identity()));
  if (file->identity() == FileIdentity{}) return;  // it does not tell them apart
  EXPECT_EQ(identity_at(path("a")), file->identity());
  EXPECT_EQ(identity_at(path("b")), other->identity());
  EXPECT_FALSE(is_at(*storage_, path("b"), file->identity()));
  storage_->remove(path("a"));
  EXPECT_EQ(identity_at(path("a")), std::nullopt);
  EXPECT_EQ(identity_at(path("b/c")), std::nullopt) << "b is no folder";
  EXPECT_EQ(error_of([&] { identity_at(path(std::string(300, 'x'))); }).code(), Code::io);
}

TEST_P(Conformance, RemovedFilesLiveWhileTheyAreOpen) {
  put(path(), "first");
  auto file = storage_->open(path(), Access::read_write);
  storage_->remove(path());
  EXPECT_FALSE(storage_->exists(path()));
  EXPECT_EQ(error_of([&] { storage_->remove(path()); }).code(), Code::not_found);
  file->write(5, bytes_of("!"));
  put(path(), "second");
  std::vector<std::byte> got(10);
  EXPECT_EQ(file->read(0, got), 6u);
  EXPECT_EQ(text_of(all_of(path())), "second");
}

TEST_P(Conformance, SyncsSucceed) {
  auto file = storage_->open(path(), Access::create);
  file->write(0, bytes_of("x"));
  file->sync();
  storage_->sync_directory(path());
  file->drop_cache();
  EXPECT_EQ(text_of(all_of(path())), "x");
}

TEST_P(Conformance, AFolderIsNoFile) {
  std::filesystem::create_directory(path("folder"));
  put(path("folder/inside"), "x");
  EXPECT_TRUE(storage_->exists(path("folder")));
  for (const Access access : {Access::read, Access::read_write}) {
    const Error error = error_of([&] { storage_->open(path("folder"), access); });
    EXPECT_EQ(error.code(), Code::io);
    EXPECT_NE(std::string(error.what()).find("Is a directory"), std::string::npos) << error.what();
  }
  EXPECT_EQ(error_of([&] { storage_->open(path("folder"), Access::create); }).code(), Code::exists);
  EXPECT_EQ(error_of([&] { storage_->remove(path("folder")); }).code(), Code::io);
  EXPECT_EQ(error_of([&] { storage_->open(path("folder/inside/x"), Access::create); }).code(),
            Code::io);
  EXPECT_FALSE(storage_->exists(path("folder/inside/x")));
}

TEST_P(Conformance, AFolderSaysWhatIsInIt) {
  std::filesystem::create_directories(path("folder/below"));
  put(path("folder/below/deep"), "x");
  put(path("folder/b"), "x");
  put(path("folder/a"), "x");
  std::vector<std::string> names = storage_->list(path("folder"));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "below"}));
  EXPECT_EQ(error_of([&] { storage_->list(path("nowhere")); }).code(), Code::not_found);
  EXPECT_EQ(error_of([&] { storage_->list(path("folder/a")); }).code(), Code::io);
}

TEST_P(Conformance, RangesBeyondTheLargestFileAreRefused) {
  auto file = storage_->open(path(), Access::create);
  std::vector<std::byte> bytes(10);
  const std::uint64_t last = (1ull << 63) - 1;
  EXPECT_EQ(error_of([&] { file->write(last - 5, bytes); }).code(), Code::invalid_argument);
  EXPECT_EQ(error_of([&] { file->read(~0ull - 5, bytes); }).code(), Code::invalid_argument);
  EXPECT_EQ(error_of([&] { file->preallocate(1, ~0ull); }).code(), Code::invalid_argument);
  EXPECT_EQ(error_of([&] { file->resize(1ull << 63); }).code(), Code::invalid_argument);
  EXPECT_EQ(file->size(), 0u);
}

TEST_P(Conformance, NoDescriptorIsLeft) {
  const std::size_t before = open_descriptors();
  put(path(), "x");
  for (int i = 0; i < 20; ++i) {
    storage_->open(path(), Access::read_write)->write(0, bytes_of("y"));
    error_of([&] { storage_->open(path(), Access::create); });
    error_of([&] { storage_->open(scratch_.folder(), Access::read); });
    storage_->sync_directory(path());
  }
  EXPECT_EQ(open_descriptors(), before);
}

INSTANTIATE_TEST_SUITE_P(Each, Conformance,
                         testing::Values("posix", "writeback", "direct", "memory", "recording",
                                         "faulty"),
                         [](const auto& which) { return std::string(which.param); });

int replacing_renames = 0;

/// A file system that cannot rename in this way, such as NFS.
std::shared_ptr<Storage> without_noreplace() {
  SystemCalls calls = real_system_calls();
  calls.renameat2 = [](int, const char*, int, const char*, unsigned) {
    errno = EINVAL;
    return -1;
  };
  // A file that another program makes before this moment would be replaced.
  calls.renameat = [](int from_folder, const char* from, int to_folder, const char* to) {
    ++replacing_renames;
    return ::renameat(from_folder, from, to_folder, to);
  };
  return make_posix(calls);
}

TEST(NewName, ReplacesNothingWhereOnlyLinksAreExclusive) {
  const Scratch scratch;
  const auto storage = without_noreplace();
  storage->open(scratch / "a", Access::create)->write(0, bytes_of("a"));
  storage->open(scratch / "b", Access::create);
  EXPECT_EQ(error_of([&] { storage->rename_new(scratch / "a", scratch / "b"); }).code(),
            Code::exists);
  EXPECT_EQ(storage->open(scratch / "b", Access::read)->size(), 0u);
  const FileIdentity identity = storage->open(scratch / "a", Access::read)->identity();
  storage->rename_new(scratch / "a", scratch / "free");
  EXPECT_EQ(replacing_renames, 0);
  EXPECT_FALSE(storage->exists(scratch / "a"));
  EXPECT_EQ(identity_at(scratch / "free"), identity);
  EXPECT_EQ(error_of([&] { storage->rename_new(scratch / "a", scratch / "c"); }).code(),
            Code::not_found);
}

TEST(NewName, AFolderGetsOneToo) {
  const Scratch scratch;
  const auto storage = without_noreplace();
  storage->make_folder(scratch / "a");
  storage->make_folder(scratch / "b");
  EXPECT_EQ(error_of([&] { storage->rename_new(scratch / "a", scratch / "b"); }).code(),
            Code::exists);
  storage->rename_new(scratch / "a", scratch / "free");
  EXPECT_FALSE(storage->exists(scratch / "a"));
  EXPECT_TRUE(storage->exists(scratch / "free"));
}

TEST(Make, KnowsItsNames) {
  EXPECT_STREQ(make("posix")->name(), "posix");
  EXPECT_STREQ(make("writeback")->name(), "writeback");
  EXPECT_STREQ(make("direct")->name(), "direct");
  EXPECT_STREQ(make("auto")->name(), "direct");
  const Error error = error_of([] { make("floppy"); });
  EXPECT_EQ(error.code(), Code::invalid_argument);
  EXPECT_NE(std::string(error.what()).find("floppy"), std::string::npos);
}

}  // namespace
}  // namespace sluice::storage
