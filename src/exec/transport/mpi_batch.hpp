// Messages in flight and the memory they use.
//
// Invariants: memory that MPI may access outlives its use by the process: a batch that is destroyed
// with pending requests leaks its buffers on purpose, and makes it known for memory that is not its
// own (given_up.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "mpi/process.hpp"

namespace sluice::exec {

class Batch {
 public:
  struct Item {
    int peer;
    bool receive;
    int expected;       ///< bytes
    bool exact;         ///< a receive of fewer bytes is an error
    int received = -1;  ///< bytes, once done
  };

  Batch() = default;
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  ~Batch();

  /// A buffer that lives as long as MPI may use it; its address is stable.
  std::vector<std::byte>& buffer(std::size_t bytes) { return adopt(std::vector<std::byte>(bytes)); }
  std::vector<std::byte>& adopt(std::vector<std::byte> bytes) {
    auto held = std::make_shared<std::vector<std::byte>>(std::move(bytes));
    buffers_.push_back(held);
    return *held;
  }
  /// Keeps memory that is shared with another batch.
  void hold(std::shared_ptr<void> memory) { buffers_.push_back(std::move(memory)); }
  bool pending() const noexcept { return !done_; }
  /// Ranks whose message has not been received or has not arrived, each once. Calls MPI.
  std::vector<int> pending_peers();
  /// Clears requests that are done; keeps the buffers.
  void clear();
  /// Abandons pending requests without waiting: receives are cancelled, the buffers are leaked.
  void abandon() noexcept;

  std::vector<mpi::Request> requests;
  std::vector<mpi::Status> statuses;
  std::vector<Item> items;
  std::uint64_t total_bytes = 0;  ///< of all messages together

 private:
  friend class MpiCore;
  friend class MpiWatch;
  std::vector<std::shared_ptr<void>> buffers_;
  bool done_ = true;
};

}  // namespace sluice::exec
