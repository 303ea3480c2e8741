// What the cases of visible costs share: times of all ranks together, and the copy of the same
// bytes that they are compared with.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "common.hpp"

namespace sluice::bench {

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class Timing {
 public:
  explicit Timing(MPI_Comm comm) : comm_(comm) {}
  /// Seconds from a barrier to the return of the slowest rank.
  template <class Body>
  double operator()(Body&& body) const {
    MPI_Barrier(comm_);
    const double start_s = MPI_Wtime();
    body();
    double seconds = MPI_Wtime() - start_s;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm_);
    return seconds;
  }

 private:
  MPI_Comm comm_;
};

/// The reference for a visible cost: a copy of the same bytes by all ranks at the same time,
/// into memory that was touched before.
class Copying {
 public:
  Copying(const Timing& timed, std::span<const double> data)
      : timed_(timed), data_(data), to_(data.size(), 1.0) {}
  double operator()() {
    return timed_([&] { std::memcpy(to_.data(), data_.data(), data_.size_bytes()); });
  }
  /// Consumed, so that the compiler copies.
  double last() const { return to_.back(); }

 private:
  const Timing& timed_;
  std::span<const double> data_;
  std::vector<double> to_;
};

}  // namespace sluice::bench
