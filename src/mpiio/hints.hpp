// The hints of a file (MPI_Info): those of a program, kept unchanged, and those that are used here.
#pragma once

#include <optional>
#include <string>

#include "mpiio/mpi.hpp"

namespace sluice::mpiio {

class Hints {
 public:
  Hints();
  ~Hints();
  Hints(const Hints&) = delete;
  Hints& operator=(const Hints&) = delete;

  /// Adds those of `info`, which may be MPI_INFO_NULL.
  void add(MPI_Info info);
  /// All of them: the caller's.
  MPI_Info copy() const;

  /// The number of ranks that write if bytes are exchanged (cb_nodes); 0: chosen by the library.
  int aggregators() const { return aggregators_; }
  /// Are collective writes to be written behind (sluice_write_behind)? `standard`: where no hint
  /// says so.
  bool writes_behind(bool standard) const { return writes_behind_.value_or(standard); }
  /// May bytes be exchanged (romio_cb_write, romio_cb_read)?
  bool may_exchange(bool is_write) const { return is_write ? exchanges_write_ : exchanges_read_; }
  /// Must they be, regardless of the runs ("enable")?
  bool must_exchange(bool is_write) const { return is_write ? must_write_ : must_read_; }

 private:
  void note(const std::string& name, const std::string& value);

  MPI_Info info_ = MPI_INFO_NULL;
  int aggregators_ = 0;
  std::optional<bool> writes_behind_;
  bool exchanges_write_ = true;
  bool exchanges_read_ = true;
  bool must_write_ = false;
  bool must_read_ = false;
};

}  // namespace sluice::mpiio
