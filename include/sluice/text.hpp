/// @file
/// Input files of a program, read by one rank for all.
///
/// Ten thousand ranks that open one input file are ten thousand requests to the file system. With
/// these functions one rank opens it, and the bytes travel over the network:
///
///     std::ifstream input("input");                      // every rank opens the file
///     sluice::BroadcastFileStream input(comm, "input");  // one rank does; the rest is unchanged
#pragma once

#include <istream>
#include <sstream>
#include <string>

#include "sluice/comm.hpp"
#include "sluice/error.hpp"

namespace sluice {

/// Returns all bytes of a file on every rank.
///
/// Collective over `comm`. One rank opens and reads the file once; each rank then holds the whole.
/// Files above 2 GiB are fine.
/// @param comm  the ranks that get the bytes; it is not kept
/// @param path  the file, the same on every rank
/// @throws Error `not_found`, `permission`, `io`, `timeout`, the same on every rank.
std::string read_on_root(const Comm& comm, const std::string& path);

/// The same as a stream, in place of a std::ifstream: it has `getline`, `>>`, `seekg`, `rdbuf` and
/// all else that an istream has. A file that cannot be read is an exception. A stream is used by
/// one thread at a time.
class BroadcastFileStream : public std::istringstream {
 public:
  /// A stream that is not open.
  BroadcastFileStream() { setstate(std::ios::badbit); }
  /// Opens and reads the file: open(). Collective over `comm`.
  BroadcastFileStream(const Comm& comm, const std::string& path) { open(comm, path); }

  /// Reads the file. Closes what was open before. Collective over `comm`.
  /// @throws Error as read_on_root().
  void open(const Comm& comm, const std::string& path) {
    close();
    str(read_on_root(comm, path));
    clear();
    is_open_ = true;
  }
  /// Whether a file was read and not closed. Local.
  bool is_open() const noexcept { return is_open_; }
  /// Frees the bytes. Local.
  void close() {
    str(std::string());
    setstate(std::ios::badbit);
    is_open_ = false;
  }

 private:
  bool is_open_ = false;
};

}  // namespace sluice
