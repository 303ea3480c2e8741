// A file of plain bytes that any rank writes or reads in sessions, without collective calls.
//
// A session is a range of the file. Whoever has its SessionPart writes any of its bytes, in any
// order; the owners of tiles gather and write them (session_writer), and tell the session's home,
// the rank that started it, when their share is there. Reading is the same way backwards
// (session_reader).
//
// Invariants: every byte of a session is written once, or the session fails with the names of both
// who wrote it; `complete` is called once, after the last byte is on disk; bytes `after` are
// written when all others are, and before `complete`; what is staged on a rank stays within
// Options::budget_bytes: a call that would exceed it moves things on until it does not; callbacks
// are called within poll(), wait() and close() only, by the thread that opened the file, which is
// the only one that uses the transport. Other threads may call write(). Whoever waits moves on all
// files of the thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "commit/session/session_reader.hpp"
#include "commit/session/session_writer.hpp"
#include "exec/transport/active_messages.hpp"
#include "sluice/options.hpp"
#include "storage/own_process.hpp"

namespace sluice::commit {

/// One that waits looks again so often.
inline constexpr auto sessions_look_again = std::chrono::microseconds(20);

class Sessions {
 public:
  enum class Opening : std::uint8_t {
    read,
    write,   ///< what was there is cut off
    create,  ///< Error exists where it is there
    append,  ///< what is there stays
  };
  using Done = std::function<void(const std::exception_ptr& failure)>;
  struct Handlers {
    std::function<void()> ready = {};
    Done complete = {};
    std::uint64_t after_offset = 0;
    std::vector<std::byte> after = {};
  };

  /// Collective. Error unsupported for storages whose ranks must write together.
  Sessions(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
           const std::string& path, Opening opening, const Options& options);
  ~Sessions();
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;

  const std::string& path() const noexcept { return path_; }
  bool reads() const noexcept { return opening_ == Opening::read; }
  bool is_open() const noexcept { return is_open_; }

  /// Local. Of a file opened for reading: `ready` when its beginning is in the readers' memory;
  /// then `complete` and `after` mean nothing.
  SessionPart start(const plan::ByteRange& range, Handlers handlers);
  /// Local; copies. Error out_of_bounds outside the session.
  void write(const SessionPart& part, std::uint64_t offset, std::span<const std::byte> bytes);
  /// The same of as many of the first bytes as the budget has room for; answers how many. Waits for
  /// the disk at most.
  std::uint64_t write_some(const SessionPart& part, std::uint64_t offset,
                           std::span<const std::byte> bytes);
  /// Local. `into` must stay until `done` is called.
  void read(const SessionPart& part, std::uint64_t offset, std::span<std::byte> into, Done done);
  /// Local, on the home: the readers may forget a session that reads.
  void end(const SessionPart& part);
  /// Local: moves on what can be moved without waiting, and calls back.
  void poll();
  /// Local, on the home: until the session is complete (reading: ready). Throws its failure.
  void wait(const SessionPart& part);
  /// Local: until all reads of this rank were answered.
  void wait_for_reads();
  /// Collective: nobody writes to the session any more. What it lacks is Error hole, on every rank.
  void close(const SessionPart& part);
  /// Collective: the same of all sessions, and of the file.
  void close();

 private:
  struct Home {
    SessionPart part;
    Handlers handlers;
    std::set<int> owners_left;
    bool is_ready = false;
    bool is_settled = false;
    std::exception_ptr failure;
  };
  struct Reading {
    std::span<std::byte> into;
    std::uint64_t offset = 0;
    std::size_t pieces_left = 0;
    Done done;
    std::exception_ptr failure;
  };

  // sessions.cpp: what callers do
  void open_files();
  void take_role();
  void require(bool is_reading, const char* what) const;
  Home& home_of(const SessionPart& part, const char* what);
  plan::ByteRange piece_at(std::uint64_t offset, std::uint64_t end) const;
  std::uint64_t give_some(const SessionPart& part, std::uint64_t offset,
                          std::span<const std::byte> bytes);
  bool has_room(std::uint64_t bytes) const;
  bool move_all();
  void make_room(std::unique_lock<std::mutex>& lock, std::uint64_t bytes);
  [[noreturn]] void expire(const std::string& what);
  std::string absent_ranks() const;
  template <class Ready>
  void until(const std::string& what, Ready&& ready);
  void run_calls();
  bool all_homes_settled() const;
  void finish(std::optional<SessionKey> only);
  void barrier(const std::string& what);
  void finalize(const std::optional<SessionKey>& only);
  void drain();
  std::exception_ptr failure_of(const std::optional<SessionKey>& only);

  // sessions_messages.cpp: what ranks tell each other; under the lock
  bool move_on();
  bool move_writer();
  bool move_reader();
  void send_drafts();
  void draft_piece(int to, const SessionPart& part, std::uint64_t offset,
                   std::span<const std::byte> bytes);
  void handle(int from, std::span<const std::byte> message);
  void handle_pieces(int from, std::span<const std::byte> message);
  void handle_answer(std::span<const std::byte> message);
  void handle_meeting(int from, std::uint64_t number);
  void note_outcome(const SessionKey& key, int owner, const std::exception_ptr& failure);
  void write_after(Home& home);
  void tell_to_judge(const Home& home);
  void tell_to_read_ahead(const Home& home);
  void tell_to_forget(const SessionPart& part);
  void ask(const plan::ByteRange& piece);
  void arrive(std::uint64_t barrier);
  void settle(Home& home);

  exec::Transport& transport_;
  const std::shared_ptr<storage::Storage> storage_;
  const std::string path_;
  const Opening opening_;
  const Options options_;
  const storage::OwnProcess process_;
  const std::thread::id thread_ = std::this_thread::get_id();
  plan::SessionTiles tiles_;
  std::uint64_t piece_bytes_ = 1;
  std::unique_ptr<storage::File> file_;  ///< of owners
  bool is_open_ = true;
  bool is_calling_ = false;

  std::mutex mutex_;  ///< all below
  std::condition_variable moved_;
  exec::ActiveMessages messages_;
  std::map<int, std::vector<std::byte>> drafts_;
  std::uint64_t draft_bytes_ = 0;
  std::uint32_t started_ = 0;
  std::map<std::uint32_t, Home> homes_;  ///< not settled, or failed
  std::exception_ptr first_failure_;     ///< of a session of this home
  std::map<std::uint64_t, Reading> readings_;
  std::uint64_t asked_ = 0;  ///< number of the last of them
  std::deque<std::function<void()>> calls_;
  std::uint64_t meetings_ = 0;
  std::map<std::uint64_t, std::set<int>> came_;  ///< rank 0: who to which barrier
  std::uint64_t met_ = 0;
  std::unique_ptr<SessionWriter> writer_;  // its thread uses file_
  std::unique_ptr<SessionReader> reader_;
};

}  // namespace sluice::commit
