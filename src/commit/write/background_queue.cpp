#include "commit/write/background_queue.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "exec/transport/agree.hpp"
#include "exec/transport/waiting.hpp"
#include "model/clock.hpp"
#include "model/size_text.hpp"

namespace sluice::commit {

namespace {

/// Interval at which a waiting call checks again.
constexpr double look_again_s = 1;
/// Messages of other ranks arrive only in calls.
constexpr double ask_again_s = 100e-6;
/// A rank that waited timeout_s for another one does not wait for as long again.
constexpr double after_timeout_s = 1;

}  // namespace

// -- PendingCommit --------------------------------------------------------------------------------

bool PendingCommit::durable() {
  process_.require("the ticket of a step");
  if (queue_ != nullptr) {
    queue_->poll();
  }
  return queue_ == nullptr && !failure_ && synced_;
}

double PendingCommit::settled_s() {
  if (queue_ != nullptr) {
    queue_->absorb();
  }
  return queue_ != nullptr ? 0 : settled_s_;
}

void PendingCommit::wait() {
  process_.require("the ticket of a step");
  if (CommitQueue* const queue = queue_) {
    const OutputStats::Call inside(stats_);  // may settle it
    queue->wait(number_);
  }
  if (failure_) {
    *was_reported_ = true;
    std::rethrow_exception(failure_);
  }
}

// -- lifetime of the queue ------------------------------------------------------------------------

BackgroundQueue::BackgroundQueue(const Config& config, const std::vector<int>& writers)
    : config_(config),
      limit_s_(config.timeout_s > 0 ? config.timeout_s : std::numeric_limits<double>::infinity()) {
  if (config.data.has_thread() && config.transport.nodes() == 1) {
    tracker_ = exec::make_node_tracker(config.transport, writers);
  }
  if (!tracker_) {
    config.data.refuse_ring();
    tracker_ = exec::make_message_tracker(config.transport, writers);
  }
  if (config.planner != nullptr) {
    publishing_ =
        std::make_unique<PublishQueue>(*config.planner, *tracker_, config.data.has_thread());
  }
}

BackgroundQueue::~BackgroundQueue() {
  finish_on_way();
  config_.data.stop_ring();
  tracker_->stop();
  for (const OnWay& on_way : on_way_) {
    if (!on_way.commit->failed()) {
      const Error ended(Code::wrong_state,
                        config_.path + ": the file ended before the commit was complete");
      on_way.commit->settle(std::make_exception_ptr(ended), model::now_s());
    }
  }
  // The writer's thread uses the tracker until its last job is done.
  config_.data.writer().abandon(nullptr);
}

void BackgroundQueue::finish_on_way() noexcept {
  if (on_way_.empty()) {
    return;
  }
  const double until_s = model::now_s() + (lost_others_ ? after_timeout_s : limit_s_);
  try {
    wait_until_settled(on_way_.back().commit->number(), until_s - model::now_s());
    absorb();
    wait_until_idle(until_s - model::now_s());
  } catch (const std::exception&) {
    // What is incomplete by now is lost: its tickets say so.
  }
}

// -- one commit -----------------------------------------------------------------------------------

/// Every rank calls it, so that ranks on different nodes progress each other's messages.
void BackgroundQueue::wait_until_placed() {
  if (last_rounds_ == 0) {
    return;
  }
  const double began_s = model::now_s();
  const bool waits_for_places = config_.data.file() != nullptr && !tracker_->is_local();
  const bool is_placed = wait_for(
      [&] {
        // In this order: a message is written before its round counts as placed. Rank 0 must
        // not go on with one unsent, for the others wait for it here and not where rank 0 goes.
        return (!publishing_ || publishing_->has_placed_all()) && tracker_->has_sent_messages() &&
               (!waits_for_places || placed_.load() >= last_rounds_);
      },
      limit_s_);
  if (!is_placed) {
    lose_others();
    const int rank = config_.transport.rank();
    throw Error(Code::timeout,
                exec::rank_prefix(rank) + "waited " + model::seconds_text(limit_s_) +
                    " for the sizes and places of encoded tiles",
                rank);
  }
  waited_s_ += model::now_s() - began_s;
  if (config_.planner != nullptr) {
    config_.planner->replay();
  }
}

void BackgroundQueue::make_room(const plan::Plan& who, bool is_step, bool encodes) {
  if (begun_ >= commits_max) {
    const double began_s = model::now_s();
    require_settled(begun_ - commits_max + 1);
    waited_s_ += model::now_s() - began_s;
  }
  // The next step should find space while the first one is written.
  config_.data.share_ring(who, is_step ? 2 : 1, encodes, [&] { wait_for_everything(); });
}

void BackgroundQueue::begin(const plan::Plan& who, bool is_step) {
  make_room(who, is_step, false);
  tracker_->begin(++begun_);
}

std::uint64_t BackgroundQueue::begin_rounds(CommitPlanner::Rounds rounds) {
  tracker_->begin(++begun_);
  last_rounds_ = begun_;
  tracker_->expect_messages(rounds.rounds);
  if (publishing_) {
    publishing_->submit_rounds(begun_, std::move(rounds));
  }
  return begun_;
}

void BackgroundQueue::note_placed(std::uint64_t number) {
  placed_.store(number);
  tracker_->notify();
}

void BackgroundQueue::arrive(const std::exception_ptr& failure, bool synced,
                             const CommitPlanner::Update&) {
  if (storage::File* const file = config_.data.file()) {
    // Everything given to the writer so far belongs to this commit.
    config_.data.writer().submit_task([tracker = tracker_.get(), number = begun_, file,
                                       synced](const std::exception_ptr& earlier) {
      const auto met = earlier || !synced ? earlier : exec::failure_of([&] { file->sync(); });
      tracker->arrive(number, met);
    });
  }
  try {
    exec::agree(config_.transport, failure);
  } catch (...) {
    if (publishing_) {
      publishing_->fail(begun_, std::current_exception());
    }
    throw;
  }
}

void BackgroundQueue::publish(const FileCommit& commit, CommitPlanner::Update update) {
  if (publishing_) {
    if (begun_ != last_rounds_) {
      config_.planner->planned();
    }
    publishing_->submit(begun_, std::move(update), commit);
  }
  last_ = std::make_shared<PendingCommit>(this, begun_, commit.synced, was_reported_, commit.stats);
  on_way_.push_back({last_, config_.variables.state()});
}

// -- commits in flight ----------------------------------------------------------------------------

std::uint64_t BackgroundQueue::first_unplanned() {
  return publishing_ && !publishing_->has_placed_all() ? begun_ + 1 : 0;
}

bool BackgroundQueue::is_busy() {
  absorb();
  return !on_way_.empty();
}

void BackgroundQueue::absorb() {
  const std::uint64_t settled = tracker_->settled();
  const exec::Outcome failed = tracker_->failed();
  while (!on_way_.empty() && on_way_.front().commit->number() <= settled &&
         (failed.number == 0 || on_way_.front().commit->number() < failed.number)) {
    PendingCommit& commit = *on_way_.front().commit;
    commit.settle(nullptr, settled_s(commit.number()));
    if (config_.planner != nullptr) {
      config_.planner->committed();
    }
    on_way_.pop_front();
  }
  for (const OnWay& on_way : on_way_) {
    PendingCommit& commit = *on_way.commit;
    if (failed.number != 0 && commit.number() <= settled) {
      commit.settle(failed.failure(), settled_s(commit.number()));
    }
  }
}

/// Immediately on rank 0, elsewhere on request.
double BackgroundQueue::settled_s(std::uint64_t number) {
  if (tracker_->settled() < number) {
    return 0;
  }
  const double at_s = publishing_ ? publishing_->settled_s(number) : 0;
  return at_s != 0 ? at_s : model::now_s();
}

void BackgroundQueue::move_on() {
  if (!config_.data.has_thread()) {
    config_.data.writer().pump();
  }
  if (publishing_ && !publishing_->has_thread()) {
    publishing_->advance();
  }
  tracker_->poll();
}

void BackgroundQueue::poll() {
  move_on();
  absorb();
}

bool BackgroundQueue::wait_for(const std::function<bool()>& done, double seconds) {
  const double start = model::now_s();
  while (true) {
    const std::uint32_t epoch = tracker_->epoch();
    move_on();
    if (done()) {
      return true;
    }
    const double left_s = seconds - (model::now_s() - start);
    if (left_s <= 0) {
      return false;
    }
    if (config_.transport.runs_at_once()) {
      tracker_->wait(epoch, std::min(left_s, tracker_->is_local() ? look_again_s : ask_again_s));
    } else {
      config_.transport.let_others_run();
    }
  }
}

bool BackgroundQueue::wait_until_settled(std::uint64_t number, double seconds) {
  return wait_for([&] { return tracker_->settled() >= number; }, seconds);
}

/// Error timeout names the writers that are missing.
void BackgroundQueue::require_settled(std::uint64_t number) {
  if (wait_until_settled(number, limit_s_)) {
    return;
  }
  lose_others();
  const std::vector<int> missing = tracker_->missing(number);
  const int rank = config_.transport.rank();
  throw Error(
      Code::timeout,
      exec::rank_prefix(rank) + "waited " + model::seconds_text(limit_s_) + " for commit " +
          std::to_string(number) +
          (missing.empty() ? std::string(" to be published")
                           : "; not arrived: writers on ranks " + exec::list_ranks(missing)),
      rank);
}

void BackgroundQueue::wait(std::uint64_t number) {
  require_settled(number);
  absorb();
}

/// Until the others have received this rank's messages; have they?
bool BackgroundQueue::wait_until_idle(double seconds) {
  return wait_for([&] { return tracker_->is_idle(); }, seconds);
}

/// Until everything is settled and reported.
void BackgroundQueue::wait_for_everything() {
  require_settled(begun_);
  if (!wait_until_idle(limit_s_)) {
    lose_others();
    const int rank = config_.transport.rank();
    throw Error(
        Code::timeout,
        exec::rank_prefix(rank) + "the other ranks did not receive the messages about commits",
        rank);
  }
}

void BackgroundQueue::wait_for_all() {
  wait_for_everything();
  absorb();
}

bool BackgroundQueue::wait_at_most(double seconds) {
  const bool all = wait_until_settled(begun_, seconds);
  absorb();
  if (const std::exception_ptr failure = tracker_->failed().failure()) {
    *was_reported_ = true;
    std::rethrow_exception(failure);
  }
  return all;
}

std::exception_ptr BackgroundQueue::failure() {
  poll();
  return tracker_->failed().failure();
}

// -- after a failure ------------------------------------------------------------------------------

void BackgroundQueue::drop_failed() {
  wait_for_all();
  // Everything is settled: commits still in flight have failed.
  if (!on_way_.empty()) {
    config_.variables.restore(on_way_.front().before);
    on_way_.clear();
  }
  config_.data.drop_ring();  // its state may be incomplete
}

void BackgroundQueue::restart() {
  config_.transport.barrier();
  if (publishing_) {
    publishing_->restart();
  }
  tracker_->clear_failure();
  *was_reported_ = false;
  config_.transport.barrier();
}

}  // namespace sluice::commit
