// Rules make exactly the calls fail that they name, with the error that the real one would give.
#include <cerrno>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "storage/posix_calls.hpp"
#include "storage/scratch.hpp"
#include "support/faulty_storage.hpp"
#include "support/memory_storage.hpp"

namespace sluice::storage {
namespace {

class Faulty : public testing::Test {
 protected:
  std::shared_ptr<MemoryStorage> memory_ = make_memory();
  std::shared_ptr<Faults> faults_ = std::make_shared<Faults>();
  FaultyStorage storage_{memory_, faults_};
};

TEST_F(Faulty, TheNthCallFailsOnce) {
  auto file = storage_.open("a", Access::create);
  faults_->add({.call = Call::write, .nth = 3, .error_number = ENOSPC});
  std::string results;
  for (int i = 0; i < 6; ++i) {
    const Error error =
        error_of([&] { file->write(static_cast<std::uint64_t>(i), bytes_of("x")); });
    results += error.code() == Code::ok ? '.' : error.code() == Code::no_space ? 'S' : '?';
  }
  EXPECT_EQ(results, "..S...");
  EXPECT_EQ(faults_->fired(), 1u);
  EXPECT_EQ(faults_->calls(Call::write), 6u);
  // The failed one did not reach the file.
  EXPECT_EQ(text_of(memory_->contents("a")), std::string("xx\0xxx", 6));
}

TEST_F(Faulty, PersistentRulesFailFromTheNthOn) {
  auto file = storage_.open("a", Access::create);
  faults_->add({.call = Call::read, .nth = 2, .persistent = true, .error_number = ESTALE});
  std::vector<std::byte> got(1);
  std::string results;
  for (int i = 0; i < 5; ++i) {
    results += error_of([&] { file->read(0, got); }).code() == Code::io ? 'E' : '.';
  }
  EXPECT_EQ(results, ".EEEE");
  faults_->clear();
  EXPECT_EQ(file->read(0, got), 0u);
}

TEST_F(Faulty, RulesMayNameAPath) {
  faults_->add({.path_part = "journal", .persistent = true});
  storage_.open("data", Access::create)->write(0, bytes_of("x"));
  EXPECT_EQ(error_of([&] { storage_.open("a.journal", Access::create); }).code(), Code::io);
  EXPECT_EQ(error_of([&] { storage_.rename("data", "journal"); }).code(), Code::io);
  EXPECT_TRUE(storage_.exists("data"));
  EXPECT_EQ(memory_->paths(), std::vector<std::string>{"data"});
}

TEST_F(Faulty, EveryKindOfCallCanFailWithEveryErrno) {
  memory_->put("a", bytes_of("abc"));
  for (const int problem : {EIO, ENOSPC, EDQUOT, ESTALE}) {
    const Code expected = problem == ENOSPC || problem == EDQUOT ? Code::no_space : Code::io;
    for (int kind = 0; kind < call_count; ++kind) {
      const Call call = static_cast<Call>(kind);
      faults_->clear();
      auto file = storage_.open("a", Access::read_write);
      faults_->add({.call = call, .error_number = problem});
      const std::uint64_t fired = faults_->fired();
      std::vector<std::byte> bytes(2);
      const Error error = error_of([&] {
        file->write(0, bytes_of("abc"));
        file->read(0, bytes);
        file->preallocate(0, 3);
        file->sync();
        file->size();
        file->resize(3);
        file->set_modified_ns(1);
        file->modified_ns();
        storage_.exists("a");
        storage_.list(".");
        storage_.open("a", Access::read);
        storage_.open("b", Access::create);
        storage_.rename("b", "c");
        storage_.sync_directory("c");
        storage_.remove("c");
        storage_.make_folder("d");
        storage_.remove_folder("d");
      });
      EXPECT_EQ(error.code(), expected) << call_name(call) << " errno " << problem;
      EXPECT_EQ(faults_->fired(), fired + 1) << call_name(call);
      for (const char* left : {"b", "c"}) {
        if (memory_->exists(left)) memory_->remove(left);
      }
    }
  }
  EXPECT_EQ(text_of(memory_->contents("a")), "abc");
}

TEST_F(Faulty, AFailedWriteMayLandInPart) {
  auto file = storage_.open("a", Access::create);
  faults_->add({.call = Call::write, .landed_bytes = 4});
  EXPECT_EQ(error_of([&] { file->write(0, bytes_of("abcdefgh")); }).code(), Code::io);
  EXPECT_EQ(text_of(memory_->contents("a")), "abcd");
}

TEST_F(Faulty, AFailedSyncStaysFailed) {
  auto file = storage_.open("a", Access::create);
  faults_->add({.call = Call::sync});
  EXPECT_EQ(error_of([&] { file->sync(); }).code(), Code::io);
  EXPECT_EQ(error_of([&] { file->sync(); }).code(), Code::io);
  storage_.open("a", Access::read_write)->sync();
}

TEST_F(Faulty, RulesCountApartAndTheFirstOneWins) {
  auto file = storage_.open("a", Access::create);
  faults_->add({.call = Call::write, .nth = 2, .error_number = ENOSPC});
  faults_->add({.nth = 2, .error_number = EIO});  // any call
  faults_->add({.nth = 4, .error_number = EIO});
  std::string results;
  for (int i = 0; i < 5; ++i) {
    const Error error = error_of([&] { file->write(0, bytes_of("x")); });
    results += error.code() == Code::ok ? '.' : error.code() == Code::no_space ? 'S' : 'E';
  }
  EXPECT_EQ(results, ".S.E.");
  EXPECT_EQ(error_of([&] { faults_->add({.nth = 0}); }).code(), Code::invalid_argument);
}

// The injected error reads, letter by letter, as what posix makes of the same errno.
TEST_F(Faulty, TextsAreThoseOfPosix) {
  Scratch scratch;
  const std::string path = scratch / "a";
  SystemCalls calls = real_system_calls();
  calls.pwrite = [](int, const void*, size_t, off_t) -> ssize_t {
    errno = EDQUOT;
    return -1;
  };
  calls.fdatasync = [](int) {
    errno = EDQUOT;
    return -1;
  };
  calls.fallocate = [](int, int, off_t, off_t) {
    errno = EDQUOT;
    return -1;
  };
  calls.renameat = [](int, const char*, int, const char*) {
    errno = EDQUOT;
    return -1;
  };
  auto real = make_posix(calls);
  auto real_file = real->open(path, Access::create);
  auto file = storage_.open(path, Access::create);
  faults_->add({.persistent = true, .error_number = EDQUOT});
  const auto same = [&](auto&& action) {
    const Error expected = error_of([&] { action(*real, *real_file); });
    const Error got = error_of([&] { action(storage_, *file); });
    EXPECT_NE(expected.code(), Code::ok);
    EXPECT_EQ(got.code(), expected.code());
    EXPECT_STREQ(got.what(), expected.what());
  };
  same([](Storage&, File& f) { f.write(12, bytes_of("hello")); });
  same([](Storage&, File& f) { f.preallocate(3, 99); });
  same([](Storage&, File& f) { f.sync(); });
  same([&](Storage& s, File&) { s.rename(path, path + "b"); });
}

}  // namespace
}  // namespace sluice::storage
