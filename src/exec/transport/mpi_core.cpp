// A wait polls: in a tight loop at first, then yielding the core, then with short sleeps.
#include "exec/transport/mpi_core.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <sched.h>
#include <thread>
#include <utility>

#include "model/clock.hpp"

namespace sluice::exec {

namespace {

constexpr int tags_per_kind = 64;
constexpr int phases_per_verb = 4;

constexpr int close_tests = 64;   // before anything else is checked
constexpr double yield_s = 1e-3;  // then this long, yielding the core between tests
constexpr double slow_transfer_bytes_per_s =
    5e8;                                   // long messages: as long as they take at this rate
constexpr double listen_every_s = 100e-6;  // notices are checked this often
constexpr int pause_min_us = 1;
constexpr int pause_max_us = 50;

}  // namespace

// -- life
// -------------------------------------------------------------------------------------------

MpiCore::MpiCore(MpiChannel channel, const MpiOptions& options)
    : channel_(std::move(channel)), comm_(channel_.comm), options_(options) {
  take_channel();
  watch_ = std::make_shared<MpiWatch>(comm_, channel_.last_tag, options_);
}

MpiCore::MpiCore(MpiChannel channel, std::shared_ptr<MpiCore> whole,
                 const std::vector<int>& members)
    : channel_(std::move(channel)),
      comm_(channel_.comm),
      options_(whole->options_),
      whole_(std::move(whole)),
      watch_(whole_->watch_) {
  take_channel();
  for (const int member : members) {
    outer_ranks_.push_back(whole_->outer_rank(member));
  }
  if (members.empty()) {
    outer_ranks_ = whole_->outer_ranks_;
  }
  // The same on all members, and another one for every other part.
  constexpr std::int64_t most = 1 << 20;
  const int first = members.empty() ? 0 : members.front();
  part_ = ((whole_->part_ % most) * most + whole_->call_ % most) * most + first + 1;
}

void MpiCore::take_channel() {
  mpi::Comms& comms = mpi::comms();
  comms.return_errors(comm_);
  rank_ = comms.rank(comm_);
  size_ = comms.size(comm_);
  tag_base_ = channel_.last_tag - MpiChannel::internal_tags;
}

std::optional<MpiChannel> MpiCore::lend_channel() {
  enter(Verb::split);
  return channel_.lend();
}

MpiCore::~MpiCore() {
  if (!mpi::comms().is_finalized()) {
    channel_.give_back(!failed() && !watch_->has_left());
  }
}

int MpiCore::outer_rank(int rank) const {
  return outer_ranks_.empty() ? rank : outer_ranks_.at(static_cast<std::size_t>(rank));
}

std::string MpiCore::prefix() const {
  return "sluice: rank " + std::to_string(outer_rank(rank_)) + ": " + verb_name(verb_) + ": ";
}

void MpiCore::throw_if_failed() const {
  if (failed()) {
    watch_->throw_failure(prefix());
  }
}

Place MpiCore::place(const std::function<std::vector<int>()>& peers) const {
  Place place{verb_, call_, user_tag_, peers(), part_, watch_->calls()};
  for (int& peer : place.peers) {
    peer = outer_rank(peer);
  }
  return place;
}

void MpiCore::enter(Verb verb) {
  verb_ = verb;
  throw_if_failed();
  ++call_;
  if (!whole_) {
    watch_->enter();
  }
}

void MpiCore::enter_point_to_point(Verb verb, int tag) {
  verb_ = verb;
  user_tag_ = tag;
  throw_if_failed();
}

int MpiCore::tag(int phase) const noexcept {
  const int kind = static_cast<int>(verb_) * phases_per_verb + phase;
  return tag_base_ + kind * tags_per_kind + static_cast<int>(call_ % tags_per_kind);
}

// -- messages
// ---------------------------------------------------------------------------------------

void MpiCore::post_send(Batch& batch, int to, int tag, std::span<const std::byte> bytes,
                        bool synchronous) {
  do {
    const std::size_t part = std::min(bytes.size(), options_.part_bytes);
    const int count = static_cast<int>(part);
    mpi::Request& request = batch.requests.emplace_back(mpi::messages().null_request());
    batch.items.push_back({to, false, count, true});
    check(mpi::messages().start_send(bytes.first(part), to, tag, comm_, synchronous, request));
    batch.done_ = false;
    batch.total_bytes += part;
    bytes = bytes.subspan(part);
  } while (!bytes.empty());
}

void MpiCore::post_receive(Batch& batch, int from, int tag, std::span<std::byte> into, bool exact) {
  do {
    const std::size_t part = std::min(into.size(), options_.part_bytes);
    const int count = static_cast<int>(part);
    mpi::Request& request = batch.requests.emplace_back(mpi::messages().null_request());
    batch.items.push_back({from, true, count, exact});
    check(mpi::messages().start_receive(into.first(part), from, tag, comm_, request));
    batch.done_ = false;
    batch.total_bytes += part;
    into = into.subspan(part);
  } while (!into.empty());
}

bool MpiCore::take_any(int tag, mpi::Message& message, int& from, std::vector<std::byte>& into) {
  bool is_there = false;
  mpi::Status status;
  check(mpi::messages().take(tag, comm_, is_there, message, status));
  if (!is_there) {
    return false;
  }
  from = status.source;
  into.resize(static_cast<std::size_t>(std::max(status.bytes, 0)));
  return true;
}

void MpiCore::post_taken(Batch& batch, int from, mpi::Message message, std::span<std::byte> into) {
  const int count = static_cast<int>(into.size());
  mpi::Request& request = batch.requests.emplace_back(mpi::messages().null_request());
  batch.items.push_back({from, true, count, true});
  check(mpi::messages().start_taken(into, message, request));
  batch.done_ = false;
  batch.total_bytes += into.size();
}

bool MpiCore::test(Batch& batch) {
  if (batch.done_) {
    return true;
  }
  batch.statuses.resize(batch.requests.size());
  bool is_done = false;
  const int result = mpi::messages().test_all(batch.requests, is_done, batch.statuses);
  if (result != mpi::success) {
    check_batch(result, batch);
  }
  if (!is_done) {
    return false;
  }
  batch.done_ = true;
  check_lengths(batch);
  return true;
}

void MpiCore::check_lengths(Batch& batch) {
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    Batch::Item& item = batch.items[i];
    if (!item.receive) {
      continue;
    }
    item.received = batch.statuses[i].bytes;
    if (item.exact && item.received != item.expected) {
      fail(Code::divergent, prefix() + "rank " + std::to_string(outer_rank(item.peer)) + " sent " +
                                std::to_string(item.received) + " bytes where " +
                                std::to_string(item.expected) +
                                " were expected: both sides must give the same length");
    }
  }
}

