// The waits of MpiCore, and the notices between waiting ranks.
//
// A wait polls: in a tight loop at first, then yielding the core, then with short sleeps. When its
// limit has passed, the rank asks those it waits for where they are, then those that they wait for,
// and so on; every rank that waits anywhere in this transport answers at once. After the grace
// period, the ranks that did not answer are named. The error is forwarded to the ranks that were
// asked, those that asked, and the ranks at distance 2^k, which do the same: every waiting rank
// ends with the first error it receives, and no rank sends more than O(log size) additional
// notices.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <sched.h>
#include <thread>

#include "exec/transport/mpi_core.hpp"
#include "model/clock.hpp"

namespace sluice::exec {

namespace {

constexpr int close_tests = 64;   // before anything else is checked
constexpr double yield_s = 1e-3;  // then this long, yielding the core between tests
constexpr double slow_transfer_bytes_per_s =
    5e8;                                   // long messages: as long as they take at this rate
constexpr double listen_every_s = 100e-6;  // notices are checked this often
constexpr int pause_min_us = 1;
constexpr int pause_max_us = 50;
constexpr int max_notices = 1024;         // processed in one call
constexpr std::size_t max_outbox = 4096;  // notices in flight; more are not sent
constexpr std::size_t max_text_bytes = 480;

}  // namespace

struct MpiCore::Notice {
  Kind kind;
  std::int32_t code;
  std::int32_t error_rank;
  std::int32_t verb;
  std::int64_t call;
  std::int32_t tag;
  std::int32_t peer_count;
  std::int32_t peers[max_named];
  std::int32_t text_bytes;
  char text[max_text_bytes];
};

Place MpiCore::place(const std::function<std::vector<int>()>& peers) const {
  return {verb_, call_, user_tag_, peers()};
}

// -- waits
// ------------------------------------------------------------------------------------------

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
  int pause_us = pause_min_us;
  while (!waiting.done()) {
    const double now = model::now_s();
    if (now >= limit) {
      expire(waiting, started);
      return;
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

void MpiCore::expire(const Waiting& waiting, double started_s) {
  reports_.clear();
  asked_.clear();
  const double waited = model::now_s() - started_s;
  const double end = model::now_s() + options_.grace_s;
  while (model::now_s() < end) {
    ask_around(place(waiting.peers));
    // Ranks that were only late may still arrive: then nothing has happened.
    if (waiting.done()) {
      return;
    }
    listen(waiting.peers);
    std::this_thread::sleep_for(std::chrono::microseconds(pause_max_us));
  }
  const Verdict verdict = diagnose_missing_ranks(rank_, place(waiting.peers), reports_, waited);
  fail(verdict.code, verdict.text);
}

void MpiCore::ask_around(const Place& here) {
  for (int other : reachable(rank_, here, reports_)) {
    if (other != rank_ && asked_.insert(other).second) {
      tell(other, Kind::ask, here, "");
    }
  }
}

// -- notices
// ----------------------------------------------------------------------------------------

void MpiCore::listen(const std::function<std::vector<int>()>& peers) {
  for (int heard = 0; heard < max_notices; ++heard) {
    bool is_there = false;
    mpi::Status status;
    check(mpi::messages().probe(notice_tag_, comm_, is_there, status));
    if (!is_there) {
      return;
    }
    // Small and already here, so this receive does not wait.
    Notice notice{};
    check(mpi::messages().receive(std::as_writable_bytes(std::span(&notice, 1)), status.source,
                                  notice_tag_, comm_));
    hear(notice, status.source, peers);
  }
}

void MpiCore::hear(const Notice& notice, int from, const std::function<std::vector<int>()>& peers) {
  if (notice.kind == Kind::gone) {
    failed_ = true;
    code_ = static_cast<Code>(notice.code);
    error_rank_ = notice.error_rank;
    text_.assign(notice.text, static_cast<std::size_t>(notice.text_bytes));
    tell_of_failure();
    throw Error(code_, text_, error_rank_);
  }
  Place theirs{static_cast<Verb>(notice.verb), notice.call, notice.tag, {}};
  theirs.peers.assign(notice.peers, notice.peers + notice.peer_count);
  reports_[from] = std::move(theirs);
  if (notice.kind == Kind::ask) {
    askers_.insert(from);
    tell(from, Kind::here, place(peers), "");
  }
}

void MpiCore::tell(int to, Kind kind, const Place& here, const std::string& text) {
  while (!outbox_.empty()) {
    Batch& oldest = outbox_.front();
    bool is_done = false;
    if (mpi::messages().test_all(oldest.requests, is_done, {}) == mpi::success && !is_done) {
      break;
    }
    oldest.done_ = true;
    outbox_.pop_front();
  }
  if (outbox_.size() >= max_outbox) {
    return;
  }
  Notice notice{};
  notice.kind = kind;
  notice.code = static_cast<std::int32_t>(code_);
  notice.error_rank = error_rank_;
  notice.verb = static_cast<std::int32_t>(here.verb);
  notice.call = here.call;
  notice.tag = here.tag;
  notice.peer_count =
      static_cast<std::int32_t>(std::min<std::size_t>(here.peers.size(), max_named));
  std::copy_n(here.peers.begin(), notice.peer_count, notice.peers);
  notice.text_bytes = static_cast<std::int32_t>(std::min(text.size(), max_text_bytes));
  std::memcpy(notice.text, text.data(), static_cast<std::size_t>(notice.text_bytes));

  // A notice that cannot be sent is lost: its receiver then ends by its own time limit.
  Batch& batch = outbox_.emplace_back();
  std::vector<std::byte>& bytes = batch.buffer(sizeof notice);
  std::memcpy(bytes.data(), &notice, sizeof notice);
  batch.items.push_back({to, false, static_cast<int>(sizeof notice), true});
  mpi::Request& request = batch.requests.emplace_back(mpi::messages().null_request());
  if (mpi::messages().start_send(bytes, to, notice_tag_, comm_, false, request) == mpi::success) {
    batch.done_ = false;
  }
}

void MpiCore::tell_of_failure() {
  std::set<int> others(asked_);
  others.insert(askers_.begin(), askers_.end());
  for (int distance = 1; distance < size_; distance *= 2) {
    others.insert((rank_ + distance) % size_);
    others.insert((rank_ - distance + size_) % size_);
  }
  others.erase(rank_);
  const Place here{verb_, call_, user_tag_, {}};
  for (int other : others) {
    tell(other, Kind::gone, here, text_);
  }
}

void MpiCore::fail(Code code, const std::string& text) {
  if (!failed_) {
    failed_ = true;
    code_ = code;
    error_rank_ = rank_;
    text_ = text;
    tell_of_failure();
  }
  throw Error(code_, text_, error_rank_);
}

}  // namespace sluice::exec
