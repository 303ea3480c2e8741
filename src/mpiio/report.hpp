// What a file was used for: counted always, timed and told at its close where SLUICE_EXPLAIN or
// SLUICE_MPIIO_RECORD asks for it.
#pragma once

#include <cstdint>
#include <string>

#include "model/clock.hpp"
#include "mpiio/errors.hpp"
#include "mpiio/pattern.hpp"

namespace sluice::mpiio {

/// How a transfer went.
enum class Way : std::uint8_t {
  independent,  ///< one rank's call
  own,          ///< collective; each rank moved its own bytes
  together,     ///< collective; bytes were exchanged and moved in windows
};

/// Adds the seconds of its lifetime to `sum_s`, unless that is null.
class Stopwatch {
 public:
  explicit Stopwatch(double* sum_s) : sum_s_(sum_s) {
    if (sum_s_ != nullptr) {
      begin_s_ = model::now_s();
    }
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() {
    if (sum_s_ != nullptr) {
      *sum_s_ += model::now_s() - begin_s_;
    }
  }

 private:
  double* const sum_s_;
  double begin_s_ = 0;
};

class Report {
 public:
  static constexpr int ways = 3;
  struct Count {
    std::int64_t calls = 0;
    std::int64_t bytes = 0;
    std::int64_t runs = 0;
  };

  Report();
  bool is_wanted() const { return is_wanted_; }
  /// As all ranks have agreed.
  void want(bool is_wanted) { is_wanted_ = is_wanted; }
  /// Does SLUICE_EXPLAIN of this rank ask for it?
  bool is_said() const { return is_said_; }

  /// Where the seconds of a call are added; null if nobody wants them: to ask for the time twice
  /// costs a tenth of a small write.
  double* sum_of(bool is_write) { return !is_wanted_ ? nullptr : is_write ? &write_s : &read_s; }
  void count(bool is_write, Way way, std::int64_t bytes, std::int64_t runs);
  const Count& counted(bool is_write, Way way) const {
    return (is_write ? written_ : read_)[static_cast<int>(way)];
  }
  /// A line of the report, the same on all ranks.
  void note(const std::string& text) { note_ = text; }
  const std::string& note() const { return note_; }

  Pattern pattern;
  Printed printed;
  double write_s = 0;
  double read_s = 0;
  double sync_s = 0;

 private:
  bool is_wanted_ = false;
  bool is_said_ = false;
  Count written_[ways];
  Count read_[ways];
  std::string note_;
};

}  // namespace sluice::mpiio
