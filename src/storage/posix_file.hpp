// Buffered files and the file system verbs; direct.cpp builds on both.
//
// Invariants: a loop over a system call ends after max_idle_calls calls without progress; after a
// failed sync the File never reports a successful one (the kernel may have dropped the pages and
// would report success the second time).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <sys/stat.h>

#include "storage/own_process.hpp"
#include "storage/place.hpp"
#include "storage/posix_calls.hpp"
#include "storage/storage.hpp"

namespace sluice::storage {

/// The kernel moves at most 2 GiB - 4 KiB a call; this is less, and a multiple of any alignment.
inline constexpr std::size_t max_call_bytes = std::size_t{1} << 30;
/// Consecutive interrupted or empty calls before a loop gives up.
inline constexpr int max_idle_calls = 1000;

class PosixFile : public File {
 public:
  /// Opens `place`, which messages call `path`.
  PosixFile(const SystemCalls& calls, const Place& place, std::string path, Access access);
  /// Takes over an open descriptor, which it closes.
  PosixFile(const SystemCalls& calls, std::string path, int descriptor);
  ~PosixFile() override;
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) override;
  void preallocate(std::uint64_t offset, std::uint64_t length) override;
  void sync() override;
  std::uint64_t size() override;
  void resize(std::uint64_t bytes) override;
  void set_modified_ns(std::int64_t ns) override;
  std::int64_t modified_ns() override;
  FileIdentity identity() override;
  bool is_removed() override;
  bool share_lock() override;
  std::size_t read_bytes() const override { return 256 << 10; }
  void drop_cache() override;
  const std::string& path() const override { return path_; }
  void close() override;
  /// Of the open file; -1 after close().
  int descriptor() const { return fd_; }

 protected:
  const SystemCalls& calls() const { return calls_; }

 private:
  void unlock() noexcept;

  const SystemCalls calls_;
  const std::string path_;
  int fd_ = -1;
  std::optional<OwnProcess> locked_by_;
  int sync_errno_ = 0;  // of the first sync that failed
  /// Writes that end below it do not ask for the limit of file size: see WithinLimit.
  std::atomic<std::uint64_t> allowed_end_ = 0;

  class WithinLimit;
};

class PosixStorage : public Storage {
 public:
  bool in_background() const override { return true; }
  explicit PosixStorage(const SystemCalls& calls) : calls_(calls) {}

  std::unique_ptr<File> open(const std::string& path, Access access) override;
  std::unique_ptr<File> create_like(const std::string& path, const std::string& model) override;
  bool exists(const std::string& path) override;
  bool may_have_names(const std::string& path) override;
  std::vector<std::string> list(const std::string& path) override;
  std::string real_path(const std::string& path) override;
  void confine(const std::string& top) override { confined_.add(top); }
  void rename(const std::string& from, const std::string& to) override;
  void rename_new(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;
  bool is_link(const std::string& path) override;
  bool remove_if(const std::string& path,
                 const std::function<bool(std::unique_ptr<File>)>& is_meant) override;
  void remove_folder(const std::string& path) override;
  void make_folder(const std::string& path) override;
  void make_folder_like(const std::string& path, const std::string& model) override;
  void sync_directory(const std::string& path) override;
  std::unique_ptr<Lease> lease(const std::string& path) override;
  FileSystemFacts file_system(const std::string& path) override;
  const char* name() const override { return "posix"; }

 protected:
  const SystemCalls& calls() const { return calls_; }
  Place place_of(const std::string& path) const { return confined_.place_of(path); }

 private:
  bool is_there(const std::string& path, struct stat& status) const;

  const SystemCalls calls_;
  Confined confined_;
};

/// Opens, again if interrupted; a pipe without a writer does not block. Returns the descriptor or
/// -1 and errno.
int open_descriptor(const SystemCalls& calls, const Place& place, int flags, mode_t mode = 0666);

}  // namespace sluice::storage
