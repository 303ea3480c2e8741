// Commits that go on after commit() has returned: begun, handed over, absorbed when they are there.
#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "commit/write/file_writer.hpp"
#include "exec/transport/agree.hpp"
#include "model/clock.hpp"

namespace sluice::commit {

namespace {

/// Few windows make a writer and its senders wait for each other.
constexpr std::uint64_t fewest_slots = 3;
/// Small steps have small windows, so that little memory is touched for them.
constexpr std::uint64_t windows_of_step = 8;
constexpr std::uint64_t smallest_slot_window_bytes = 64ULL << 10;
/// A rank that missed another one for timeout_s waits no second time for as long.
constexpr double after_timeout_s = 1;

}  // namespace

bool Fate::durable() {
  process_.require("the ticket of a step");
  if (file_ != nullptr) {
    file_->poll();
  }
  return file_ == nullptr && !failure_ && synced_;
}

double Fate::settled_s() {
  if (file_ != nullptr) {
    file_->absorb();
  }
  return file_ != nullptr ? 0 : settled_s_;
}

void Fate::wait() {
  process_.require("the ticket of a step");
  if (file_ != nullptr) {
    file_->wait(number_);
  }
  if (failure_) {
    *heard_ = true;
    std::rethrow_exception(failure_);
  }
}

FileWriter::~FileWriter() {
  bring_ended();
  if (buffers_.ring) {
    buffers_.ring->stop();
  }
  if (pipeline_) {
    pipeline_->stop();
  }
  for (const OnWay& commit : on_way_) {
    if (!commit.fate->failed()) {
      commit.fate->settle(std::make_exception_ptr(
                              Error(Code::wrong_state, path_ + ": the file ended before the commit "
                                                               "was there")),
                          model::now_s());
    }
  }
  end_pipeline();
  planner_.reset();  // reads through the publisher's file
}

/// Of a file that ends without close(), as one does where an exception unwinds: commits whose call
/// has returned come into the file all the same. Every rank has delivered its part of them, so
/// nobody has to take part in anything but its own calls of poll().
void FileWriter::bring_ended() noexcept {
  if (!pipeline_ || on_way_.empty()) {
    return;
  }
  const double forever = std::numeric_limits<double>::infinity();
  const double limit_s = lost_others_             ? after_timeout_s
                         : options_.timeout_s > 0 ? options_.timeout_s
                                                  : forever;
  try {
    pipeline_->wait_at_most(on_way_.back().fate->number(), limit_s);
    absorb();
    pipeline_->wait_until_idle(limit_s);
  } catch (const std::exception&) {
    // What is not there by now is lost: its tickets say so.
  }
}

/// The writer's thread uses the tracker until its last job is done.
void FileWriter::end_pipeline() noexcept {
  try {
    buffers_.writer.drain();
  } catch (...) {
    // Heard by the last task of a commit, or of no commit at all.
  }
  pipeline_.reset();
}

void FileWriter::open_pipeline() {
  if (!strategy_.in_background) {
    return;
  }
  const std::vector<int> writers = strategy_.openers(topology_, choice_).all();
  std::unique_ptr<exec::CompletionTracker> tracker;
  if (has_thread() && transport_.nodes() == 1) {
    tracker = exec::make_node_tracker(transport_, writers);
  }
  ring_is_refused_ = tracker == nullptr;
  if (!tracker) {
    tracker = exec::make_message_tracker(transport_, writers);
  }
  const Pipeline::Ground ground{transport_, buffers_.writer, publisher_.get(), has_thread(),
                                options_.timeout_s};
  pipeline_ = std::make_unique<Pipeline>(ground, std::move(tracker));
  if (has_thread() && file_ != nullptr) {
    buffers_.writer.submit([](bool) { exec::unbind_thread(); });
  }
}

/// Collective: the staging of the node, as much as `commits` of this size need and the budget
/// allows. The same decision on every rank.
void FileWriter::share_ring(const plan::Plan& who, std::uint64_t commits) {
  const std::uint64_t part =
      std::bit_floor(std::max(smallest_slot_window_bytes, who.writer_bytes / windows_of_step));
  const std::uint64_t window = std::min(who.window_bytes, part);
  const std::uint64_t writers = who.tiles.writers().size();
  const auto ranks = static_cast<std::uint64_t>(transport_.size());
  // What is encoded behind the call takes a quarter, and what is packed ahead another one.
  const std::uint64_t budget =
      encodes_behind_ ? choice_.budget_bytes / 2 : choice_.budget_bytes - choice_.budget_bytes / 4;
  const std::uint64_t most = std::max(fewest_slots, ranks * budget / writers / window);
  const std::uint64_t wanted = commits * (who.writer_bytes / window + 2);
  const std::uint64_t slots = std::clamp(wanted, fewest_slots, most);
  const auto* const ring = buffers_.ring.get();
  const std::uint64_t present = ring != nullptr ? ring->slots() * ring->window_bytes() : 0;
  const bool is_too_large = encodes_behind_ && present > std::max(most, slots) * who.window_bytes &&
                            ring->slots() > fewest_slots;
  if (ring_is_refused_ || (present >= slots * window && !is_too_large)) {
    return;
  }
  pipeline_->wait_for_all();
  drop_ring();
  for (std::uint64_t tried = slots; !buffers_.ring && tried >= fewest_slots; tried /= 2) {
    const exec::RingShape shape{0, writers, window, tried};
    buffers_.ring = exec::Ring::share(transport_, shape, options_.timeout_s);
  }
  ring_is_refused_ = buffers_.ring == nullptr;
}

/// While nothing is on its way.
void FileWriter::drop_ring() {
  waited_s_ += buffers_.ring ? buffers_.ring->waited_s() : 0;
  buffers_.ring.reset();
}

void FileWriter::wait_for_room() {
  if (pipeline_->begun() >= Pipeline::commits_max) {
    const double began_s = model::now_s();
    pipeline_->wait(pipeline_->begun() - Pipeline::commits_max + 1);
    waited_s_ += model::now_s() - began_s;
  }
}

void FileWriter::begin_background(const plan::Plan& who, bool is_step) {
  wait_for_room();
  // After a step comes the next one, which should find room while the first is written.
  share_ring(who, is_step ? 2 : 1);
  number_ = pipeline_->begin();
}

void FileWriter::prefill_in_background(const layout::CommitPlan& placed, const plan::Plan& who) {
  if (file_ == nullptr) {
    return;
  }
  for (const layout::Placement& placement : placed.placements) {
    const model::Definition& definition = definitions_[placement.variable()];
    if (definition.partial && !definition.fill.empty()) {
      // Copies: definitions may be added meanwhile.
      buffers_.writer.submit([this, placement, definition, tiles = who.tiles](bool has_failed) {
        if (!has_failed) {
          fill_own_tiles(*file_, placement, definition, tiles);
        }
      });
    }
  }
}

void FileWriter::agree_in_background(const std::exception_ptr& failure, bool synced) {
  if (file_ != nullptr) {
    pipeline_->arrive(number_, *file_, synced);
  }
  try {
    exec::agree(transport_, failure);
  } catch (...) {
    if (publisher_) {
      pipeline_->fail(number_, std::current_exception());
    }
    throw;
  }
}

void FileWriter::publish_in_background(const FileCommit& commit) {
  if (publisher_) {
    if (number_ != last_behind_) {
      planner_->planned();
    }
    pipeline_->push(number_, std::exchange(update_, {}), commit.synced, modified_ns_);
  }
  OnWay now;
  now.fate = fate_ = std::make_shared<Fate>(this, number_, commit.synced, heard_);
  now.steps = steps_;
  for (const Tiles& tiles : tiles_) {
    now.made.push_back(tiles.made);
  }
  on_way_.push_back(std::move(now));
}

void FileWriter::absorb() {
  const std::uint64_t settled = pipeline_->settled();
  const exec::Outcome failed = pipeline_->failed();
  while (!on_way_.empty() && on_way_.front().fate->number() <= settled &&
         (failed.number == 0 || on_way_.front().fate->number() < failed.number)) {
    on_way_.front().fate->settle(nullptr, pipeline_->settled_s(on_way_.front().fate->number()));
    if (planner_) {
      const std::lock_guard lock(planner_mutex_);
      planner_->committed();
    }
    on_way_.pop_front();
  }
  for (const OnWay& commit : on_way_) {
    if (failed.number != 0 && commit.fate->number() <= settled) {
      commit.fate->settle(failed.failure(), pipeline_->settled_s(commit.fate->number()));
    }
  }
}

/// Everything is settled: what is left on its way has failed.
void FileWriter::forget_failed() {
  if (on_way_.empty()) {
    return;
  }
  steps_ = on_way_.front().steps;
  for (std::size_t v = 0; v < tiles_.size(); ++v) {
    tiles_[v].made = v < on_way_.front().made.size() && on_way_.front().made[v];
  }
  on_way_.clear();
}

void FileWriter::poll() {
  if (pipeline_) {
    pipeline_->poll();
    absorb();
  }
}

void FileWriter::wait(std::uint64_t number) {
  const OutputStats::Call inside(stats_);
  if (pipeline_) {
    pipeline_->wait(number);
    absorb();
  }
}

double FileWriter::waited_s() const {
  return waited_s_ + buffers_.writer.waited_s() + (buffers_.ring ? buffers_.ring->waited_s() : 0);
}

void FileWriter::wait_for_all() {
  if (pipeline_) {
    pipeline_->wait_for_all();
    absorb();
  }
}

bool FileWriter::wait_at_most(double seconds) {
  if (!pipeline_) {
    return true;
  }
  const bool all = pipeline_->wait_at_most(pipeline_->begun(), seconds);
  absorb();
  if (const std::exception_ptr failure = pipeline_->failed().failure()) {
    *heard_ = true;
    std::rethrow_exception(failure);
  }
  return all;
}

std::exception_ptr FileWriter::failure_on_way() {
  if (!pipeline_) {
    return nullptr;
  }
  poll();
  return pipeline_->failed().failure();
}

void FileWriter::recover() {
  give_up();
  *heard_ = false;
}

}  // namespace sluice::commit
