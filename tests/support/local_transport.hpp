// Many ranks in one process, for tests: run one at a time, in an order drawn from a seed.
//
// Invariants: exactly one rank runs at any moment; another may run only inside a call of its
// transport (or pause()), so a run is reproducible for the same seed; what MPI leaves open is drawn
// from the seed too (the root of a broadcast may leave early or not, a short send may end before
// its receive or not), so a program that relies on one choice fails for some seed; if no rank can
// run, every waiting rank gets Error timeout at once, without waiting in real time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "exec/transport/transport.hpp"

namespace sluice::exec {

struct LocalOptions {
  int ranks_per_node = 0;   ///< simulated nodes of this many consecutive ranks; 0: one node
  double timeout_s = 1800;  ///< appears in the text of timeouts; nothing waits that long
  double idle_s = 10;  ///< a rank that polls this long while no rank makes progress gets a timeout
  std::vector<std::int32_t>* trace = nullptr;    ///< where the chosen ranks are appended, in order
  std::size_t trace_max = std::size_t{1} << 20;  ///< at most this many of them
};

/// Runs `body` on `ranks` (1 .. 8192) virtual ranks, each on a thread of its own, and returns when
/// all have returned. Each gets a transport of all ranks, valid during its call. An exception that
/// leaves a body ends that rank; ranks that wait for it get Error timeout, which names it.
/// Afterwards the first exception by rank is rethrown; exceptions other than timeouts come first.
void run_local(int ranks, std::uint64_t seed, const std::function<void(Transport&)>& body,
               const LocalOptions& options = {});

/// Calls that depend on the rank of the calling thread.
class LocalTransport {
 public:
  /// The virtual rank that this thread runs (of the outermost transport); -1 outside of
  /// run_local(), and on threads that a rank has started unless they are labelled.
  static int running_rank() noexcept;
  /// Lets another rank run; for ranks that poll something other than their transport. Does nothing
  /// outside of run_local().
  static void pause();
  /// Labels this thread as a helper of `rank` (-1: no more). It must not use the transport.
  static void label_thread(int rank) noexcept;
};

}  // namespace sluice::exec
