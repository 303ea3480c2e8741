#include "commit/session/session_barrier.hpp"

#include <algorithm>
#include <bit>

namespace sluice::commit {

namespace {

constexpr int above(int rank) { return (rank - 1) / SessionBarrier::tree_width; }
constexpr std::uint64_t bit_of(int rank) {
  return std::uint64_t{1} << ((rank - 1) % SessionBarrier::tree_width);
}

}  // namespace

int SessionBarrier::count_below() const noexcept {
  const auto first = static_cast<std::int64_t>(rank_) * tree_width + 1;
  return static_cast<int>(std::clamp<std::int64_t>(ranks_ - first, 0, tree_width));
}

std::uint64_t SessionBarrier::enter() {
  const std::uint64_t number = ++last_;
  come_[number].is_here = true;
  look(number);
  return number;
}

void SessionBarrier::arrive(int from, std::uint64_t number, std::uint64_t reports) {
  Come& come = come_[number];
  come.below |= bit_of(from);
  come.reports += reports;
  look(number);
  if (late_ == number && come_.count(number) != 0) {
    report(number);
  }
}

void SessionBarrier::be_late(std::uint64_t number) {
  if (late_ != number && come_.count(number) != 0) {
    late_ = number;
    report(number);
  }
}

void SessionBarrier::report(std::uint64_t number) {
  Come& come = come_[number];
  if (rank_ == 0) {
    come.late[0] = come.below;
  } else {
    ++come.reports;
    messages_.send_report(number, come.below);
  }
}

void SessionBarrier::note_report(int from, std::uint64_t number, std::uint64_t come) {
  Come& known = come_[number];
  ++known.received;
  known.late[from] = come;
  look(number);
}

/// Have all of this rank's come, and their reports?
void SessionBarrier::look(std::uint64_t number) {
  const Come& come = come_[number];
  if (!come.is_here || std::popcount(come.below) != count_below()) {
    return;
  }
  if (rank_ != 0) {
    messages_.send_arrived(above(rank_), number, come.reports);
    come_.erase(number);
  } else if (come.received == come.reports) {
    come_.erase(number);
    release(number);
  }
}

void SessionBarrier::release(std::uint64_t number) {
  released_ = number;
  for (int i = 0; i < count_below(); ++i) {
    messages_.send_released(first_below() + i, number);
  }
}

std::vector<int> SessionBarrier::absent() const {
  enum class Known : std::uint8_t { nothing, came, came_with_all_below };
  std::vector<int> absent;
  if (come_.empty() || come_.begin()->second.late.empty()) {
    return absent;
  }
  const Come& come = come_.begin()->second;
  std::vector<Known> known(static_cast<std::size_t>(ranks_), Known::nothing);
  known[0] = Known::came;
  if (!come.is_here) {
    absent.push_back(0);
  }
  for (int rank = 1; rank < ranks_; ++rank) {
    const Known of_above = known[static_cast<std::size_t>(above(rank))];
    const auto report = come.late.find(above(rank));
    const std::uint64_t below = above(rank) == 0            ? come.below
                                : report != come.late.end() ? report->second
                                                            : 0;
    Known& own = known[static_cast<std::size_t>(rank)];
    if (of_above == Known::came_with_all_below || (below & bit_of(rank)) != 0) {
      own = Known::came_with_all_below;
    } else if (come.late.count(rank) != 0) {
      own = Known::came;
    } else if (of_above == Known::came) {
      absent.push_back(rank);
    }
  }
  return absent;
}

}  // namespace sluice::commit
