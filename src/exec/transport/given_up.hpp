// Messages that were given up while MPI may still use their memory: after a timeout, a receive that
// was matched goes on when its sender does, and MPI has no call that ends it.
//
// Invariant: memory that such a message may use is neither used for anything else nor freed.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace sluice::exec {

/// A message of this process was given up. From any thread.
void note_message_given_up() noexcept;

/// Keeps it until the process ends.
void keep_memory(std::shared_ptr<void> memory) noexcept;

/// Held beside memory through which messages pass.
class MessageMark {
 public:
  MessageMark() noexcept;
  /// Was a message of the process given up since it was made? It may have been another file's:
  /// memory that is left alone then is lost, once a failure.
  bool may_be_in_use() const noexcept;
  /// For who frees `memory` (containers), or gives it to others: moves it out of the way, for ever,
  /// if it may be in use.
  template <class... Memory>
  void keep_used(Memory&... memory) const {
    if (may_be_in_use()) {
      (keep_memory(std::make_shared<Memory>(std::move(memory))), ...);
    }
  }

 private:
  std::uint64_t given_up_;
};

}  // namespace sluice::exec
