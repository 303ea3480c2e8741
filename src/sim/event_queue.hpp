// Pending events by time; events of the same time in the order of their creation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sluice::sim {

enum class What : std::uint8_t {
  actor_goes_on,
  actor_called,  ///< by what it waited for
  message_at_node,
  message_there,
  piece_streamed,
  piece_at_target,
  piece_at_node,
  piece_done,
  target_touched,
};

struct Event {
  double at_s = 0;
  std::uint64_t order = 0;
  What what = What::actor_goes_on;
  std::uint32_t which = 0;
};

class EventQueue {
 public:
  void at(double at_s, What what, std::uint32_t which) {
    heap_.push_back({at_s, next_++, what, which});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  bool empty() const noexcept { return heap_.empty(); }
  Event pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Event event = heap_.back();
    heap_.pop_back();
    return event;
  }
  /// Number of events so far.
  std::uint64_t made() const noexcept { return next_; }

 private:
  static bool later(const Event& a, const Event& b) noexcept {
    return a.at_s != b.at_s ? a.at_s > b.at_s : a.order > b.order;
  }
  std::vector<Event> heap_;
  std::uint64_t next_ = 0;
};

/// First come, first served, one at a time. Requests must arrive in the order of time.
class Server {
 public:
  /// When work of `work_s` that arrives at `at_s` is done.
  double serve(double at_s, double work_s) noexcept {
    free_at_s_ = std::max(at_s, free_at_s_) + work_s;
    busy_s_ += work_s;
    return free_at_s_;
  }
  double busy_s() const noexcept { return busy_s_; }

 private:
  double free_at_s_ = 0;
  double busy_s_ = 0;
};

/// Objects by number; numbers are reused.
template <class Thing>
class Pool {
 public:
  std::uint32_t add(const Thing& thing) {
    if (free_.empty()) {
      things_.push_back(thing);
      return static_cast<std::uint32_t>(things_.size() - 1);
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    things_[number] = thing;
    return number;
  }
  void remove(std::uint32_t number) { free_.push_back(number); }
  Thing& operator[](std::uint32_t number) { return things_[number]; }

 private:
  std::vector<Thing> things_;
  std::vector<std::uint32_t> free_;
};

}  // namespace sluice::sim
