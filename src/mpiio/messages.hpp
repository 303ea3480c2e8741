// Messages of an exchange that are under way.
#pragma once

#include <cstdint>
#include <vector>

#include "mpiio/errors.hpp"
#include "mpiio/mpi.hpp"

namespace sluice::mpiio {

/// On the file's own communicator, which has no other messages.
enum Subject : int { about_sizes = 1, about_runs, about_data };

/// The memory of each must stay until wait() has returned.
class Requests {
 public:
  explicit Requests(MPI_Comm comm) : comm_(comm) {}

  void send(const void* from, std::int64_t bytes, int to, Subject subject) {
    check(mpi.Isend(from, static_cast<int>(bytes), MPI_BYTE, to, subject, comm_, next()),
          "sending");
  }
  /// Complete only when the receiver expects the message: so a rank is never far ahead of it.
  void send_expected(const void* from, std::int64_t bytes, int to, Subject subject) {
    check(mpi.Issend(from, static_cast<int>(bytes), MPI_BYTE, to, subject, comm_, next()),
          "sending");
  }
  void receive(void* into, std::int64_t bytes, int from, Subject subject) {
    check(mpi.Irecv(into, static_cast<int>(bytes), MPI_BYTE, from, subject, comm_, next()),
          "receiving");
  }
  void wait() {
    if (requests_.empty()) {
      return;
    }
    check(mpi.Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
          "waiting for messages");
    requests_.clear();
  }

 private:
  MPI_Request* next() { return &requests_.emplace_back(MPI_REQUEST_NULL); }

  MPI_Comm comm_;
  std::vector<MPI_Request> requests_;
};

}  // namespace sluice::mpiio
