#include "support/local_scheduler.hpp"

#include <utility>

namespace sluice::exec {

Scheduler::Scheduler(int ranks, std::uint64_t seed, const LocalOptions& options,
                     std::function<void()> on_deadlock)
    : random_(seed), options_(options), on_deadlock_(std::move(on_deadlock)) {
  for (int rank = 0; rank < ranks; ++rank) {
    slots_.push_back(std::make_unique<Slot>());
  }
}

void Scheduler::run(const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  threads.reserve(slots_.size());
  for (int rank = 0; rank < static_cast<int>(slots_.size()); ++rank) {
    threads.emplace_back([this, rank, &body] {
      {
        std::unique_lock lock(mutex_);
        slots_[static_cast<std::size_t>(rank)]->turn.wait(lock, [&] { return running_ == rank; });
      }
      body(rank);
      end(rank);
    });
  }
  {
    const std::lock_guard lock(mutex_);
    running_ = pick();
    slots_[static_cast<std::size_t>(running_)]->turn.notify_one();
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

// The rank that runs next, or -1 when all have ended.
int Scheduler::pick() {
  const int ranks = static_cast<int>(slots_.size());
  for (;;) {
    candidates_.clear();
    bool waiting = false;
    for (int rank = 0; rank < ranks; ++rank) {
      Slot& slot = *slots_[static_cast<std::size_t>(rank)];
      if (slot.state == State::ready || slot.state == State::stuck ||
          (slot.state == State::blocked && slot.ready())) {
        candidates_.push_back(rank);
      }
      waiting = waiting || slot.state == State::blocked;
    }
    if (!candidates_.empty()) {
      break;
    }
    if (!waiting) {
      return -1;
    }
    on_deadlock_();
    for (const std::unique_ptr<Slot>& slot : slots_) {
      if (slot->state == State::blocked) {
        slot->state = State::stuck;
      }
    }
  }
  const int chosen = candidates_[static_cast<std::size_t>(random_() % candidates_.size())];
  if (options_.trace != nullptr && options_.trace->size() < options_.trace_max) {
    options_.trace->push_back(chosen);
  }
  return chosen;
}

// Chooses the next rank and returns when it is this one's turn again.
void Scheduler::hand_over(int rank) {
  std::unique_lock lock(mutex_);
  running_ = pick();
  if (running_ != rank) {
    slots_[static_cast<std::size_t>(running_)]->turn.notify_one();
    slots_[static_cast<std::size_t>(rank)]->turn.wait(lock, [&] { return running_ == rank; });
  }
}

void Scheduler::pause(int rank) { hand_over(rank); }

bool Scheduler::block(int rank, std::function<bool()> ready) {
  Slot& slot = *slots_[static_cast<std::size_t>(rank)];
  slot.ready = std::move(ready);
  slot.state = State::blocked;
  hand_over(rank);
  const bool came = slot.state != State::stuck;
  slot.state = State::ready;
  slot.ready = nullptr;
  return came;
}

void Scheduler::end(int rank) {
  const std::lock_guard lock(mutex_);
  slots_[static_cast<std::size_t>(rank)]->state = State::ended;
  running_ = pick();
  if (running_ >= 0) {
    slots_[static_cast<std::size_t>(running_)]->turn.notify_one();
  }
}

}  // namespace sluice::exec
