#include "exec/transport/given_up.hpp"

#include <atomic>
#include <mutex>
#include <vector>

namespace sluice::exec {

namespace {

std::atomic<std::uint64_t> messages_given_up = 0;

// Never destroyed: MPI may be finalised after static objects are.
struct Kept {
  std::mutex mutex;
  std::vector<std::shared_ptr<void>> memory;
};

}  // namespace

void keep_memory(std::shared_ptr<void> memory) noexcept {
  static auto* kept = new Kept;
  const std::lock_guard lock(kept->mutex);
  kept->memory.push_back(std::move(memory));
}

void note_message_given_up() noexcept { ++messages_given_up; }

MessageMark::MessageMark() noexcept : given_up_(messages_given_up) {}

bool MessageMark::may_be_in_use() const noexcept { return messages_given_up != given_up_; }

}  // namespace sluice::exec
