// A text file written by all ranks: each writes its part of every section, in the order of the
// ranks.
//
// Invariants: the file takes its name when it is complete, and is removed with the object if it is
// not; it must not exist; a failure of one rank is thrown on every rank.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "guard.hpp"
#include "verb.hpp"

namespace sluice::cli {

class ParallelText {
 public:
  /// Calls take(piece) for one piece of this rank's part after another. Collective.
  using Produce = std::function<void(const std::function<void(const std::string&)>& take)>;

  /// Collective. Error exists.
  ParallelText(const Context& context, const std::string& path);
  ~ParallelText();
  ParallelText(const ParallelText&) = delete;
  ParallelText& operator=(const ParallelText&) = delete;
  /// Collective. The `part` of every rank, in sequence.
  void append(const std::string& part);
  /// Collective. The same for parts that memory does not hold: this rank's has `bytes` bytes.
  void append(std::uint64_t bytes, const Produce& produce);
  /// Collective. That of rank 0 alone.
  void append_once(const std::string& text) { append(context_.is_root() ? text : ""); }
  /// Collective. The file is on the disk, and has its name. Returns its bytes.
  std::uint64_t close();

 private:
  /// Errors name the file that was asked for.
  template <class Work>
  void named(Work&& work);
  void write(std::uint64_t at, const std::string& part);

  const Context& context_;
  std::string name_;  ///< that was asked for
  std::string path_;
  LeftToParent left_;
  std::unique_ptr<storage::File> file_;
  std::uint64_t bytes_ = 0;
  bool is_named_ = false;  ///< on rank 0
};

}  // namespace sluice::cli
