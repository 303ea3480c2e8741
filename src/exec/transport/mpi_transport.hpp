// The transport of production runs: Transport over MPI, point-to-point messages only.
//
// Invariants: no wait blocks inside MPI (requests are tested against a deadline), so a missing rank
// is named instead of waited for. The exception is the creation of communicators in open and split,
// which MPI cannot poll; it is entered only when every rank is known to be there. MPI_THREAD_SINGLE
// or FUNNELED suffices. After a failure the transport is unusable: every later call throws at once
// and pending requests are not touched again.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>

#include "exec/transport/mpi_options.hpp"
#include "exec/transport/transport.hpp"
#include "sluice/comm.hpp"

namespace sluice::exec {

/// A transport over a duplicate of `comm` (an intracommunicator; it stays the caller's). Collective
/// over `comm`. When the transport and the last Pending of it are gone, the duplicate may serve the
/// next one over `comm` (mpi_channels.hpp); after a failure, or once MPI is finalised, it is
/// leaked. Error timeout if ranks are missing, invalid_argument for options out of range,
/// wrong_state outside MPI_Init .. MPI_Finalize, mpi if the process has no suitable MPI. If a rank
/// of `comm` calls fail_open() instead, the error of that rank.
///
/// Note for callers: after an error, memory passed to a start_send() or start_receive() that had
/// not completed may still be used by MPI: keep it until MPI_Finalize (given_up.hpp). The bytes
/// passed to a broadcast() that failed are gone, on the root too. Collectives have no such effect.
std::unique_ptr<Transport> make_mpi(const Comm& comm, const MpiOptions& options);
/// The same with `timeout_s` alone.
std::unique_ptr<Transport> make_mpi(const Comm& comm, double timeout_s);

struct OpenedTransport {
  std::unique_ptr<Transport> transport;
  bool are_alike = false;  ///< all ranks gave the same `digest`
};
/// As make_mpi(). What the ranks agree on in it tells whether all of them gave the same `digest`.
OpenedTransport open_mpi(const Comm& comm, const MpiOptions& options, std::uint64_t digest);

/// What a rank calls instead of make_mpi() when it failed before it: throws the error of the lowest
/// such rank, there and on the ranks that called make_mpi().
[[noreturn]] void fail_open(const Comm& comm, const std::exception_ptr& failure);

/// Runs `work`, which belongs to this rank alone, before make_mpi() on `comm`. If it fails, so does
/// make_mpi() on the other ranks.
template <class Work>
decltype(auto) before_open(const Comm& comm, Work&& work) {
  try {
    return work();
  } catch (...) {
    fail_open(comm, std::current_exception());
  }
}

}  // namespace sluice::exec
