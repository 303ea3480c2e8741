#include "exec/transport/mpi_batch.hpp"

#include <set>

#include "exec/transport/given_up.hpp"

namespace sluice::exec {

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
      if (requests[i] == messages.null_request()) {
        continue;
      }
      bool is_done = false;
      if (items[i].receive) {
        messages.cancel(requests[i]);
      }
      if (messages.test(requests[i], is_done) != mpi::success || !is_done) {
        note_message_given_up();
      }
    }
  }
  for (std::shared_ptr<void>& buffer : buffers_) {
    keep_memory(std::move(buffer));
  }
  buffers_.clear();
}

}  // namespace sluice::exec
