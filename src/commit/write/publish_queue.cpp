#include "commit/write/publish_queue.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "model/clock.hpp"
#include "storage/background_thread.hpp"

namespace sluice::commit {

namespace {

/// Interval at which the thread checks again.
constexpr double look_for_work_s = 1;
constexpr int planning_rank = 0;
/// The other ranks leave the call a little after this one.
constexpr std::chrono::microseconds until_others_left{200};

}  // namespace

PublishQueue::~PublishQueue() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  tracker_.stop();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void PublishQueue::submit_rounds(std::uint64_t number, CommitPlanner::Rounds rounds) {
  Commit commit;
  commit.number = number;
  commit.rounds = std::move(rounds);
  commit.sizes.resize(tracker_.writers());
  enqueue(std::move(commit));
}

void PublishQueue::submit(std::uint64_t number, CommitPlanner::Update update,
                          const FileCommit& file) {
  decide(number, [&](Commit& commit) {
    if (commit.rounds.rounds == 0) {
      commit.update = std::move(update);
    }
    commit.synced = file.synced;
    commit.when_published = file.when_published;
  });
}

void PublishQueue::fail(std::uint64_t number, const std::exception_ptr& failure) {
  decide(number, [&](Commit& commit) { commit.failure = failure; });
}

void PublishQueue::decide(std::uint64_t number, const std::function<void(Commit&)>& how) {
  {
    const std::lock_guard lock(mutex_);
    if (!commits_.empty() && commits_.back()->number == number) {
      how(*commits_.back());
      commits_.back()->is_decided = true;
      number = 0;
    }
  }
  if (number == 0) {
    tracker_.notify();
    return;
  }
  Commit commit;
  commit.number = number;
  how(commit);
  commit.is_decided = true;
  enqueue(std::move(commit));
}

void PublishQueue::enqueue(Commit commit) {
  {
    const std::lock_guard lock(mutex_);
    commits_.push_back(std::make_shared<Commit>(std::move(commit)));
    if (has_thread_ && !thread_.joinable()) {
      try {
        thread_ = storage::start_background([this] { run(); });
      } catch (const std::system_error&) {
        has_thread_ = false;  // there is none to be had: calls do its work
      }
    }
  }
  tracker_.notify();
}

bool PublishQueue::has_placed_all() {
  const std::lock_guard lock(mutex_);
  return std::all_of(commits_.begin(), commits_.end(),
                     [](const auto& commit) { return commit->placed == commit->rounds.rounds; });
}

bool PublishQueue::advance() { return place_some() || publish_front(); }

/// One round of the first commit with rounds left, if all writers have sent their sizes.
bool PublishQueue::place_some() {
  std::shared_ptr<Commit> commit;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(commits_.begin(), commits_.end(), [](const auto& other) {
      return other->placed < other->rounds.rounds;
    });
    if (found == commits_.end() || ((*found)->rounds.when_decided && !(*found)->is_decided)) {
      return false;
    }
    commit = *found;
  }
  bool has_all = true;
  for (std::size_t w = 0; w < commit->sizes.size(); ++w) {
    if (!commit->sizes[w]) {
      if (const auto message = tracker_.receive_from_writer(w)) {
        commit->sizes[w] = exec::RoundSizes::from_bytes(*message);
      }
    }
    has_all = has_all && commit->sizes[w].has_value();
  }
  if (has_all) {
    if (commit->rounds.when_decided) {
      std::this_thread::sleep_for(until_others_left);
    }
    place(*commit);
  }
  return has_all;
}

void PublishQueue::place(Commit& commit) {
  std::vector<exec::RoundSizes> sizes;
  for (std::optional<exec::RoundSizes>& some : commit.sizes) {
    sizes.push_back(std::move(*some));
    some.reset();
  }
  std::exception_ptr earlier;
  {
    const std::lock_guard lock(mutex_);
    earlier = place_failure_ ? place_failure_ : commit.failure;
  }
  const auto place_tiles = [&](std::span<const layout::EncodedTile> tiles) {
    exec::RoundPlaces places =
        planner_.place(commit.number, commit.rounds, commit.placed, tiles, commit.update);
    if (commit.placed + 1 == commit.rounds.rounds) {
      planner_.planned();
    }
    return places;
  };
  const exec::RoundPlaces places =
      exec::place_round(commit.number, sizes, earlier, planning_rank, place_tiles);
  for (std::size_t w = 0; w < sizes.size(); ++w) {
    tracker_.send_to_writer(w, places.of(w).to_bytes());
  }
  {
    const std::lock_guard lock(mutex_);
    place_failure_ = places.outcome.failure();
    ++commit.placed;
  }
  tracker_.notify();
}

bool PublishQueue::publish_front() {
  std::shared_ptr<Commit> commit;
  std::exception_ptr earlier;
  {
    const std::lock_guard lock(mutex_);
    if (commits_.empty() || !commits_.front()->is_decided ||
        commits_.front()->placed < commits_.front()->rounds.rounds) {
      return false;
    }
    commit = commits_.front();
    earlier = commit->failure;
  }
  const auto gathered = tracker_.gathered(commit->number);
  if (!gathered) {
    return false;
  }
  std::exception_ptr failure = tracker_.failed().failure();
  failure = failure ? failure : *gathered;
  failure = failure ? failure : earlier;
  if (!failure) {
    try {
      publish(*commit);
    } catch (...) {
      failure = std::current_exception();
    }
  }
  {
    const std::lock_guard lock(mutex_);
    commits_.pop_front();
    settled_s_[commit->number % settled_s_.size()] = model::now_s();
  }
  tracker_.settle(commit->number, failure);
  return true;
}

void PublishQueue::publish(const Commit& commit) {
  Publisher& publisher = planner_.publisher();
  publisher.settle();
  publisher.write_fresh(commit.update.metadata);
  if (commit.synced && !commit.update.unsynced) {
    publisher.file().sync();
  }
  publisher.publish(commit.update.metadata, commit.synced, commit.update.modified_ns,
                    commit.update.unsynced);
  if (commit.when_published) {
    try {
      publisher.settle();  // what is outside of the file may not be ahead of it
    } catch (const Error&) {
      // The commit is complete. A failure is reported by the next one.
    }
    commit.when_published(commit.update.modified_ns, publisher.file().size());
  }
}

void PublishQueue::run() {
  while (true) {
    const std::uint32_t epoch = tracker_.epoch();
    {
      const std::lock_guard lock(mutex_);
      if (stop_) {
        return;
      }
    }
    try {
      if (!advance()) {
        tracker_.wait(epoch, look_for_work_s);
      }
    } catch (const Error&) {
      return;  // stopped while a writer accepted no answer
    }
  }
}

double PublishQueue::settled_s(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  return settled_s_[number % settled_s_.size()];
}

void PublishQueue::restart() {
  const std::lock_guard lock(mutex_);
  place_failure_ = nullptr;
}

}  // namespace sluice::commit
