// When the limit of its wait has passed, a rank asks those it waits for where they are, then those
// that they wait for, and so on; every rank that waits anywhere in the transport or a part of it
// answers at once. After the grace period, the ranks that did not answer are named. The error is
// forwarded to the ranks that were asked, those that asked, and the ranks at distance 2^k, which do
// the same: every waiting rank ends with the first error it receives, and no rank sends more than
// O(log size) additional notices. That a rank has left is forwarded in the same way.
#include "exec/transport/mpi_watch.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "model/clock.hpp"
#include "storage/say.hpp"

namespace sluice::exec {

namespace {

constexpr std::chrono::microseconds ask_every{50};
constexpr int max_notices = 1024;         // processed in one call
constexpr std::size_t max_outbox = 4096;  // notices in flight; more are not sent
constexpr std::size_t max_text_bytes = 480;
constexpr int most_speakers = 8;  // ranks that may say for whom they wait

}  // namespace

struct MpiWatch::Notice {
  Kind kind;
  std::int32_t code;
  std::int32_t error_rank;
  std::int32_t verb;
  std::int64_t call;
  std::int64_t part;
  std::int64_t outer_calls;
  std::int32_t tag;
  std::int32_t peer_count;
  std::int32_t peers[max_named];
  std::int32_t text_bytes;
  char text[max_text_bytes];
};

std::string mpi_failure_text(int result) {
  return "MPI failed: " + mpi::messages().error_text(result) +
         ": the run cannot continue with this communicator; see MPI's own messages";
}

MpiWatch::MpiWatch(mpi::Comm comm, int notice_tag, const MpiOptions& options)
    : comm_(comm),
      notice_tag_(notice_tag),
      options_(options),
      rank_(mpi::comms().rank(comm)),
      size_(mpi::comms().size(comm)) {}

void MpiWatch::enter() {
  ++calls_;
  if (!askers_.empty() || !asked_.empty()) {
    askers_.clear();
    asked_.clear();
  }
  require_all(calls_);
}

void MpiWatch::expire(const std::function<bool()>& done, const Here& here, double started_s) {
  const double waited = model::now_s() - started_s;
  if (!ask_until(done, here)) {
    const Verdict verdict = diagnose_missing_ranks(rank_, here(), reports_, waited);
    fail(verdict.code, verdict.text());
  }
}

void MpiWatch::say_missing(const std::function<bool()>& done, const Here& here, double started_s) {
  const double waited = model::now_s() - started_s;
  if (has_said_ || ask_until(done, here)) {
    return;
  }
  const Verdict verdict = diagnose_missing_ranks(rank_, here(), reports_, waited);
  if (verdict.code == Code::divergent) {
    fail(verdict.code, verdict.text());
  }
  const bool is_lowest = reports_.empty() || reports_.begin()->first > rank_;
  if (!verdict.missing.empty() && is_lowest && (reports_.empty() || rank_ < most_speakers)) {
    has_said_ = true;
    storage::say((options_.name.empty() ? "" : options_.name + ": ") + verdict.facts +
                 " so far: all ranks of the communicator must make the same collective calls; the "
                 "wait ends after timeout_s");
  }
}

/// Asks for the grace period where the ranks are that are waited for; true if `done` meanwhile.
bool MpiWatch::ask_until(const std::function<bool()>& done, const Here& here) {
  reports_.clear();
  asked_.clear();
  const double end = model::now_s() + options_.grace_s;
  while (model::now_s() < end) {
    ask_around(here());
    // Ranks that were only late may still arrive: then nothing has happened.
    if (done()) {
      return true;
    }
    listen(here);
    std::this_thread::sleep_for(ask_every);
  }
  return false;
}

void MpiWatch::ask_around(const Place& here) {
  for (int other : reachable(rank_, here, reports_)) {
    if (other != rank_ && asked_.insert(other).second) {
      tell(other, Kind::ask, here, "");
    }
  }
}

// -- notices

void MpiWatch::listen(const Here& here) {
  for (int heard = 0; heard < max_notices; ++heard) {
    bool is_there = false;
    mpi::Status status;
    check(mpi::messages().probe(notice_tag_, comm_, is_there, status));
    if (!is_there) {
      break;
    }
    // Small and already here, so this receive does not wait.
    Notice notice{};
    check(mpi::messages().receive(std::as_writable_bytes(std::span(&notice, 1)), status.source,
                                  notice_tag_, comm_));
    hear(notice, status.source, here);
  }
  if (has_left()) {
    const Place place = here();
    if (is_collective(place.verb) && place.part == 0) {
      require_all(place.call);
    }
  }
}

void MpiWatch::hear(const Notice& notice, int from, const Here& here) {
  const std::string text(notice.text, static_cast<std::size_t>(notice.text_bytes));
  if (notice.kind == Kind::gone) {
    become_failed(static_cast<Code>(notice.code), notice.error_rank, text);
    throw Error(code_, text_, error_rank_);
  }
  if (notice.kind == Kind::left) {
    note_left({notice.call, Error(static_cast<Code>(notice.code), text, notice.error_rank)});
    return;
  }
  Place theirs{
      static_cast<Verb>(notice.verb), notice.call, notice.tag, {}, notice.part, notice.outer_calls};
  theirs.peers.assign(notice.peers, notice.peers + notice.peer_count);
  reports_[from] = std::move(theirs);
  if (notice.kind == Kind::ask) {
    askers_.insert(from);
    tell(from, Kind::here, here(), "");
  }
}

void MpiWatch::tell(int to, Kind kind, const Place& here, const std::string& text) {
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
  notice.code = static_cast<std::int32_t>(kind == Kind::left ? left_.why.code() : code_);
  notice.error_rank = kind == Kind::left ? left_.why.rank() : error_rank_;
  notice.verb = static_cast<std::int32_t>(here.verb);
  notice.call = here.call;
  notice.part = here.part;
  notice.outer_calls = here.outer_calls;
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

/// All of them hear of it in the end, for each passes it on.
void MpiWatch::tell_others(Kind kind, const Place& here, const std::string& text) {
  std::set<int> others(asked_);
  others.insert(askers_.begin(), askers_.end());
  for (int distance = 1; distance < size_; distance *= 2) {
    others.insert((rank_ + distance) % size_);
    others.insert((rank_ - distance + size_) % size_);
  }
  others.erase(rank_);
  for (int other : others) {
    tell(other, kind, here, text);
  }
}

void MpiWatch::become_failed(Code code, int rank, const std::string& text) {
  if (failed_) {
    return;
  }
  failed_ = true;
  code_ = code;
  error_rank_ = rank;
  text_ = text;
  tell_others(Kind::gone, {}, text_);
}

void MpiWatch::fail(Code code, const std::string& text) {
  become_failed(code, rank_, text);
  throw Error(code_, text_, error_rank_);
}

void MpiWatch::throw_failure(const std::string& prefix) const {
  throw Error(code_, prefix + "not possible after an earlier failure: " + text_, error_rank_);
}

void MpiWatch::leave(const Error& why) {
  if (!failed_ && size_ > 1) {
    note_left({calls_, why});
  }
}

/// Of several ranks that have left the first one counts: later collectives need it, too.
void MpiWatch::note_left(const Left& left) {
  if (left.last_call >= left_.last_call) {
    return;
  }
  left_ = left;
  Place last;
  last.call = left_.last_call;
  tell_others(Kind::left, last, left_.why.what());
}

std::exception_ptr MpiWatch::left() const {
  return has_left() ? std::make_exception_ptr(Error(left_.why)) : nullptr;
}

void MpiWatch::require_all(std::int64_t call) const {
  if (call > left_.last_call) {
    throw Error(left_.why);
  }
}

/// fail() unless `result` is mpi::success.
void MpiWatch::check(int result) {
  if (result != mpi::success) {
    fail(Code::mpi, "sluice: rank " + std::to_string(rank_) + ": " + mpi_failure_text(result));
  }
}

}  // namespace sluice::exec
