// A striped parallel file system as its clients see it: cache, locks, targets, metadata.
//
// A write is cut at stripes. For each piece the client (a node; on some machines a process) takes
// the lock if others may have bytes in that stripe, waits for space in its cache, copies, and
// drains it in the background: the stream of the process, the link of the node, the target. A piece
// that covers a whole stripe needs no lock that another node could want, because every byte is
// written once.
//
// Invariants: a stripe of a file has one owner, a client; the owner changes only when no piece of
// it is in flight; a client has at most `dirty_bytes` in flight to a target (one piece at least),
// and one request before the target has answered it for the first time; every server serves
// requests in the order of time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/event_queue.hpp"
#include "sim/machine.hpp"
#include "sim/nodes.hpp"

namespace sluice::sim {

/// Locks that a request takes at once; with more stripes it is split.
inline constexpr std::uint32_t most_locks = 4;

/// A write or a read in progress.
struct Access {
  std::uint32_t actor = 0;
  std::uint32_t node = 0;
  std::uint32_t client = 0;  ///< the node, or the process
  std::uint32_t file = 0;
  std::uint32_t requests = 1;  ///< of which each piece consists, at least
  bool is_direct = false;
  bool is_scattered = false;
  bool was_called = false;  ///< by what it waited for: it is its turn
  std::uint64_t offset = 0;
  std::uint64_t end = 0;
  std::uint64_t request_end = 0;  ///< of the request that begins or is in progress at `offset`
  std::uint64_t locked_end = 0;   ///< its locks are taken up to here
  std::array<std::uint32_t, most_locks> locks{};  ///< of the pieces between `offset` and there
  std::uint32_t lock_count = 0;
};

/// The result of an attempt to continue an access.
struct Progress {
  enum Kind : std::uint8_t { ended, later, waits } kind = ended;
  double at_s = 0;  ///< later
};

struct Stripes {
  std::uint32_t count = 1;
  std::uint64_t bytes = 1;
};

struct Counts {
  std::uint64_t written_bytes = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t pieces = 0;
  std::uint64_t handovers = 0;  ///< of locks, between clients
  std::uint64_t touches = 0;    ///< of targets, by clients for the first time
  std::uint64_t opens = 0;
};

/// Size: Each queue and counter of the modelled file system is a field.
class FileSystem {
 public:
  /// `clients`: nodes or processes. `actors`: processes and threads that may write.
  FileSystem(const Machine& machine, EventQueue& queue, Nodes& nodes, std::size_t clients,
             std::size_t actors, const Stripes& stripes, std::uint64_t seed);

  /// The time at which the metadata server has answered.
  double open(double now_s);
  /// Starts the next piece of a write. `waits`: the actor is called later.
  Progress write_on(Access& access, double now_s);
  /// Requests the next piece of a read, which is in flight then.
  Progress read_on(Access& access, double now_s);

  // -- events -------------------------------------------------------------------------------------
  void piece_streamed(std::uint32_t piece, double now_s);
  void piece_at_target(std::uint32_t piece, double now_s);
  void piece_at_node(std::uint32_t piece, double now_s);
  /// The actor to which the piece belongs.
  std::uint32_t piece_done(std::uint32_t piece, double now_s);
  void target_touched(std::uint32_t slot, double now_s);

  double sync_s() const noexcept { return rpc_s_ + sync_s_; }
  const Counts& counts() const noexcept { return counts_; }
  /// The busy time of the busiest target.
  double busiest_s() const;

 private:
  static constexpr std::uint32_t none = 0xffffffff;
  struct Lock {
    std::uint32_t owner = none;
    std::uint32_t on_way = 0;      ///< pieces of the owner
    std::uint64_t held_bytes = 0;  ///< that the owner has written since it got the lock
    std::uint32_t first = none;
    std::uint32_t last = none;  ///< actors that wait, linked by next_
    double free_at_s = 0;
  };
  /// The state of a client at a target.
  struct Slot {
    enum State : std::uint8_t { unknown, asked, known } state = unknown;
    std::uint32_t first = none;
    std::uint32_t last = none;
    std::uint64_t dirty_bytes = 0;
    std::vector<std::uint32_t> held;  ///< pieces that wait for the target's first answer
  };
  struct Piece {
    std::uint32_t actor = 0;
    std::uint32_t node = 0;
    std::uint32_t client = 0;
    std::uint32_t target = 0;
    std::uint32_t lock = none;
    std::uint32_t requests = 1;
    bool is_read = false;
    bool is_direct = false;
    std::uint64_t bytes = 0;
    double read_bytes = 0;  ///< by the target, of the rest of the stripe
  };
  struct Target {
    Server data;
    Server lock_server;
    Server first_touches;
    double bytes_per_s = 1;
  };

  Piece piece_at(const Access& access, std::uint64_t offset) const;
  bool is_shared(const Access& access, const Piece& piece) const;
  std::optional<Progress> take_locks(Access& access, double now_s);
  Progress take_lock(Access& access, const Piece& piece, std::uint32_t& number, double now_s);
  double read_for(Lock& lock, std::uint64_t bytes) const;
  std::uint32_t slot_of(const Piece& piece) const {
    return piece.client * target_count_ + piece.target;
  }
  bool find_room(Access& access, const Piece& piece, Slot& slot);
  void touch(const Piece& piece, double now_s);
  void send_off(std::uint32_t piece, double now_s);
  void wait_in(std::uint32_t& first, std::uint32_t& last, std::uint32_t actor);
  void call_next(std::uint32_t& first, std::uint32_t& last, double now_s);
  double target_work_s(const Piece& piece) const;

  EventQueue& queue_;
  Nodes& nodes_;
  const Stripes stripes_;
  const std::uint64_t seed_;
  const std::uint32_t target_count_;
  const std::uint64_t dirty_bytes_;
  const double request_bytes_;
  const double stream_bytes_per_s_;
  const double drain_bytes_per_s_;
  const double link_bytes_per_s_;
  const double rpc_s_;
  const double request_s_;
  const double callback_s_;
  const bool has_process_clients_;
  const double handover_s_;
  const std::uint64_t locked_at_once_bytes_;
  const double part_read_;
  const double touch_s_;
  const double open_s_;
  const double sync_s_;

  Server metadata_;
  std::vector<Target> targets_;
  std::vector<Server> streams_;      ///< by actor
  std::vector<std::uint32_t> next_;  ///< by actor: the next one in the queue
  std::vector<Slot> slots_;
  std::unordered_map<std::uint64_t, std::uint32_t> lock_numbers_;  ///< by file and stripe
  std::vector<Lock> locks_;
  Pool<Piece> pieces_;
  Counts counts_;
};

}  // namespace sluice::sim
