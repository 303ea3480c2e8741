// What an owner of tiles does for sessions that read: reads ahead, and answers who asks.
//
// Invariants: a cell (a tile, or what a piece of one is at most) is read once as long as it is
// kept, whoever asks for it; at most cells_max() cells are kept, the least recently used go first
// and none that somebody waits for; the thread only reads the file; every question gets one answer.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "commit/session/session_writer.hpp"

namespace sluice::commit {

class SessionReader {
 public:
  struct Config {
    storage::File& file;
    const plan::SessionTiles& tiles;
    int rank = 0;
    std::uint64_t budget_bytes = 0;
    exec::Pace pace = exec::Pace::in_thread;
  };
  struct Question {
    int from = 0;
    std::uint64_t number = 0;  ///< of the asker's own counting
    plan::ByteRange range;     ///< within one cell
  };
  struct Answer {
    Question question;
    std::vector<std::byte> bytes;
    std::exception_ptr failure;
  };
  struct News {
    std::vector<Answer> answers;
    std::vector<SessionKey> ready;  ///< sessions whose beginning is in memory
  };

  explicit SessionReader(const Config& config);

  /// Begins to read this rank's tiles of the session, as far as they fit.
  void read_ahead(const SessionPart& part);
  void ask(const Question& question) { asked_.push_back(question); }
  /// No more of the session will be asked for; with the last one the memory is given back.
  void forget(const SessionKey& key);
  /// Begins what can be begun, and tells what has come.
  News news();
  bool pump() { return thread_.pump(); }
  std::size_t cells_max() const { return cells_max_; }

 private:
  struct Cell {
    std::vector<std::byte> bytes;  ///< the thread's until is_there
    std::exception_ptr failure;
    bool is_there = false;  ///< under the mutex
    std::uint64_t last_use = 0;
  };
  struct Ahead {
    std::vector<plan::ByteRange> cells;
    std::size_t next = 0;  ///< those before are asked for
  };

  plan::ByteRange cell_of(std::uint64_t offset) const;
  std::shared_ptr<Cell> look_up(std::uint64_t offset);
  bool is_there(const Cell& cell);
  bool drop_one();
  Answer answer(const Question& question, const Cell& cell) const;
  bool go_ahead(Ahead& ahead);

  const Config config_;
  const std::uint64_t cell_bytes_;
  const std::size_t cells_max_;
  std::map<std::uint64_t, std::shared_ptr<Cell>> cells_;  ///< by first byte
  std::deque<Question> asked_;
  std::map<SessionKey, Ahead> ahead_;  ///< of sessions that are not ready
  std::vector<SessionKey> sessions_;
  std::uint64_t clock_ = 0;
  std::mutex mutex_;
  exec::WriteBehind thread_;
};

}  // namespace sluice::commit
