// An owner of tiles in sessions that read: reads ahead, and answers requests.
//
// Invariants: a cell (a tile, or a piece of one of the maximal length) is read once as long as it
// is kept, whoever requests it; at most cells_max_ cells are kept; the least recently used are
// evicted first, and none for which a request waits; one that could not be read is kept until the
// requests that wait for it are answered, as the failure may pass; the thread only reads the file;
// every request gets one answer.
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
  /// No more of the session will be requested; with the last session the memory is freed.
  void forget(const SessionKey& key);
  /// Starts what can be started, and reports what is complete.
  News news();
  bool pump() { return thread_.pump(); }

 private:
  struct Cell {
    std::vector<std::byte> bytes;  ///< the thread's until is_there
    std::exception_ptr failure;
    bool is_there = false;  ///< under the mutex
    std::uint64_t last_use = 0;
  };
  struct Ahead {
    std::vector<plan::ByteRange> cells;
    std::size_t next = 0;  ///< those before are requested
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
