#include "commit/session/sessions.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "commit/write/choice.hpp"
#include "exec/device_memory.hpp"
#include "exec/transport/waiting.hpp"
#include "model/clock.hpp"
#include "model/raised.hpp"
#include "model/size_text.hpp"
#include "sluice/error.hpp"

namespace sluice::commit {

namespace {

constexpr auto ask_the_opener_again = std::chrono::milliseconds(100);
/// Interval at which a waiting call checks again.
constexpr auto look_again = std::chrono::microseconds(20);
/// Rank 0 knows which ranks have not arrived at a barrier, so its timeout comes first.
constexpr double rank_0_first = 1.25;
/// After this share of the timeout a rank in a barrier reports for whom it waits.
constexpr double late_share = 0.125;

}  // namespace

/// The files that a thread has opened: waiting for one of them may need progress of the others.
/// Another thread may destroy one.
struct SessionFiles {
  std::mutex mutex;
  std::vector<Sessions*> files;

  static std::shared_ptr<SessionFiles> of_thread() {
    thread_local const auto own = std::make_shared<SessionFiles>();
    return own;
  }
};

Sessions::Sessions(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
                   const std::string& path, Opening opening, const Options& options)
    : transport_(transport),
      storage_(std::move(storage)),
      place_(agreed_place(transport, *storage_, path)),
      opening_(opening),
      options_(options),
      beside_(SessionFiles::of_thread()),
      messages_(transport, place_.path),
      homes_(transport.rank(), opening == Opening::read, calls_) {
  if (storage_->ranks_together() != 0) {
    throw Error(Code::unsupported, place_.path + ": sessions do not work with storage " +
                                       storage_->name() + ": use direct or posix");
  }
  Options chosen = options_;
  if (reads()) {
    chosen.writers = options_.readers;
  }
  const plan::WriterChoice choice = choose_writers(chosen, place_.facts);
  const plan::Topology topology = topology_of(transport_, choice);
  tiles_ = plan::SessionTiles(plan::writer_list(topology, choice), choice.tile_bytes);
  piece_bytes_ = session_piece_bytes(tiles_, options_.budget_bytes);
  owner_ = std::make_unique<SessionOwner>(transport_, *storage_, place_.path, opening_, options_,
                                          tiles_);
  set_handlers();
  const std::lock_guard lock(beside_->mutex);
  beside_->files.push_back(this);
}

Sessions::~Sessions() {
  {
    const std::lock_guard lock(beside_->mutex);
    std::erase(beside_->files, this);
  }
  owner_.reset();
}

/// Handlers of messages of other ranks, with the lock of this file held.
void Sessions::set_handlers() {
  SessionMessages::Handlers on;
  on.piece = [this](int from, const SessionPart& part, std::uint64_t offset,
                    std::span<const std::byte> bytes) {
    owner_->writer().take(part, from, offset, bytes);
  };
  on.finalize = [this](const SessionPart& part) { owner_->writer().finalize(part); };
  on.read_ahead = [this](const SessionPart& part) { owner_->reader().read_ahead(part); };
  on.forget = [this](const SessionKey& key) { owner_->reader().forget(key); };
  on.question = [this](const SessionReader::Question& asked) { owner_->reader().ask(asked); };
  on.outcome = [this](const SessionKey& key, int owner, const std::exception_ptr& failure) {
    if (SessionHome* home = homes_.note_outcome(key, owner, failure)) {
      write_after(*home);
    }
  };
  on.answer = [this](std::uint64_t number, const plan::ByteRange& range,
                     std::span<const std::byte> bytes, const std::exception_ptr& failure) {
    reads_.answer(number, range, bytes, failure);
  };
  on.arrived = [this](int from, std::uint64_t number, std::uint64_t reports) {
    barrier_.arrive(from, number, reports);
  };
  on.report = [this](int from, std::uint64_t number, std::uint64_t come) {
    barrier_.note_report(from, number, come);
  };
  on.released = [this](std::uint64_t number) { barrier_.release(number); };
  messages_.set_handlers(std::move(on));
}

void Sessions::require(bool is_reading, const char* what) const {
  if (!is_open_) {
    throw Error(Code::wrong_state, place_.path + ": " + what + ": is closed");
  }
  if (is_reading != reads()) {
    throw Error(Code::wrong_state, place_.path + ": " + what + ": was opened for " +
                                       (reads() ? "reading" : "writing"));
  }
}

SessionPart Sessions::start(const plan::ByteRange& range, Handlers handlers) {
  require(reads(), "session");
  if (range.offset > (std::uint64_t{1} << 63) - range.bytes || range.bytes >> 63 != 0) {
    throw Error(Code::out_of_bounds, place_.path + ": session: ends beyond the largest file");
  }
  const std::lock_guard lock(mutex_);
  const std::vector<int> owners = tiles_.owners_of(range);
  SessionHome& home = homes_.begin(range, std::move(handlers), owners);
  const SessionPart part = home.part;
  for (const int owner : reads() ? owners : std::vector<int>{}) {
    messages_.send_read_ahead(owner, part);
  }
  if (owners.empty()) {
    reads() || home.handlers.after.empty() ? homes_.settle(home) : write_after(home);
  }
  return part;
}

/// The piece that begins at `offset`, as readers cut cells.
plan::ByteRange Sessions::piece_at(std::uint64_t offset, std::uint64_t end) const {
  const std::uint64_t in_tile = offset % tiles_.tile_bytes();
  const std::uint64_t to_cell = piece_bytes_ - in_tile % piece_bytes_;
  return {offset, std::min({to_cell, tiles_.tile_bytes() - in_tile, end - offset})};
}

namespace {

void require_inside(const std::string& path, const char* what, const plan::ByteRange& session,
                    std::uint64_t offset, std::uint64_t bytes) {
  if (offset < session.offset || offset > session.end() || bytes > session.end() - offset) {
    throw Error(Code::out_of_bounds,
                path + ": " + what + ": " + std::to_string(bytes) + " bytes at " +
                    std::to_string(offset) + " are not inside the session of " +
                    std::to_string(session.bytes) + " bytes at " + std::to_string(session.offset));
  }
}

}  // namespace

void Sessions::write(const SessionPart& part, std::uint64_t offset,
                     std::span<const std::byte> bytes) {
  require(false, "write");
  require_inside(place_.path, "write", part.range, offset, bytes.size());
  exec::refuse_device_memory(bytes.data(), [&] { return place_.path + ": write"; });
  std::unique_lock lock(mutex_);
  std::uint64_t given = give_some(part, offset, bytes);
  while (given < bytes.size()) {
    make_room(lock, piece_at(offset + given, offset + bytes.size()).bytes);
    given += give_some(part, offset + given, bytes.subspan(given));
  }
}

std::uint64_t Sessions::write_some(const SessionPart& part, std::uint64_t offset,
                                   std::span<const std::byte> bytes) {
  require(false, "write");
  require_inside(place_.path, "write", part.range, offset, bytes.size());
  exec::refuse_device_memory(bytes.data(), [&] { return place_.path + ": write"; });
  const std::lock_guard lock(mutex_);
  return give_some(part, offset, bytes);
}

/// Sends to their owners, with the lock held, as far as there is space; returns how far.
std::uint64_t Sessions::give_some(const SessionPart& part, std::uint64_t offset,
                                  std::span<const std::byte> bytes) {
  std::uint64_t given = 0;
  while (given < bytes.size()) {
    const plan::ByteRange piece = piece_at(offset + given, offset + bytes.size());
    const std::span<const std::byte> text = bytes.subspan(given, piece.bytes);
    const int owner = tiles_.owner_of(piece.offset);
    if (owner == transport_.rank()) {
      owner_->writer().take(part, owner, piece.offset, text);
    } else if (has_room(piece.bytes)) {
      messages_.send_piece(owner, part, piece.offset, text);
    } else {
      break;
    }
    given += piece.bytes;
  }
  return given;
}

/// May this many more bytes be in flight from here?
bool Sessions::has_room(std::uint64_t bytes) const {
  const std::uint64_t held = messages_.held_bytes();
  return held == 0 || held + bytes <= options_.budget_bytes / 2;
}

/// Everything else is on disk.
void Sessions::write_after(SessionHome& home) {
  const std::vector<std::byte> bytes = std::move(home.handlers.after);
  const plan::ByteRange range{home.handlers.after_offset, bytes.size()};
  home.part.key.phase = 1;
  home.part.range = range;
  for (const int owner : tiles_.owners_of(range)) {
    home.owners_left.insert(owner);
  }
  for (std::uint64_t at = range.offset; at < range.end();) {
    const plan::ByteRange piece = piece_at(at, range.end());
    messages_.send_piece(tiles_.owner_of(at), home.part, at,
                         std::span(bytes).subspan(at - range.offset, piece.bytes));
    at = piece.end();
  }
}

/// With the lock of this file held.
bool Sessions::move_on() {
  messages_.flush();
  bool moved = messages_.poll();
  moved = owner_->move_on(messages_) || moved;
  if (moved) {
    moved_.notify_all();
  }
  return moved;
}

/// With the lock of this file held: also progresses the other files of the thread. One that a
/// thread is writing to is skipped: two locks taken in any order could deadlock.
bool Sessions::move_all() {
  bool moved = move_on();
  const std::lock_guard files_lock(beside_->mutex);
  for (Sessions* const other : beside_->files) {
    if (other != this && other->process_.is_here() && other->is_open_) {
      const std::unique_lock lock(other->mutex_, std::try_to_lock);
      moved = (lock && other->move_on()) || moved;
    }
  }
  return moved;
}

/// Waits until this many more bytes may be in flight from here.
void Sessions::make_room(std::unique_lock<std::mutex>& lock, std::uint64_t bytes) {
  double moved_s = model::now_s();
  std::uint64_t before = 0;
  while (!has_room(bytes)) {
    const std::uint64_t held = messages_.held_bytes();
    if (std::this_thread::get_id() == thread_) {
      if (!leaving_.require_all(move_all()) && transport_.runs_at_once()) {
        lock.unlock();
        std::this_thread::sleep_for(look_again);
        lock.lock();
      }
    } else {
      moved_.wait_for(lock, ask_the_opener_again);
    }
    const double now_s = model::now_s();
    moved_s = held == before ? moved_s : now_s;
    before = held;
    if (options_.timeout_s > 0 && now_s - moved_s > options_.timeout_s) {
      expire("write: space for " + std::to_string(bytes) + " bytes more than the " +
             std::to_string(held) + " in flight to ranks " +
             exec::list_ranks(messages_.unacknowledged_ranks()) +
             (std::this_thread::get_id() == thread_
                  ? ""
                  : ", which the thread that opened the file moves on by poll()"));
    }
  }
}

void Sessions::expire(const std::string& what) const {
  throw Error(Code::timeout,
              exec::rank_prefix(transport_.rank()) + place_.path + ": waited " +
                  model::seconds_text(options_.timeout_s) + " for " + what,
              transport_.rank());
}

void Sessions::read(const SessionPart& part, std::uint64_t offset, std::span<std::byte> into,
                    Done done) {
  require(true, "read");
  require_inside(place_.path, "read", part.range, offset, into.size());
  exec::refuse_device_memory(into.data(), [&] { return place_.path + ": read"; });
  std::vector<plan::ByteRange> pieces;
  for (std::uint64_t at = offset; at < offset + into.size(); at = pieces.back().end()) {
    pieces.push_back(piece_at(at, offset + into.size()));
  }
  const std::lock_guard lock(mutex_);
  const std::uint64_t number = reads_.begin(offset, into, pieces.size(), std::move(done));
  for (const plan::ByteRange& piece : pieces) {
    messages_.send_question(tiles_.owner_of(piece.offset), number, piece);
  }
}

void Sessions::end(const SessionPart& part) {
  require(true, "end of a session");
  const std::lock_guard lock(mutex_);
  if (homes_.find(part) == nullptr) {
    throw Error(Code::wrong_state, place_.path +
                                       ": end of a session: the session is not one that this "
                                       "rank has begun");
  }
  homes_.forget(part);
  for (const int owner : tiles_.owners_of(part.range)) {
    messages_.send_forget(owner, part.key);
  }
}

void Sessions::run_calls() {
  if (is_calling_) {
    return;  // within a callback
  }
  const model::Raised calling(is_calling_);
  while (true) {
    std::function<void()> call;
    {
      const std::lock_guard lock(mutex_);
      if (calls_.empty()) {
        return;
      }
      call = std::move(calls_.front());
      calls_.pop_front();
    }
    try {
      call();
    } catch (...) {
      if (!keeps_call_failures_) {
        throw;
      }
      call_failure_ = call_failure_ ? call_failure_ : std::current_exception();
    }
  }
}

/// Makes progress and calls back until `ready()`, which is called with the lock held.
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
      leaving_.require_all(moved);
      const double now_s = model::now_s();
      moved_s = moved ? now_s : moved_s;
      if (options_.timeout_s > 0 && now_s - moved_s > limit_s) {
        const std::vector<int> absent = barrier_.absent();
        expire(what + (absent.empty() ? "" : "; not come: ranks " + exec::list_ranks(absent)) +
               (messages_.is_idle() ? ""
                                    : "; not heard by ranks " +
                                          exec::list_ranks(messages_.unacknowledged_ranks())));
      }
    }
    run_calls();
    if (!moved && transport_.runs_at_once()) {
      std::this_thread::sleep_for(look_again);
    }
  }
  run_calls();
}

