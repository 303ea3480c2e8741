// What an owner of tiles does with the bytes of sessions: gathers them, looks that none comes
// twice, and writes them behind.
//
// Invariants: exactly the bytes that came are written; a byte that came twice fails its session,
// and names both who brought it; at most open_max() tiles are being gathered: for one more the
// oldest is written as far as it came; a session's outcome is told once, after its last byte was
// written (and synced, where that is wanted); all calls but those of the writing thread are made
// under the lock of the sessions.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "exec/write/write_behind.hpp"
#include "plan/session_tiles.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// Names a session among all of a file: who started it, and which of his it is.
struct SessionKey {
  std::int32_t home = 0;
  std::uint32_t number = 0;
  std::uint32_t phase = 0;  ///< 0: its bytes; 1: those that are written after them
  friend auto operator<=>(const SessionKey&, const SessionKey&) = default;
};

/// What every piece of a session says of it, so that owners need not be told before.
struct SessionPart {
  SessionKey key;
  plan::ByteRange range;
};

class SessionWriter {
 public:
  struct Config {
    storage::File& file;
    const plan::SessionTiles& tiles;
    int rank = 0;
    bool gathers = true;
    bool syncs = true;  ///< each session, before its outcome is told
    std::uint64_t budget_bytes = 0;
    exec::Pace pace = exec::Pace::in_thread;
  };
  struct Outcome {
    SessionKey key;
    std::exception_ptr failure;
  };
  /// The runs of so many sessions that are complete are kept, so that a byte that comes twice can
  /// be told from whom it came first; of older ones only that they were complete.
  static constexpr std::size_t finished_max = 64;

  explicit SessionWriter(const Config& config);

  /// Bytes of this rank's tiles, within one tile and the session, brought by rank `from`. Waits for
  /// the disk where all buffers are full. What is wrong with them becomes the session's outcome.
  void take(const SessionPart& part, int from, std::uint64_t offset,
            std::span<const std::byte> bytes);
  /// No more of the session will come: what it lacks becomes its outcome.
  void finalize(const SessionPart& part);
  /// Of the sessions that ended since the last call.
  std::vector<Outcome> outcomes();
  /// Carries out one write where no thread does; false where there was none.
  bool pump() { return writer_.pump(); }
  /// Returns when everything that was gathered is written.
  void drain() { writer_.drain(); }
  /// The first thing that was wrong with bytes of a session whose outcome had been told.
  std::exception_ptr stray() const { return stray_; }
  std::size_t open_max() const { return open_max_; }

 private:
  struct Came {
    std::uint64_t end = 0;
    std::int32_t rank = 0;
  };
  struct Tile {
    std::map<std::uint64_t, Came> runs;  ///< by first byte; all that ever came
    std::vector<plan::ByteRange> fresh;  ///< in the buffer, not written
    exec::Staging* staging = nullptr;
    std::uint64_t missing = 0;
  };
  struct Share {
    plan::ByteRange range;
    std::uint64_t missing = 0;
    std::map<std::uint64_t, Tile> tiles;
    bool has_ended = false;
    std::shared_ptr<std::exception_ptr> failure;  ///< of the writing thread only
  };
  struct Open {
    SessionKey key;
    std::uint64_t tile = 0;
  };

  Share& share_of(const SessionPart& part);
  void note(Tile& tile, int from, std::uint64_t offset, std::uint64_t bytes) const;
  void copy(const SessionKey& key, Share& share, std::uint64_t number, std::uint64_t offset,
            std::span<const std::byte> bytes);
  void write_tile(Share& share, std::uint64_t number, Tile& tile);
  void make_room();
  void end(const SessionKey& key, Share& share, const std::exception_ptr& failure);
  void forget_old();
  void tell(const SessionKey& key, const std::exception_ptr& failure);

  const Config config_;
  std::uint64_t buffer_bytes_;
  std::size_t open_max_;
  std::map<SessionKey, Share> shares_;
  std::deque<SessionKey> finished_;
  std::deque<Open> open_;
  std::exception_ptr stray_;
  std::mutex mutex_;  ///< outcomes_
  std::vector<Outcome> outcomes_;
  exec::WriteBehind writer_;
};

/// The largest piece that a session's bytes are cut into on their way to their owner.
std::uint64_t session_piece_bytes(const plan::SessionTiles& tiles, std::uint64_t budget_bytes);

}  // namespace sluice::commit
