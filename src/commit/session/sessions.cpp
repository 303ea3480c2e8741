#include "commit/session/sessions.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "commit/publish/real_path.hpp"
#include "commit/write/choice.hpp"
#include "exec/device_memory.hpp"
#include "exec/transport/agree.hpp"
#include "model/clock.hpp"
#include "sluice/error.hpp"

namespace sluice::commit {

namespace {

constexpr auto ask_the_opener_again = std::chrono::milliseconds(100);

/// The files that this thread has opened: what one of them waits for may need the others to go on.
std::vector<Sessions*>& files_of_thread() {
  thread_local std::vector<Sessions*> files;
  return files;
}

}  // namespace

Sessions::Sessions(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
                   const std::string& path, Opening opening, const Options& options)
    : transport_(transport),
      storage_(std::move(storage)),
      path_(agreed_path(transport, *storage_, path)),
      opening_(opening),
      options_(options),
      messages_(transport) {
  if (storage_->ranks_together() != 0) {
    throw Error(Code::unsupported, path_ + ": sessions do not work with storage " +
                                       storage_->name() + ": use direct or posix");
  }
  Options chosen = options_;
  if (reads()) {
    chosen.writers = options_.readers;
  }
  const plan::WriterChoice choice = choose_writers(transport_, *storage_, path_, chosen);
  const plan::Topology topology = topology_of(transport_, choice);
  tiles_ = plan::SessionTiles(plan::writer_list(topology, choice), choice.tile_bytes);
  piece_bytes_ = session_piece_bytes(tiles_, options_.budget_bytes);
  open_files();
  if (file_) {
    take_role();
  }
  files_of_thread().push_back(this);
}

/// On owners.
void Sessions::take_role() {
  const bool has_thread = storage_->in_background() && transport_.runs_at_once();
  const exec::Pace pace = has_thread ? exec::Pace::in_thread : exec::Pace::when_asked;
  if (reads()) {
    reader_ = std::make_unique<SessionReader>(
        SessionReader::Config{*file_, tiles_, transport_.rank(), options_.budget_bytes, pace});
    return;
  }
  // Tiles that are too large to hold a few of are written as they come.
  const bool gathers = options_.coalesce && tiles_.tile_bytes() <= options_.budget_bytes / 8;
  const bool syncs =
      options_.durability == Durability::step || options_.durability == Durability::automatic;
  writer_ = std::make_unique<SessionWriter>(SessionWriter::Config{
      *file_, tiles_, transport_.rank(), gathers, syncs, options_.budget_bytes, pace});
}

Sessions::~Sessions() {
  std::erase(files_of_thread(), this);
  writer_.reset();
  reader_.reset();
}

/// Collective: the first owner makes the file, then the others find it.
void Sessions::open_files() {
  const bool is_first = transport_.rank() == tiles_.owners()[0];
  const auto open_on = [&](bool opens, auto&& work) {
    std::exception_ptr failure;
    try {
      if (opens) {
        work();
      }
    } catch (...) {
      failure = std::current_exception();
    }
    exec::agree(transport_, failure);
  };
  open_on(is_first, [&] {
    const bool is_new =
        opening_ == Opening::create || (opening_ == Opening::write && !storage_->exists(path_));
    const auto there = reads() ? storage::Access::read : storage::Access::read_write;
    file_ = storage_->open(path_, is_new ? storage::Access::create : there);
    if (opening_ == Opening::write && !is_new) {
      file_->resize(0);
    }
  });
  open_on(!is_first && tiles_.is_owner(transport_.rank()), [&] {
    file_ = storage_->open(path_, reads() ? storage::Access::read : storage::Access::read_write);
  });
}

void Sessions::require(bool is_reading, const char* what) const {
  if (!is_open_) {
    throw Error(Code::wrong_state, path_ + ": " + what + ": is closed");
  }
  if (is_reading != reads()) {
    throw Error(Code::wrong_state,
                path_ + ": " + what + ": was opened for " + (reads() ? "reading" : "writing"));
  }
}

SessionPart Sessions::start(const plan::ByteRange& range, Handlers handlers) {
  require(reads(), "session");
  if (range.offset > (std::uint64_t{1} << 63) - range.bytes || range.bytes >> 63 != 0) {
    throw Error(Code::out_of_bounds, path_ + ": session: ends beyond the largest file");
  }
  const std::lock_guard lock(mutex_);
  const SessionKey key{transport_.rank(), ++started_, 0};
  Home& home = homes_[key.number];
  home.part = {key, range};
  home.handlers = std::move(handlers);
  const std::vector<int> owners = tiles_.owners_of(range);
  home.owners_left.insert(owners.begin(), owners.end());
  const SessionPart part = home.part;
  if (reads()) {
    tell_to_read_ahead(home);
  } else {
    home.is_ready = true;
    if (home.handlers.ready) {
      calls_.push_back(std::move(home.handlers.ready));
    }
  }
  if (owners.empty()) {
    reads() || home.handlers.after.empty() ? settle(home) : write_after(home);
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
  require_inside(path_, "write", part.range, offset, bytes.size());
  exec::refuse_device_memory(bytes.data(), [&] { return path_ + ": write"; });
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
  require_inside(path_, "write", part.range, offset, bytes.size());
  exec::refuse_device_memory(bytes.data(), [&] { return path_ + ": write"; });
  const std::lock_guard lock(mutex_);
  return give_some(part, offset, bytes);
}

/// To their owners, under the lock, as far as there is room; answers how far.
std::uint64_t Sessions::give_some(const SessionPart& part, std::uint64_t offset,
                                  std::span<const std::byte> bytes) {
  std::uint64_t given = 0;
  while (given < bytes.size()) {
    const plan::ByteRange piece = piece_at(offset + given, offset + bytes.size());
    const std::span<const std::byte> text = bytes.subspan(given, piece.bytes);
    const int owner = tiles_.owner_of(piece.offset);
    if (owner == transport_.rank()) {
      writer_->take(part, owner, piece.offset, text);
    } else if (has_room(piece.bytes)) {
      draft_piece(owner, part, piece.offset, text);
    } else {
      break;
    }
    given += piece.bytes;
  }
  return given;
}

/// May so many more bytes be on their way from here?
bool Sessions::has_room(std::uint64_t bytes) const {
  const std::uint64_t held = messages_.unacknowledged_bytes() + draft_bytes_;
  return held == 0 || held + bytes <= options_.budget_bytes / 2;
}

/// Under the lock of this file: also the others of the thread. One that a thread is writing to is
/// left for the next time: two locks waited for in any order could wait for each other.
bool Sessions::move_all() {
  bool moved = move_on();
  for (Sessions* const other : files_of_thread()) {
    if (other != this && other->process_.is_here() && other->is_open_) {
      const std::unique_lock lock(other->mutex_, std::try_to_lock);
      moved = (lock && other->move_on()) || moved;
    }
  }
  return moved;
}

/// Until so many more bytes may be on their way from here.
void Sessions::make_room(std::unique_lock<std::mutex>& lock, std::uint64_t bytes) {
  double moved_s = model::now_s();
  std::uint64_t before = 0;
  while (!has_room(bytes)) {
    const std::uint64_t held = messages_.unacknowledged_bytes() + draft_bytes_;
    if (std::this_thread::get_id() == thread_) {
      if (!move_all() && transport_.runs_at_once()) {
        lock.unlock();
        std::this_thread::sleep_for(sessions_look_again);
        lock.lock();
      }
    } else {
      moved_.wait_for(lock, ask_the_opener_again);
    }
    const double now_s = model::now_s();
    moved_s = held == before ? moved_s : now_s;
    before = held;
    if (options_.timeout_s > 0 && now_s - moved_s > options_.timeout_s) {
      expire("write: room for " + std::to_string(bytes) + " bytes more than the " +
             std::to_string(held) + " that are on their way to ranks " +
             exec::rank_list(messages_.unacknowledged_ranks()) +
             (std::this_thread::get_id() == thread_
                  ? ""
                  : ", which the thread that opened the file moves on by poll()"));
    }
  }
}

/// Rank 0 knows who has not come to a barrier that others wait in.
std::string Sessions::absent_ranks() const {
  std::vector<int> ranks;
  for (int rank = 0; !came_.empty() && rank < transport_.size(); ++rank) {
    if (came_.begin()->second.count(rank) == 0) {
      ranks.push_back(rank);
    }
  }
  return ranks.empty() ? "" : "; not come: ranks " + exec::rank_list(ranks);
}

void Sessions::expire(const std::string& what) {
  throw Error(Code::timeout,
              "rank " + std::to_string(transport_.rank()) + ": " + path_ + ": waited " +
                  std::to_string(options_.timeout_s) + " s for " + what,
              transport_.rank());
}

void Sessions::read(const SessionPart& part, std::uint64_t offset, std::span<std::byte> into,
                    Done done) {
  require(true, "read");
  require_inside(path_, "read", part.range, offset, into.size());
  exec::refuse_device_memory(into.data(), [&] { return path_ + ": read"; });
  const std::lock_guard lock(mutex_);
  Reading& reading = readings_[++asked_];
  reading.into = into;
  reading.offset = offset;
  const std::uint64_t end = offset + into.size();
  while (offset < end) {
    const plan::ByteRange piece = piece_at(offset, end);
    ask(piece);
    ++reading.pieces_left;
    offset = piece.end();
  }
  reading.done = std::move(done);
  if (reading.pieces_left == 0) {
    if (reading.done) {
      calls_.push_back([call = std::move(reading.done)] { call(nullptr); });
    }
    readings_.erase(asked_);
  }
}

void Sessions::end(const SessionPart& part) {
  require(true, "end of a session");
  const std::lock_guard lock(mutex_);
  home_of(part, "end of a session");
  homes_.erase(part.key.number);
  tell_to_forget(part);
}

Sessions::Home& Sessions::home_of(const SessionPart& part, const char* what) {
  const auto found = homes_.find(part.key.number);
  if (part.key.home != transport_.rank() || found == homes_.end()) {
    throw Error(Code::wrong_state,
                path_ + ": " + what + ": the session is not one that this rank has begun");
  }
  return found->second;
}

void Sessions::run_calls() {
  if (is_calling_) {
    return;  // within a callback
  }
  is_calling_ = true;
  while (true) {
    std::function<void()> call;
    {
      const std::lock_guard lock(mutex_);
      if (calls_.empty()) {
        break;
      }
      call = std::move(calls_.front());
      calls_.pop_front();
    }
    try {
      call();
    } catch (...) {
      is_calling_ = false;
      throw;
    }
  }
  is_calling_ = false;
}

}  // namespace sluice::commit
