// The times of a striped parallel file system: servers in which requests wait their turn, and locks
// that processes hand over. Knows nothing of FUSE or of data.
//
// Invariants: a server works through its requests in the order in which they came, without a gap
// while one waits; its times follow from the parameters alone, so that a late thread is late for
// itself but moves nobody else's turn. A lock is granted in the order of asking. A request that
// needs several locks asks in ascending order, so requests cannot wait for each other in a circle.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "parameters.hpp"

namespace sluice::contended {

/// First in, first out. Not thread safe.
class Server {
 public:
  /// Takes in a request that comes at `now` and keeps the server busy for `service`; returns when
  /// it is through.
  TimePoint enter(TimePoint now, Duration service);
  Duration busy() const { return busy_; }

 private:
  TimePoint free_{};
  Duration busy_{};
};

/// A process; 0: unknown.
using Client = std::uint32_t;

/// The lock of one stripe of one file.
struct StripeLock {
  Client owner = 0;
  bool is_owned = false;
  unsigned writes = 0;  ///< of the owner, at work now
  std::uint64_t next_ticket = 0;
  std::uint64_t serving = 0;
  std::condition_variable changed;
};

/// What the servers know of a file. Its locks live as long as it does: one of about 100 bytes for
/// every stripe that was ever written.
struct StripedFile {
  unsigned first_target = 0;
  std::map<std::uint64_t, StripeLock> locks;  ///< by stripe
};

struct TargetCounters {
  std::uint64_t written_bytes = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t requests = 0;
  double busy_s = 0;
};

struct Counters {
  std::vector<TargetCounters> targets;
  std::uint64_t hand_overs = 0;
  std::uint64_t opens = 0;
  std::uint64_t creates = 0;
  std::uint64_t metadata_turns = 0;
  double metadata_busy_s = 0;
};

/// All servers of the file system. Thread safe; every call but counters() takes as long as it would
/// there.
class Physics {
 public:
  explicit Physics(const Parameters& parameters);

  /// A new file: its first stripe lies on the target after the first one of the file before.
  std::unique_ptr<StripedFile> make_file();

  /// `client` writes [offset, offset + length) of a file. `work` is done meanwhile, once all locks
  /// are held.
  void write(StripedFile& file, Client client, std::uint64_t offset, std::uint64_t length,
             const std::function<void()>& work);
  /// The same for a read, which needs no lock.
  void read(StripedFile& file, std::uint64_t offset, std::uint64_t length,
            const std::function<void()>& work);
  /// A turn at the metadata server.
  void metadata_turn();
  void open();
  void note_create();
  /// A sync: everything written is at its target already, so one latency.
  void sync();

  Counters counters() const;

 private:
  /// The part of a request in one stripe.
  struct Piece {
    std::uint64_t stripe;
    std::uint64_t bytes;
    StripeLock* lock = nullptr;
    TimePoint done{};
  };

  std::vector<Piece> pieces_of(std::uint64_t offset, std::uint64_t length) const;
  void acquire(StripeLock& lock, Client client);
  void release(StripeLock& lock);
  /// Puts the pieces into their targets' queues.
  void enter_targets(const StripedFile& file, std::vector<Piece>& pieces, bool is_write);

  const Parameters parameters_;
  mutable std::mutex mutex_;
  std::vector<Server> targets_;
  Server metadata_;
  Counters counters_;
  unsigned next_target_ = 0;
};

}  // namespace sluice::contended
