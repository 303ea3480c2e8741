// A file of plain bytes that any rank writes or reads in sessions, without collective calls.
//
// A session is a range of the file. Any holder of its SessionPart writes any of its bytes, in any
// order; the owners of tiles gather and write them (session_writer), and notify the session's home,
// the rank that started it, when their share is complete. Reading is the reverse (session_reader).
//
// Invariants: every byte of a session is written once, or the session fails with the names of both
// ranks that wrote it; `complete` is called once, after the last byte is on disk; bytes `after` are
// written when all others are, and before `complete`; the staging of a rank stays within
// Options::budget_bytes: a call that would exceed it makes progress until it does not; callbacks
// are called within poll(), wait() and close() only, by the thread that opened the file, which is
// the only one that uses the transport. Other threads may call write(). Any waiting call progresses
// all files of the thread.
//
// Size: the calls of a user's SessionFile, and what they need of each other under one lock.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "commit/publish/agreed_path.hpp"
#include "commit/session/session_barrier.hpp"
#include "commit/session/session_homes.hpp"
#include "commit/session/session_leaving.hpp"
#include "commit/session/session_messages.hpp"
#include "commit/session/session_owner.hpp"
#include "commit/session/session_reads.hpp"
#include "exec/transport/agree.hpp"
#include "exec/transport/transport.hpp"
#include "sluice/options.hpp"
#include "storage/own_process.hpp"

namespace sluice::commit {

struct SessionFiles;  ///< in sessions.cpp

class Sessions {
 public:
  using Opening = SessionOpening;
  using Handlers = SessionHandlers;
  using Done = SessionReads::Done;

  /// Collective. Error unsupported for storages whose ranks must write together.
  Sessions(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
           const std::string& path, Opening opening, const Options& options);
  ~Sessions();
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;

  const std::string& path() const noexcept { return place_.path; }
  bool reads() const noexcept { return opening_ == Opening::read; }
  bool is_open() const noexcept { return is_open_; }

  /// Local. For a file opened for reading: `ready` is called when its beginning is in the readers'
  /// memory; `complete` and `after` are ignored.
  SessionPart start(const plan::ByteRange& range, Handlers handlers);
  /// Local; copies. Error out_of_bounds outside the session.
  void write(const SessionPart& part, std::uint64_t offset, std::span<const std::byte> bytes);
  /// The same for as many of the first bytes as the budget has space for; returns how many. Waits
  /// for the disk at most.
  std::uint64_t write_some(const SessionPart& part, std::uint64_t offset,
                           std::span<const std::byte> bytes);
  /// Local. `into` must stay until `done` is called.
  void read(const SessionPart& part, std::uint64_t offset, std::span<std::byte> into, Done done);
  /// Local, on the home: the readers may free a session that reads.
  void end(const SessionPart& part);
  /// Local: makes progress without waiting, and calls back.
  void poll();
  /// Local, on the home: waits until the session is complete (reading: ready). Throws its failure.
  void wait(const SessionPart& part);
  /// Local: waits until all reads of this rank were answered. Throws the first failure of those
  /// without a callback.
  void wait_for_reads();
  /// Collective: no rank writes to the session any more. Missing bytes are Error hole, on every
  /// rank.
  void close(const SessionPart& part);
  /// Collective: the same for all sessions, and for the file.
  void close();
  /// Local: this rank makes no further call, because of `why`. Waits and polls of the others throw
  /// that, once nothing has moved for a second.
  void leave(const std::string& why) noexcept {
    exec::abandon(transport_, place_.path, "the file", why);
  }

 private:
  void require(bool is_reading, const char* what) const;
  void set_handlers();
  plan::ByteRange piece_at(std::uint64_t offset, std::uint64_t end) const;
  std::uint64_t give_some(const SessionPart& part, std::uint64_t offset,
                          std::span<const std::byte> bytes);
  void write_after(SessionHome& home);
  bool has_room(std::uint64_t bytes) const;
  bool move_on();
  bool move_all();
  void make_room(std::unique_lock<std::mutex>& lock, std::uint64_t bytes);
  [[noreturn]] void expire(const std::string& what) const;
  template <class Ready>
  void until(const std::string& what, Ready&& ready);
  void run_calls();
  void barrier(const std::string& what);
  std::exception_ptr end_all(const std::optional<SessionKey>& only);
  std::exception_ptr failure_of(const std::optional<SessionKey>& only);

  exec::Transport& transport_;
  const std::shared_ptr<storage::Storage> storage_;
  const FilePlace place_;
  const Opening opening_;
  const Options options_;
  const storage::OwnProcess process_;
  const std::thread::id thread_ = std::this_thread::get_id();
  const std::shared_ptr<SessionFiles> beside_;  ///< files of the same thread
  plan::SessionTiles tiles_;
  std::uint64_t piece_bytes_ = 1;
  bool is_open_ = true;
  bool is_calling_ = false;
  bool keeps_call_failures_ = false;  ///< the ranks are in a collective call
  std::exception_ptr call_failure_;   ///< the first one of a callback meanwhile
  SessionLeaving leaving_{transport_};

  std::mutex mutex_;  ///< all below
  std::condition_variable moved_;
  SessionMessages messages_;
  std::deque<std::function<void()>> calls_;  ///< callbacks to be made
  SessionHomes homes_;
  SessionReads reads_{calls_};
  SessionBarrier barrier_{transport_.rank(), transport_.size(), messages_};
  std::unique_ptr<SessionOwner> owner_;
};

}  // namespace sluice::commit
