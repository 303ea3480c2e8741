// Sluice for C++: the input files of a program, read by one rank for all.
//
// Ten thousand ranks that open one input file are ten thousand requests to the file system. Here
// one rank opens it, and the bytes travel over the network:
//
//   std::ifstream input("input");             // every rank opens it
//   sluice::BroadcastFileStream input(comm, "input"); // one rank does; the rest of the program
//   stays
#pragma once

#include <istream>
#include <sstream>
#include <string>

#include "sluice/comm.hpp"
#include "sluice/error.hpp"

namespace sluice {

/// All bytes of a file, on every rank. Collective over `comm`, every rank with the same path. One
/// open and one read, however many ranks. Files above 2 GiB too; each rank holds the whole. Throws
/// the same Error on every rank: not_found, permission, io, timeout.
std::string read_on_root(const Comm& comm, const std::string& path);

/// The same as a stream, where a program has a std::ifstream: getline, >>, seekg, rdbuf and what
/// else an istream has. Unlike an ifstream a file that cannot be read is an exception.
class BroadcastFileStream : public std::istringstream {
 public:
  /// Not open.
  BroadcastFileStream() { setstate(std::ios::badbit); }
  /// Collective. Throws as read_on_root().
  BroadcastFileStream(const Comm& comm, const std::string& path) { open(comm, path); }

  /// Collective. Throws as read_on_root(); what was open before is closed.
  void open(const Comm& comm, const std::string& path) {
    close();
    str(read_on_root(comm, path));
    clear();
    is_open_ = true;
  }
  bool is_open() const noexcept { return is_open_; }
  /// Gives the bytes back. Local.
  void close() {
    str(std::string());
    setstate(std::ios::badbit);
    is_open_ = false;
  }

 private:
  bool is_open_ = false;
};

}  // namespace sluice