void MpiCore::check_batch(int result, const Batch& batch) {
  mpi::Messages& messages = mpi::messages();
  if (messages.fault(result) != mpi::Fault::in_status) {
    check(result);
  }
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    const int error = batch.statuses[i].error;
    const mpi::Fault fault = messages.fault(error);
    if (fault == mpi::Fault::none || fault == mpi::Fault::pending) {
      continue;
    }
    if (fault == mpi::Fault::truncate) {
      fail(Code::divergent, prefix() + "rank " + std::to_string(outer_rank(batch.items[i].peer)) +
                                " sent more than the " + std::to_string(batch.items[i].expected) +
                                " bytes that were expected: both sides must give the same length");
    }
    check(error);
  }
  check(result);
}

// -- waits

void MpiCore::wait(Batch& batch) {
  for (int i = 0; i < close_tests; ++i) {
    if (test(batch)) {
      return;
    }
  }
  Waiting waiting;
  waiting.done = [this, &batch] { return test(batch); };
  waiting.peers = [&batch] { return batch.pending_peers(); };
  waiting.bytes = batch.total_bytes;
  wait_out(waiting);
}

void MpiCore::wait(const Waiting& waiting) {
  for (int i = 0; i < close_tests; ++i) {
    if (waiting.done()) {
      return;
    }
  }
  wait_out(waiting);
}

void MpiCore::wait_out(const Waiting& waiting) {
  const double started = model::now_s();
  const double limit =
      options_.timeout_s > 0 ? started + options_.timeout_s : std::numeric_limits<double>::max();
  const double yield_until =
      started + yield_s + static_cast<double>(waiting.bytes) / slow_transfer_bytes_per_s;
  double next_listen = started + listen_every_s;
  double say_at = options_.say_after_s > 0 ? started + options_.say_after_s : limit;
  int pause_us = pause_min_us;
  while (!waiting.done()) {
    const double now = model::now_s();
    if (now >= limit) {
      watch_->expire(
          waiting.done, [&] { return place(waiting.peers); }, started);
      return;
    }
    if (now >= say_at) {
      say_at = limit;
      watch_->say_missing(
          waiting.done, [&] { return place(waiting.peers); }, started);
    }
    if (now >= next_listen) {
      listen(waiting.peers);
      next_listen = now + listen_every_s;
    }
    if (now < yield_until) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
      pause_us = std::min(2 * pause_us, pause_max_us);
    }
  }
}

void MpiCore::listen(const std::function<std::vector<int>()>& peers) {
  watch_->listen([&] { return place(peers); });
}

void MpiCore::fail(Code code, const std::string& text) { watch_->fail(code, text); }

void MpiCore::check(int result) {
  if (result != mpi::success) {
    fail(Code::mpi, prefix() + mpi_failure_text(result));
  }
}

}  // namespace sluice::exec
