// The hints of a file (MPI_Info): those of a program, kept unchanged, and those that are used here.
//
// Invariant: Steering is rank 0's on all ranks of a file, whatever hints each has given: ranks that
// went different ways would wait for each other for ever.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mpiio/mpi.hpp"

namespace sluice::mpiio {

/// Of how bytes are exchanged; 0: what is best.
struct ExchangeHints {
  int aggregators = 0;            ///< how many ranks write (cb_nodes)
  std::int64_t window_bytes = 0;  ///< of one of them (cb_buffer_size)
  std::int64_t stripe_bytes = 0;  ///< each writes whole stripes (striping_unit)
};

/// What decides on every rank which way a collective access goes.
struct Steering {
  ExchangeHints exchange;
  bool is_stripe_hinted = false;
  bool exchanges_write = true;
  bool exchanges_read = true;
  bool must_write = false;
  bool must_read = false;

  /// Takes a hint in, if it is one of these.
  void note(const std::string& name, const std::string& value);
};

class Hints {
 public:
  Hints();
  ~Hints();
  Hints(const Hints&) = delete;
  Hints& operator=(const Hints&) = delete;

  /// Adds those of `info`, which may be MPI_INFO_NULL; steering() does not change.
  void add(MPI_Info info);
  /// What steering() would be with those of `info`.
  Steering steering_with(MPI_Info info) const;
  const Steering& steering() const { return steering_; }
  void follow(const Steering& steering) { steering_ = steering; }
  /// All of them: the caller's.
  MPI_Info copy() const;

  const ExchangeHints& exchange() const { return steering_.exchange; }
  /// The file system has stripes of this size: counts where no hint gives one.
  void note_stripes(std::int64_t bytes);
  /// A line for the report of those that would count and are not carried out; empty: none.
  std::string not_done() const;
  /// Are collective writes to be written behind (sluice_write_behind)? `standard`: where no hint
  /// says so.
  bool writes_behind(bool standard) const { return writes_behind_.value_or(standard); }
  /// May bytes be exchanged (romio_cb_write, romio_cb_read)?
  bool may_exchange(bool is_write) const {
    return is_write ? steering_.exchanges_write : steering_.exchanges_read;
  }
  /// Must they be, regardless of the runs ("enable")?
  bool must_exchange(bool is_write) const {
    return is_write ? steering_.must_write : steering_.must_read;
  }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
  Steering steering_;
  std::string stripes_;  ///< striping_factor
  std::optional<bool> writes_behind_;
};

}  // namespace sluice::mpiio
