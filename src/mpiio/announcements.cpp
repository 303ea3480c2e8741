#include "mpiio/announcements.hpp"

#include <algorithm>

namespace sluice::mpiio {

namespace {

/// What all ranks together may tell an aggregator at once.
constexpr std::int64_t most_announced_bytes = std::int64_t{4} << 20;
constexpr std::int64_t most_announced_rounds = 64;

bool overlap(const Run& a, const Run& b) {
  return std::max(a.offset, b.offset) < std::min(a.end(), b.end());
}

}  // namespace

Announcements::Announcements(MPI_Comm comm, const Domains& domains, std::span<const Run> ranges)
    : domains_(domains), ranges_(ranges), sends_(comm), receives_(comm) {
  check(mpi.Comm_rank(comm, &rank_), "asking for the rank");
  for (int i = 0; i < domains.aggregators; ++i) {
    own_ = domains.rank_of(i) == rank_ ? i : own_;
  }
}

int Announcements::most_rounds() const {
  constexpr std::int64_t bytes = sizeof(Announced);
  return static_cast<int>(std::clamp<std::int64_t>(most_announced_bytes / bytes / domains_.ranks, 1,
                                                   most_announced_rounds));
}

void Announcements::find_partners(int first, int last) {
  const Run& range = ranges_[static_cast<std::size_t>(rank_)];
  aggregators_.clear();
  for (int i = 0; i < domains_.aggregators; ++i) {
    if (overlap(domains_.windows(i, first, last), range)) {
      aggregators_.push_back(i);
    }
  }
  ranks_.clear();
  if (own_ < 0) {
    return;
  }
  const Run windows = domains_.windows(own_, first, last);
  for (int rank = 0; rank < domains_.ranks; ++rank) {
    if (overlap(windows, ranges_[static_cast<std::size_t>(rank)])) {
      ranks_.push_back(rank);
    }
  }
}

void Announcements::exchange(int first, int last, const View& view, const Run& stream) {
  first_ = first;
  rounds_ = static_cast<std::size_t>(last - first);
  find_partners(first, last);
  mine_.clear();
  for (const int aggregator : aggregators_) {
    for (int round = first; round < last; ++round) {
      const Run part = view.part_in(domains_.window(aggregator, round), stream);
      mine_.push_back({static_cast<std::int32_t>(view.pieces_of(part)),
                       static_cast<std::int32_t>(part.length)});
    }
  }
  theirs_.resize(ranks_.size() * rounds_);
  const auto bytes = static_cast<std::int64_t>(rounds_ * sizeof(Announced));
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    receives_.receive(&theirs_[i * rounds_], bytes, ranks_[i], about_sizes);
  }
  for (std::size_t i = 0; i < aggregators_.size(); ++i) {
    sends_.send_expected(&mine_[i * rounds_], bytes, domains_.rank_of(aggregators_[i]),
                         about_sizes);
  }
  receives_.wait();
}

}  // namespace sluice::mpiio
