// A new file that replaces another one grants no more than that one did.
#include <cstring>
#include <filesystem>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "storage/scratch.hpp"
#include "storage/storage.hpp"
#include "storage/without_proc.hpp"

namespace sluice::storage {
namespace {

constexpr uid_t nobody = 65534;

struct stat status_of(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status;
}
mode_t mode_of(const std::string& path) { return status_of(path).st_mode & 07777; }

class Permissions : public testing::TestWithParam<const char*> {
 protected:
  void make_model(mode_t mode) {
    storage_->open(scratch_ / "model", Access::create);
    ASSERT_EQ(::chmod((scratch_ / "model").c_str(), mode), 0);
  }
  Scratch scratch_;
  std::shared_ptr<Storage> storage_ = make(GetParam());
};

TEST_P(Permissions, AreThoseOfTheModel) {
  for (const mode_t mode : {0600U, 0640U, 0444U, 0664U, 0707U}) {
    make_model(mode);
    const std::string path = scratch_ / "new";
    const auto file = storage_->create_like(path, scratch_ / "model");
    file->write(0, bytes_of("text"));
    EXPECT_EQ(mode_of(path), mode);
    EXPECT_EQ(file->path(), path);
    EXPECT_EQ(error_of([&] { storage_->create_like(path, scratch_ / "model"); }).code(),
              Code::exists);
    storage_->remove(path);
    storage_->remove(scratch_ / "model");
  }
}

TEST_P(Permissions, AreTheUsualOnesWithoutAModel) {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  storage_->create_like(scratch_ / "new", scratch_ / "model");
  EXPECT_EQ(mode_of(scratch_ / "new"), 0666 & ~mask);
  storage_->make_folder_like(scratch_ / "folder", scratch_ / "model");
  EXPECT_EQ(mode_of(scratch_ / "folder"), 0777 & ~mask);
}

TEST_P(Permissions, OfAFolderToo) {
  storage_->make_folder(scratch_ / "model");
  std::filesystem::permissions(scratch_ / "model", std::filesystem::perms{0750});
  storage_->make_folder_like(scratch_ / "made", scratch_ / "model");
  EXPECT_EQ(mode_of(scratch_ / "made"), 0750U);
}

/// A folder of a project is set-gid, so that all that is made in it belongs to the project's group.
TEST_P(Permissions, AFolderStaysSetGidAndSticky) {
  storage_->make_folder(scratch_ / "model");
  for (const mode_t around : {0755U, 02755U}) {
    for (const mode_t model : {0750U, 02750U, 01770U}) {
      ASSERT_EQ(::chmod(scratch_.folder().c_str(), around), 0);
      ASSERT_EQ(::chmod((scratch_ / "model").c_str(), model), 0);
      storage_->make_folder_like(scratch_ / "made", scratch_ / "model");
      EXPECT_EQ(mode_of(scratch_ / "made"), model | (around & S_ISGID));
      storage_->create_like(scratch_ / "file", scratch_ / "model");
      EXPECT_EQ(mode_of(scratch_ / "file"), model & 0777);
      storage_->remove_folder(scratch_ / "made");
      storage_->remove(scratch_ / "file");
    }
  }
}

TEST_P(Permissions, OwnerAndGroupStayWhereThatIsAllowed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give files to others";
  make_model(0640);
  ASSERT_EQ(::chown((scratch_ / "model").c_str(), nobody, nobody), 0);
  storage_->create_like(scratch_ / "new", scratch_ / "model");
  EXPECT_EQ(status_of(scratch_ / "new").st_uid, nobody);
  EXPECT_EQ(status_of(scratch_ / "new").st_gid, nobody);
  EXPECT_EQ(mode_of(scratch_ / "new"), 0640U);
}

TEST_P(Permissions, AnotherGroupGetsNoMoreThanEverybody) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs a second user, whom only root can be";
  make_model(0664);  // of group 0, to which nobody does not belong
  std::filesystem::permissions(scratch_.folder(), std::filesystem::perms{0777});
  const pid_t child = ::fork();
  if (child == 0) {
    const bool changed =
        ::setgroups(0, nullptr) == 0 && ::setgid(nobody) == 0 && ::setuid(nobody) == 0;
    const Error error =
        error_of([&] { storage_->create_like(scratch_ / "new", scratch_ / "model"); });
    ::_exit(changed && error.code() == Code::ok ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(status_of(scratch_ / "new").st_uid, nobody);
  EXPECT_EQ(mode_of(scratch_ / "new"), 0644U);
}

/// Nobody else could open the new file for writing: it is not left behind.
TEST_P(Permissions, OfAModelThatMayOnlyBeReadLeaveNoFile) {
  make_model(0444);
  std::filesystem::permissions(scratch_.folder(), std::filesystem::perms{0777});
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_user = ::geteuid() != 0 || (::setgroups(0, nullptr) == 0 &&
                                              ::setgid(nobody) == 0 && ::setuid(nobody) == 0);
    const Error error =
        error_of([&] { storage_->create_like(scratch_ / "new", scratch_ / "model"); });
    ::_exit(is_user && error.code() == Code::permission ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(storage_->exists(scratch_ / "new"));
}

/// One more user may write; the group may do nothing, although its bits, the mask, say otherwise.
std::vector<std::byte> list_with_nobody() {
  struct Entry {
    std::uint16_t tag;
    std::uint16_t bits;
    std::uint32_t id;
  };
  constexpr std::uint32_t version = 2;
  constexpr std::uint32_t no_id = 0xffffffff;
  const Entry entries[] = {
      {1, 6, no_id}, {2, 6, nobody}, {4, 0, no_id}, {16, 6, no_id}, {32, 0, no_id}};
  std::vector<std::byte> list(sizeof version + sizeof entries);
  std::memcpy(list.data(), &version, sizeof version);
  std::memcpy(list.data() + sizeof version, entries, sizeof entries);
  return list;
}

TEST_P(Permissions, AnAccessControlListStaysWithoutProcToo) {
  constexpr const char* name = "system.posix_acl_access";
  const std::vector<std::byte> list = list_with_nobody();
  make_model(0600);
  if (::setxattr((scratch_ / "model").c_str(), name, list.data(), list.size(), 0) != 0) {
    GTEST_SKIP() << "no access control lists in this file system";
  }
  const auto stays = [&](const std::string& path) {
    storage_->create_like(path, scratch_ / "model");
    std::vector<std::byte> found(2 * list.size());
    const ssize_t got = ::getxattr(path.c_str(), name, found.data(), found.size());
    found.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return found == list && mode_of(path) == 0660U;
  };
  EXPECT_TRUE(stays(scratch_ / "new"));
  const auto without = answer_without_proc([&] { return stays(scratch_ / "other"); });
  if (!without) GTEST_SKIP() << "no mount can be made here";
  EXPECT_TRUE(*without);
}

INSTANTIATE_TEST_SUITE_P(Each, Permissions, testing::Values("posix", "writeback", "direct"),
                         [](const auto& which) { return std::string(which.param); });

}  // namespace
}  // namespace sluice::storage
