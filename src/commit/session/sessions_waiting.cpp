// What waits for others: until a session is complete, until reads are answered, until all have come
// to the close.
#include <algorithm>
#include <thread>

#include "commit/session/sessions.hpp"
#include "exec/transport/agree.hpp"
#include "model/clock.hpp"
#include "sluice/error.hpp"

namespace sluice::commit {

namespace {

/// Rank 0 is the one that knows who has not come to a barrier, so it speaks first.
constexpr double rank_0_first = 1.25;

}  // namespace

/// Moves things on and calls back until `ready()`, which is asked under the lock.
template <class Ready>
void Sessions::until(const std::string& what, Ready&& ready) {
  double moved_s = model::now_s();
  const double limit_s = options_.timeout_s * (transport_.rank() == 0 ? 1 : rank_0_first);
  while (true) {
    bool moved = false;
    {
      const std::lock_guard lock(mutex_);
      moved = move_all();
      if (ready()) {
        break;
      }
      const double now_s = model::now_s();
      moved_s = moved ? now_s : moved_s;
      if (options_.timeout_s > 0 && now_s - moved_s > limit_s) {
        expire(what + absent_ranks() +
               (messages_.is_idle()
                    ? std::string()
                    : "; not heard by ranks " + exec::rank_list(messages_.unacknowledged_ranks())));
      }
    }
    run_calls();
    if (!moved && transport_.runs_at_once()) {
      std::this_thread::sleep_for(sessions_look_again);
    }
  }
  run_calls();
}

void Sessions::poll() {
  if (!is_open_) {
    throw Error(Code::wrong_state, path_ + ": poll: is closed");
  }
  {
    const std::lock_guard lock(mutex_);
    move_on();
  }
  run_calls();
}

void Sessions::wait(const SessionPart& part) {
  if (part.key.home != transport_.rank()) {
    throw Error(Code::wrong_state, path_ + ": wait: the session was begun by rank " +
                                       std::to_string(part.key.home) + ", which waits for it");
  }
  std::exception_ptr failure;
  until("a session of " + std::to_string(part.range.bytes) + " bytes", [&] {
    const auto found = homes_.find(part.key.number);
    failure = found == homes_.end() ? nullptr : found->second.failure;
    return found == homes_.end() || found->second.is_settled;
  });
  if (failure) {
    std::rethrow_exception(failure);
  }
}

void Sessions::wait_for_reads() {
  until("answers to reads", [&] { return readings_.empty(); });
}

/// Collective, but by messages: what others wait for goes on meanwhile.
void Sessions::barrier(const std::string& what) {
  until(what + ": its messages to be heard",
        [&] { return drafts_.empty() && messages_.is_idle(); });
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = ++meetings_;
    arrive(number);
  }
  until(what + ": all ranks to come", [&] { return met_ >= number; });
}

void Sessions::finalize(const std::optional<SessionKey>& only) {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, home] : homes_) {
    // What is written after all others is its home's own, and on its way.
    if (!home.is_settled && home.part.key.phase == 0 &&
        (!only || *only == SessionKey{home.part.key.home, number, 0})) {
      tell_to_judge(home);
    }
  }
}

/// Everything that came is written, and its homes hear of it.
void Sessions::drain() {
  const std::lock_guard lock(mutex_);
  if (writer_) {
    writer_->drain();
    move_writer();
  }
}

std::exception_ptr Sessions::failure_of(const std::optional<SessionKey>& only) {
  const std::lock_guard lock(mutex_);
  if (!only) {
    return first_failure_ ? first_failure_ : writer_ ? writer_->stray() : nullptr;
  }
  const auto found = homes_.find(only->number);
  return only->home == transport_.rank() && found != homes_.end() ? found->second.failure : nullptr;
}

bool Sessions::all_homes_settled() const {
  return std::all_of(homes_.begin(), homes_.end(),
                     [](const auto& entry) { return entry.second.is_settled; });
}

/// Collective: nobody writes any more, to one session or to all. A promised `ready` is called.
void Sessions::finish(std::optional<SessionKey> only) {
  const std::string what = only ? "the close of a session" : "the close";
  if (reads()) {
    until(what + ": what is read ahead", [&] { return all_homes_settled(); });
  }
  barrier(what);
  if (!reads()) {
    finalize(only);
    for (int phase = 0; phase < 2; ++phase) {
      barrier(what);
      drain();
      barrier(what);
    }
  }
  until(what, [&] { return drafts_.empty() && messages_.is_idle() && readings_.empty(); });
}

void Sessions::close(const SessionPart& part) {
  require(false, "close of a session");
  finish(SessionKey{part.key.home, part.key.number, 0});
  exec::agree(transport_, failure_of(SessionKey{part.key.home, part.key.number, 0}));
}

void Sessions::close() {
  if (!is_open_) {
    throw Error(Code::wrong_state, path_ + ": is closed already");
  }
  std::exception_ptr failure;
  try {
    finish(std::nullopt);
    failure = failure_of(std::nullopt);
    if (file_ && options_.durability == Durability::close) {
      file_->sync();
    }
  } catch (const Error& e) {
    if (e.code() == Code::timeout || e.code() == Code::mpi) {
      is_open_ = false;
      throw;  // the others are not there to agree
    }
    failure = std::current_exception();
  }
  is_open_ = false;
  try {
    exec::agree(transport_, failure);
    failure = nullptr;
  } catch (...) {
    failure = std::current_exception();
  }
  messages_.settle();
  writer_.reset();
  reader_.reset();
  file_.reset();
  if (opening_ != Opening::read && transport_.rank() == 0 &&
      options_.durability != Durability::none) {
    storage_->sync_directory(path_);
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace sluice::commit
