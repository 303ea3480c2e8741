// The timing of a striped parallel file system: servers with queues, locks that move between
// processes, and the data that processes have in flight. Independent of FUSE and of data.
//
// Invariants: a server handles its requests in the order of arrival, without a gap while one waits;
// its times follow from the parameters alone, so that a late thread delays itself but no other
// request. A lock is granted in the order of requests. A request that needs several locks requests
// them in ascending order, so requests cannot deadlock.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
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

/// A process.
using Client = std::uint32_t;
inline constexpr Client unknown_client = 0;

/// The lock of one stripe of one file.
struct StripeLock {
  Client owner = 0;
  bool is_owned = false;
  unsigned writes = 0;           ///< of the owner, at work now
  std::uint64_t held_bytes = 0;  ///< what the owner has written since it has the lock
  TimePoint arrived{};           ///< when all of that is at the target
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

/// A write, as a process asks for it.
struct Write {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  bool is_direct = false;  ///< the process waits until the bytes are at the targets
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

/// All servers of the file system. Thread-safe; every call but counters() takes as long as it would
/// on the modelled system.
class Physics {
 public:
  explicit Physics(const Parameters& parameters);

  /// A new file: its first stripe lies on the target after the first one of the file before.
  std::unique_ptr<StripedFile> make_file();

  /// `client` writes to a file. `work` is done once all locks are held. Returns when the bytes are
  /// at the targets; of a write that is not direct, when the client has room for them.
  void write(StripedFile& file, Client client, const Write& write,
             const std::function<void()>& work);
  /// The same for a read, which needs no lock.
  void read(StripedFile& file, std::uint64_t offset, std::uint64_t length,
            const std::function<void()>& work);
  /// A turn at the metadata server.
  void metadata_turn();
  void open();
  void note_create();
  /// Waits for what the client has on its way, and a latency more.
  void sync(Client client);

  Counters counters() const;

 private:
  /// The part of a request in one stripe.
  struct Piece {
    std::uint64_t stripe;
    unsigned target;
    std::uint64_t bytes;
    StripeLock* lock = nullptr;
    TimePoint done{};
  };

  /// What a client has on its way to a target: when each is there, and how much it is.
  struct OnWay {
    std::deque<std::pair<TimePoint, std::uint64_t>> pieces;
    std::uint64_t bytes = 0;
  };

  std::vector<Piece> pieces_of(const StripedFile& file, std::uint64_t offset,
                               std::uint64_t length) const;
  void acquire(Piece& piece, Client client);
  void release(StripeLock& lock);
  void wait_for_room(const Piece& piece, Client client);
  /// The time for which a target is busy with a piece of a write.
  double write_s(const Piece& piece) const;
  /// Puts a piece into its target's queue.
  void enter_target(Piece& piece, double service_s, std::uint64_t TargetCounters::*moved);

  const Parameters parameters_;
  mutable std::mutex mutex_;
  std::vector<Server> targets_;
  std::vector<Server> lock_servers_;             ///< of each target
  std::map<Client, std::vector<OnWay>> on_way_;  ///< by target
  Server metadata_;
  Counters counters_;
  unsigned next_target_ = 0;
};

}  // namespace sluice::contended
