// An error names the file, the place, errno in words and what to do, in one line.
#include <cerrno>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

#include "storage/calls.hpp"
#include "storage/posix_calls.hpp"
#include "storage/scratch.hpp"

namespace sluice::storage {
namespace {

TEST(ErrorText, IsOneCompleteLine) {
  Scratch scratch;
  const std::string path = scratch / "out.h5";
  SystemCalls calls = real_system_calls();
  calls.pwrite = [](int, const void*, size_t, off_t) -> ssize_t {
    errno = ENOSPC;
    return -1;
  };
  const std::vector<std::byte> bytes(4194304);
  for (auto storage : {make_posix(calls), make_direct(calls)}) {
    auto file = storage->open(path, Access::create);
    EXPECT_EQ(error_of([&] { file->write(8192, bytes); }).what(),
              path + ": write of 4194304 bytes at offset 8192 failed: No space left on device: " +
                  "free space and repeat the step");
    storage->remove(path);
  }
}

TEST(ErrorText, OfEveryFailureOfTheRealThing) {
  Scratch scratch;
  auto storage = make_posix();
  const std::string path = scratch / "a";
  const std::string missing =
      "failed: No such file or directory: check that the file and its "
      "folder exist";
  EXPECT_EQ(error_of([&] { storage->open(path, Access::read); }).what(),
            path + ": open " + missing);
  EXPECT_EQ(error_of([&] { storage->open(path + "/b", Access::create); }).what(),
            path + "/b: create " + missing);
  EXPECT_EQ(error_of([&] { storage->remove(path); }).what(), path + ": remove " + missing);
  EXPECT_EQ(error_of([&] { storage->rename(path, path + "2"); }).what(),
            path + ": rename to " + path + "2 " + missing);
  EXPECT_EQ(error_of([&] { storage->sync_directory(path + "/b"); }).what(),
            path + "/b: sync of its folder " + missing);
  EXPECT_EQ(
      error_of([&] { storage->open(scratch.folder(), Access::read); }).what(),
      scratch.folder() +
          ": open failed: Is a directory: it is a folder: name a file (a Zarr store is a folder "
          "that holds zarr.json)");
  storage->open(path, Access::create);
  EXPECT_EQ(error_of([&] { storage->open(path, Access::create); }).what(),
            path + ": create failed: File exists: choose another name or remove the old file");
  EXPECT_EQ(error_of([&] { storage->open("/dev/null", Access::read_write); }).code(), Code::io);
}

TEST(ErrorText, PermissionsAreNamed) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may do anything";
  Scratch scratch;
  std::filesystem::permissions(scratch.folder(), std::filesystem::perms::owner_read);
  const Error error = error_of([&] { make_posix()->open(scratch / "a", Access::create); });
  std::filesystem::permissions(scratch.folder(), std::filesystem::perms::owner_all);
  EXPECT_EQ(error.code(), Code::permission);
}

TEST(ErrorText, ADeniedCallNamesTheFolderAndWhatIsMissing) {
  Scratch scratch;
  const auto text = [](const std::string& path) {
    return std::string(system_error(path, describe(Call::create), EACCES).what());
  };
  const std::string denied =
      "/x: create failed: Permission denied: check the permissions of the "
      "file and its folder ";
  EXPECT_EQ(text(scratch / "x"), scratch.folder() + denied + scratch.folder());
  const std::string none = scratch / "none";
  EXPECT_EQ(text(none + "/x"),
            none + denied + none + ", in which this user may not create, rename or remove files");
}

TEST(ErrorText, CodesOfErrno) {
  const std::pair<int, Code> expected[] = {
      {ENOENT, Code::not_found}, {EEXIST, Code::exists},    {EACCES, Code::permission},
      {EPERM, Code::permission}, {EROFS, Code::permission}, {ENOSPC, Code::no_space},
      {EDQUOT, Code::no_space},  {EFBIG, Code::no_space},   {EIO, Code::io},
      {ESTALE, Code::io},        {EISDIR, Code::io},        {EMFILE, Code::io}};
  for (const auto& [number, code] : expected) {
    EXPECT_EQ(code_of_errno(number), code) << number;
    const Error error = system_error("f", describe(Call::read, 3, 5), number);
    const std::string text = error.what();
    EXPECT_EQ(error.code(), code);
    EXPECT_EQ(text.rfind("f: read of 3 bytes at offset 5 failed: ", 0), 0u) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
    EXPECT_NE(text.find(": ", text.find("failed: ") + 8), std::string::npos)
        << "no remedy: " << text;
  }
}

TEST(ErrorText, EveryCallHasItsOwnWords) {
  std::vector<std::string> seen;
  for (int kind = 0; kind < call_count; ++kind) {
    seen.push_back(describe(static_cast<Call>(kind), 1, 2));
    EXPECT_STRNE(call_name(static_cast<Call>(kind)), "unknown");
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
}

}  // namespace
}  // namespace sluice::storage
