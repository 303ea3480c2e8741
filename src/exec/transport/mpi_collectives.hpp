// The collectives of the MPI transport, as free functions over a core.
//
// Each enters its own verb, returns the same as the verb of Transport, and keeps the memory that
// MPI accesses in batches. See transport.hpp for their meaning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/transport/mpi_core.hpp"
#include "exec/transport/transport.hpp"

namespace sluice::exec {

/// A barrier that can be polled: dissemination, log2(size) rounds of empty messages.
class PolledBarrier {
 public:
  PolledBarrier(MpiCore& core, int phase) : core_(core), phase_(phase) {}
  /// Starts on the first call. Makes progress; true when every rank has arrived.
  bool test();
  std::vector<int> peers() { return batch_.pending_peers(); }

 private:
  MpiCore& core_;
  int phase_;
  int distance_ = 0;  // of the round under way
  Batch batch_;
};

/// fail() unless `root` is a rank.
void check_root(MpiCore& core, int root);

/// `verb` is the name under which ranks wait.
void mpi_barrier(MpiCore& core, Verb verb = Verb::barrier);
void mpi_allreduce(MpiCore& core, std::span<std::int64_t> values, Op op);
void mpi_reduce(MpiCore& core, std::span<std::int64_t> values, Op op, int root);
PrefixSum mpi_prefix_sum(MpiCore& core, std::int64_t value);
void mpi_broadcast(MpiCore& core, std::vector<std::byte>& bytes, int root);
std::vector<std::vector<std::byte>> mpi_gather(MpiCore& core, std::span<const std::byte> bytes,
                                               int root);
/// `verb` is the name under which ranks wait.
std::vector<std::vector<std::byte>> mpi_allgather(MpiCore& core, std::span<const std::byte> bytes,
                                                  Verb verb = Verb::allgather);
std::vector<Parcel> mpi_exchange(MpiCore& core, std::vector<Parcel> parcels);

}  // namespace sluice::exec
