// Names of the storage calls, and the one place where errno becomes an Error.
//
// Invariants: every Storage, real or for tests, words a failure by system_error() and describe(),
// so an injected fault reads like a real one.
#pragma once

#include <cstdint>
#include <sluice/error.hpp>
#include <string>

namespace sluice::storage {

enum class Call : std::uint8_t {
  create,
  open,
  write,
  read,
  preallocate,
  sync,
  size,
  resize,
  set_modified,
  modified,
  exists,
  rename,
  remove,
  sync_directory,
  make_folder,
  remove_folder,
  list,
};
inline constexpr int call_count = 17;

/// Lower-case name, such as "sync_directory".
const char* call_name(Call call) noexcept;

/// The attempted operation, for messages: `write of 4096 bytes at offset 0`. `bytes` and `offset`
/// are used by write, read, preallocate and (bytes) resize only.
std::string describe(Call call, std::uint64_t bytes = 0, std::uint64_t offset = 0);

/// The pinned code of an errno: not_found, exists, permission, no_space, otherwise io.
Code code_of_errno(int error_number) noexcept;

/// `PATH: WHAT failed: text of errno: remedy`, with the code of `error_number`.
Error system_error(const std::string& path, const std::string& what, int error_number);

/// Error invalid_argument if [offset, offset + bytes) ends beyond the largest file (2^63 - 1).
void check_range(const std::string& path, Call call, std::uint64_t bytes, std::uint64_t offset);

/// `path` normalised ("./a//b/../c" is "a/c"), so that two spellings name one file.
std::string normal_path(const std::string& path);

/// `path` as an absolute path, normalised as by normal_path().
std::string absolute_path(const std::string& path);

/// The number of files that this process may have open.
std::uint64_t open_files_limit();

/// The folder that contains `path`; "." for a bare name.
std::string folder_of(const std::string& path);

}  // namespace sluice::storage