void Sessions::poll() {
  if (!is_open_) {
    throw Error(Code::wrong_state, place_.path + ": poll: is closed");
  }
  {
    const std::lock_guard lock(mutex_);
    leaving_.require_all(move_on());
  }
  run_calls();
}

void Sessions::wait(const SessionPart& part) {
  if (part.key.home != transport_.rank()) {
    throw Error(Code::wrong_state, place_.path + ": wait: the session was begun by rank " +
                                       std::to_string(part.key.home) + ", which waits for it");
  }
  std::exception_ptr failure;
  until("a session of " + std::to_string(part.range.bytes) + " bytes", [&] {
    const SessionHome* home = homes_.find(part);
    failure = home == nullptr ? nullptr : home->failure;
    return home == nullptr || home->is_settled;
  });
  if (failure) {
    std::rethrow_exception(failure);
  }
}

void Sessions::wait_for_reads() {
  std::exception_ptr failure;
  until("answers to reads", [&] {
    if (!reads_.empty()) return false;
    failure = reads_.take_failure();
    return true;
  });
  if (failure) {
    std::rethrow_exception(failure);
  }
}

/// Collective, but by messages: requests of others are served meanwhile.
void Sessions::barrier(const std::string& what) {
  until(what + ": its messages to be heard", [&] { return messages_.is_idle(); });
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = barrier_.enter();
  }
  const double late_s = model::now_s() + late_share * options_.timeout_s;
  until(what + ": all ranks to come", [&] {
    if (options_.timeout_s > 0 && model::now_s() > late_s) barrier_.be_late(number);
    return barrier_.has_released(number);
  });
}

