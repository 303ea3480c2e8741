// An owner of tiles in sessions that write: gathers the bytes, detects duplicates, and writes in
// the background.
//
// Invariants: exactly the bytes that arrived are written; a byte that arrives twice fails its
// session with an error that names both ranks; at most open_max_ tiles are being gathered: for one
// more the oldest is written as far as it has arrived; the outcome of a session is reported once,
// after its last byte was written (and synced, if required); all calls but those of the writing
// thread are made with the lock of the sessions held.
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

/// Identifies a session of a file: the rank that started it, and its number there.
struct SessionKey {
  std::int32_t home = 0;
  std::uint32_t number = 0;
  std::uint32_t phase = 0;  ///< 0: its bytes; 1: those that are written after them
  friend auto operator<=>(const SessionKey&, const SessionKey&) = default;
};

/// The properties of a session, sent with every piece, so that owners need not be told before.
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
    bool syncs = true;  ///< each session, before its outcome is reported
    std::uint64_t budget_bytes = 0;
    exec::Pace pace = exec::Pace::in_thread;
  };
  struct Outcome {
    SessionKey key;
    std::exception_ptr failure;
  };
  /// The runs of this many complete sessions are kept, so that for a duplicate byte the first
  /// sender can be named; of older ones only that they were complete.
  static constexpr std::size_t finished_max = 64;

  explicit SessionWriter(const Config& config);

  /// Bytes of this rank's tiles, within one tile and the session, sent by rank `from`. Waits for
  /// the disk if all buffers are full. An error becomes the session's outcome.
  void take(const SessionPart& part, int from, std::uint64_t offset,
            std::span<const std::byte> bytes);
  /// No more of the session will come: missing bytes become its outcome.
  void finalize(const SessionPart& part);
  /// Of the sessions that ended since the last call.
  std::vector<Outcome> outcomes();
  /// Executes one write if there is no thread; false if there was none.
  bool pump() { return writer_.pump(); }
  /// Returns when everything that was gathered is written.
  void drain() { writer_.drain(); }
  /// The first error of a session whose outcome had been reported already.
  std::exception_ptr stray() const { return stray_; }

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
