// A text file that all ranks write: each its part of every section, in the order of the ranks.
//
// Invariants: the file takes its name when it is whole; it must not exist; what one rank meets is
// thrown on every rank.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "verb.hpp"

namespace sluice::cli {

class ParallelText {
 public:
  /// Collective. Error exists.
  ParallelText(const Context& context, const std::string& path);
  /// Collective. Every rank's `part`, one after the other.
  void append(const std::string& part);
  /// Collective. Of rank 0 alone.
  void append_once(const std::string& text) { append(context_.is_root() ? text : ""); }
  /// Collective. Returns the bytes of the file.
  std::uint64_t close();

 private:
  const Context& context_;
  std::string path_;
  std::unique_ptr<storage::File> file_;
  std::uint64_t bytes_ = 0;
};

}  // namespace sluice::cli
