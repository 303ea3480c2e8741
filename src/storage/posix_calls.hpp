// The raw system calls of posix, writeback and direct, as a table that a test can replace.
//
// Invariant: every call that can be interrupted, be short or run out of space goes through the
// table; calls that only query (stat, statx, statfs) do not.
#pragma once

#include <memory>
#include <sys/types.h>
#include <time.h>

#include "storage/background_thread.hpp"
#include "storage/storage.hpp"

namespace sluice::storage {

/// Each has the contract of the call of its name: -1 and errno on failure.
struct SystemCalls {
  int (*openat)(int folder, const char* path, int flags, mode_t mode);
  int (*close)(int fd);
  ssize_t (*pread)(int fd, void* into, size_t bytes, off_t offset);
  ssize_t (*pwrite)(int fd, const void* from, size_t bytes, off_t offset);
  int (*fallocate)(int fd, int mode, off_t offset, off_t bytes);
  int (*fdatasync)(int fd);
  int (*fsync)(int fd);
  int (*ftruncate)(int fd, off_t bytes);
  int (*futimens)(int fd, const timespec times[2]);
  int (*renameat)(int from_folder, const char* from, int to_folder, const char* to);
  int (*renameat2)(int from_folder, const char* from, int to_folder, const char* to,
                   unsigned flags);
  int (*unlinkat)(int folder, const char* path, int flags);
  int (*lock)(int fd, short type);  ///< fcntl, F_OFD_SETLK: F_WRLCK or F_UNLCK of the whole file
  /// sync_file_range, SYNC_FILE_RANGE_WRITE.
  int (*begin_writeback)(int fd, off_t offset, off_t bytes);
};

/// The calls of the operating system.
const SystemCalls& real_system_calls();

/// As make_posix(), make_writeback() and make_direct(), over the given calls (copied). `cores`: of
/// the threads that begin the write-back.
std::shared_ptr<Storage> make_posix(const SystemCalls& calls);
std::shared_ptr<Storage> make_writeback(const SystemCalls& calls, Cores cores = Cores::any);
std::shared_ptr<Storage> make_direct(const SystemCalls& calls);

}  // namespace sluice::storage
