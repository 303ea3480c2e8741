// Whether a path still leads to a file that was opened by it, and whether that is as long as it
// was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sluice/error.hpp"
#include "storage/storage.hpp"

namespace sluice::storage {

/// Of what has the name `path`, also if it is a symbolic link; empty: nothing. Asks for no more
/// than that: an NFS client that is asked for sizes or times writes back first what it has of the
/// file.
std::optional<FileIdentity> identity_at(const std::string& path);

/// Is the file at `path`, which is no symbolic link, the one that File::identity() called
/// `identity`? Where the storage does not tell files apart: is there any file?
bool is_at(Storage& storage, const std::string& path, const FileIdentity& identity);

/// What a path leads to, for who writes the file `identity` that had this name.
enum class Standing : std::uint8_t {
  whole,    ///< that file
  shorter,  ///< that file, which another program has cut
  gone,     ///< nothing, or another file
};

/// As is_at(), by the same system call; the file has at least `bytes` bytes unless another program
/// has cut it. That is seen where the file system tells the size without being asked for it: a
/// local one always does, a client of a network file system if it knows it. Only if it seems
/// shorter the server is asked.
Standing standing_at(Storage& storage, const std::string& path, const FileIdentity& identity,
                     std::uint64_t bytes);

/// Error changed_outside of a file that was cut below the `bytes` that are committed.
Error cut_error(const std::string& path, std::uint64_t bytes);

/// Error changed_outside of a file that is not at its path any more. `remedy` is the end of its
/// text.
Error moved_error(const std::string& path, const std::string& remedy);

}  // namespace sluice::storage