std::exception_ptr Sessions::failure_of(const std::optional<SessionKey>& only) {
  const std::lock_guard lock(mutex_);
  const std::exception_ptr failure = homes_.failure_of(only);
  return failure || only ? failure : owner_->stray();
}

/// Collective: no rank writes any more, to one session or to all. A promised `ready` is called.
/// The failure is returned; after that of a callback the rank takes part to the end all the same.
std::exception_ptr Sessions::end_all(const std::optional<SessionKey>& only) {
  const model::Raised keeping(keeps_call_failures_);
  const std::string what = only ? "the close of a session" : "the close";
  if (reads()) {
    until(what + ": what is read ahead", [&] { return homes_.all_settled(); });
  }
  barrier(what);
  if (!reads()) {
    {
      const std::lock_guard lock(mutex_);
      for (const SessionHome* home : homes_.unsettled(only)) {
        for (const int owner : home->owners_left) {
          messages_.send_finalize(owner, home->part);
        }
      }
    }
    for (int phase = 0; phase < 2; ++phase) {
      barrier(what);
      {
        const std::lock_guard lock(mutex_);
        owner_->drain(messages_);
      }
      barrier(what);
    }
  }
  until(what, [&] { return messages_.is_idle() && reads_.empty(); });
  const std::exception_ptr of_call = std::exchange(call_failure_, nullptr);
  return of_call ? of_call : failure_of(only);
}

void Sessions::close(const SessionPart& part) {
  require(false, "close of a session");
  const SessionKey only{part.key.home, part.key.number, 0};
  exec::agree(transport_, end_all(only));
}

void Sessions::close() {
  if (!is_open_) {
    throw Error(Code::wrong_state, place_.path + ": is closed already");
  }
  std::exception_ptr failure;
  try {
    failure = end_all(std::nullopt);
    if (options_.durability == Durability::close) {
      owner_->sync();
    }
  } catch (const Error& e) {
    if (exec::ranks_unreachable(e)) {
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
  owner_->close();
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace sluice::commit
