#include "exec/transport/mpi_batch.hpp"

#include <mutex>
#include <set>

namespace sluice::exec {

namespace {

// Memory that MPI may access until it is finalised. Grows only by failures, which threads with
// files of their own may have at the same time. Never destroyed.
struct Graveyard {
  std::mutex mutex;
  std::vector<std::vector<std::shared_ptr<void>>> memory;
};

void bury(std::vector<std::shared_ptr<void>>&& memory) {
  static auto* graveyard = new Graveyard;
  const std::lock_guard lock(graveyard->mutex);
  graveyard->memory.push_back(std::move(memory));
}

}  // namespace

Batch::~Batch() { abandon(); }

std::vector<int> Batch::pending_peers() {
  std::set<int> peers;
  const mpi::Request none = mpi::messages().null_request();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    bool is_done = false;
    if (requests[i] != none && mpi::messages().look(requests[i], is_done) == mpi::success &&
        !is_done) {
      peers.insert(items[i].peer);
    }
  }
  return {peers.begin(), peers.end()};
}

void Batch::clear() {
  requests.clear();
  items.clear();
  total_bytes = 0;
}

void Batch::abandon() noexcept {
  if (done_) {
    return;
  }
  done_ = true;
  if (!mpi::comms().is_finalized()) {
    mpi::Messages& messages = mpi::messages();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      bool is_done = false;
      if (items[i].receive && requests[i] != messages.null_request()) {
        messages.cancel(requests[i]);
        messages.test(requests[i], is_done);
      }
    }
  }
  bury(std::move(buffers_));
}

}  // namespace sluice::exec
