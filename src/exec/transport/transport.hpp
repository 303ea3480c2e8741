// Communication between ranks: the only interface by which the core communicates.
//
// Implementations: MPI (mpi_transport), the runtime of a program (carrier), a rank by itself
// (solo_transport), and, in tests, N virtual ranks in one process, run one at a time in seeded
// order (local_transport). Invariants: collectives are called by every rank of the transport in the
// same order; every wait has a deadline and ends in Error timeout that names the ranks that did not
// come; sizes are 64-bit (counts above 2^31 are split inside).
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/error.hpp"

namespace sluice::exec {

enum class Op : std::uint8_t { min, max, sum, gcd };

/// What a rank learns of a sum over all ranks; sums wrap around.
struct PrefixSum {
  std::int64_t below = 0;  ///< of the ranks below this one: 0 on rank 0
  std::int64_t all = 0;
};

/// Bytes for, or from, another rank.
struct Parcel {
  int rank = 0;
  std::vector<std::byte> bytes;
};

/// A send or receive in progress. Destroying it before wait() is an error of the caller, except
/// during exception unwinding.
class Pending {
 public:
  virtual ~Pending() = default;
  /// Done? Makes progress, never waits.
  virtual bool test() = 0;
  /// Returns when the buffer is free (send) or full (receive).
  virtual void wait() = 0;
};

/// A message that is being received without a receive call for it; `bytes` is filled when `pending`
/// is done.
struct Arriving {
  int rank = 0;
  std::vector<std::byte> bytes;
  std::unique_ptr<Pending> pending;
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Node number of this rank, 0 .. nodes-1, numbered by their lowest rank.
  virtual int node() const = 0;
  virtual int nodes() const = 0;
  /// Do the ranks run at the same time? Virtual ranks take turns: one of them must wait for another
  /// only in a call of the transport.
  virtual bool runs_at_once() const { return true; }
  /// Lets another rank run, where ranks take turns. For waits that are not for a message.
  virtual void let_others_run() {}

  // -- collectives ------------------------------------------------------------------------------
  virtual void barrier() = 0;
  /// The same; waits at most `seconds`, where other waits may last longer.
  virtual void barrier_within(double seconds) {
    static_cast<void>(seconds);
    barrier();
  }
  /// Element by element over all ranks, in place; the same length on every rank.
  virtual void allreduce(std::span<std::int64_t> values, Op op) = 0;
  /// The same, for root only: what `values` hold elsewhere afterwards means nothing. The others may
  /// return before all have come.
  virtual void reduce(std::span<std::int64_t> values, Op op, int root) = 0;
  /// Sums of `value`, over the ranks below this one and over all.
  virtual PrefixSum prefix_sum(std::int64_t value) = 0;
  /// The root's bytes on every rank; others' content is replaced.
  virtual void broadcast(std::vector<std::byte>& bytes, int root) = 0;
  /// On root one entry for each rank, in rank order; empty elsewhere. Lengths may differ. The
  /// others may return before all have come, or wait for some of them.
  virtual std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes,
                                                     int root) = 0;
  virtual std::vector<std::vector<std::byte>> allgather(std::span<const std::byte> bytes) = 0;
  /// Sparse all-to-all: sends every parcel to its rank (at most one for each destination, which may
  /// be this rank) and returns those sent to this rank, ordered by sender.
  virtual std::vector<Parcel> exchange(std::vector<Parcel> parcels) = 0;

  // -- point to point ---------------------------------------------------------------------------
  virtual std::unique_ptr<Pending> start_send(int to, int tag,
                                              std::span<const std::byte> bytes) = 0;
  /// `into` must be exactly as long as what is sent.
  virtual std::unique_ptr<Pending> start_receive(int from, int tag, std::span<std::byte> into) = 0;
  /// Starts to receive the next message of `tag`, from any rank that has sent one, of any length
  /// that is sent as one (MpiOptions::part_bytes); empty if there is none. Makes progress, never
  /// waits. Messages of one rank arrive in order. Not for tags that start_receive() uses.
  virtual std::optional<Arriving> start_receive_any(int tag) = 0;
  void send(int to, int tag, std::span<const std::byte> bytes) {
    start_send(to, tag, bytes)->wait();
  }
  void receive(int from, int tag, std::span<std::byte> into) {
    start_receive(from, tag, into)->wait();
  }

  /// A transport of the ranks that gave the same color (>= 0), ordered by this transport's rank;
  /// collective; nullptr for a negative color.
  virtual std::unique_ptr<Transport> split(int color) = 0;
  /// A transport of the same ranks, whose messages and collectives this one does not receive.
  /// Collective; a rank may return before the others have come.
  virtual std::unique_ptr<Transport> twin() { return split(0); }

  // -- a rank that leaves by itself -------------------------------------------------------------
  /// Local. This rank, which `why` names, enters no collective of the transport any more. Those
  /// that it has not entered throw `why` on the other ranks, where they wait already too. Those
  /// that it has entered, those of the parts that were split from the transport, and messages
  /// between two ranks are completed as before. Nothing happens on one rank, after a failure, and
  /// over a Carrier.
  virtual void abandon(const Error& why) noexcept { static_cast<void>(why); }
  /// The error of a rank that has called it, if this rank has heard of one; else null. It hears
  /// while it waits for, or asks for, messages.
  virtual std::exception_ptr abandoned() const { return nullptr; }
  /// Local. The ranks did not end together: one may abandon() the transport when this rank has
  /// destroyed it. MPI must not give the communicator's number to another one, which would receive
  /// the notice.
  virtual void retain() noexcept {}
};

}  // namespace sluice::exec
