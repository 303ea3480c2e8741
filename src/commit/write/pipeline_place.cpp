// Rank 0's side of commits that are encoded behind the call: sizes come, places go.
#include <algorithm>
#include <utility>

#include "commit/write/pipeline.hpp"

namespace sluice::commit {

bool Pipeline::has_placed_all() {
  const std::lock_guard lock(mutex_);
  return std::all_of(commits_.begin(), commits_.end(),
                     [](const auto& commit) { return commit->placed == commit->placing.rounds; });
}

/// One round of the first commit that has some left, if all writers have offered theirs.
bool Pipeline::place_some() {
  std::shared_ptr<Commit> commit;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(commits_.begin(), commits_.end(), [](const auto& other) {
      return other->placed < other->placing.rounds;
    });
    if (found == commits_.end()) {
      return false;
    }
    commit = *found;
  }
  bool has_all = true;
  for (std::size_t w = 0; w < commit->offers.size(); ++w) {
    if (!commit->offers[w]) {
      if (const auto message = tracker_->receive_from_writer(w)) {
        commit->offers[w] = exec::Offer::from_bytes(*message);
      }
    }
    has_all = has_all && commit->offers[w].has_value();
  }
  if (has_all) {
    answer(*commit);
  }
  return has_all;
}

std::exception_ptr Pipeline::why_not_placed(const Commit& commit) {
  const std::lock_guard lock(mutex_);
  std::exception_ptr failure = place_failure_;
  for (const auto& offer : commit.offers) {
    failure = failure ? failure : offer->outcome.failure();
  }
  return failure ? failure : commit.failure;
}

void Pipeline::answer(Commit& commit) {
  const int rank = rates_.transport.rank();
  std::exception_ptr failure = why_not_placed(commit);
  std::vector<layout::EncodedTile> tiles;
  for (const auto& offer : commit.offers) {
    tiles.insert(tiles.end(), offer->tiles.begin(), offer->tiles.end());
  }
  Placed placed;
  if (!failure) {
    try {
      placed = commit.placing.place(commit.placed, tiles);
    } catch (...) {
      failure = std::current_exception();
    }
  }
  auto next = placed.addresses.cbegin();
  for (std::size_t w = 0; w < commit.offers.size(); ++w) {
    exec::Answer answer;
    answer.outcome = exec::Outcome(commit.number, failure, rank);
    if (!failure) {
      answer.plan = placed.plan;
      const auto end = next + static_cast<std::ptrdiff_t>(commit.offers[w]->tiles.size());
      answer.addresses.assign(next, end);
      next = end;
    }
    tracker_->send_to_writer(w, answer.to_bytes());
    commit.offers[w].reset();
  }
  commit.update = std::move(placed.update);
  {
    const std::lock_guard lock(mutex_);
    place_failure_ = failure;
    ++commit.placed;
  }
  tracker_->notify();
}

}  // namespace sluice::commit
