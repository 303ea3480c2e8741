// The transport of programs whose own runtime carries messages, such as Charm++'s.
//
// The ranks leave their messages with a Carrier; the program takes them out, sends them by whatever
// means it has, and brings them to the Carrier of the rank they are for. It looks into none.
//
// Invariants: a message is a string of bytes that says where it comes from and belongs; messages of
// one rank to another are numbered, and received in that order in whatever order they are brought;
// no call of the program waits, and the transport never calls it; a wait ends within the time
// limit, or when the carrier stops. Any thread may take and bring; one uses the transport.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "exec/transport/transport.hpp"

namespace sluice::exec {

class Carrier {
 public:
  /// Of rank `rank` of `size`. `timeout_s`: limit of one wait for a message; 0: none.
  Carrier(int rank, int size, double timeout_s);

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }

  // -- for the program --------------------------------------------------------------------------
  /// The next message to be carried, and to which rank; nothing where there is none.
  std::optional<Parcel> next_outgoing();
  /// A message that another rank's take() gave out for this one. Each is brought once; Error
  /// invalid_argument where it is none of ours.
  void deliver(std::span<const std::byte> message);
  /// Whoever waits for a message, now or later, gets Error wrong_state.
  void stop();

  // -- for transports ---------------------------------------------------------------------------
  /// Which transport, and which of its tags.
  struct Place {
    std::uint32_t channel = 0;
    std::int32_t tag = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  void send(int to, const Place& place, std::span<const std::byte> bytes);
  /// The first message of the place, of any rank or of `from`.
  std::optional<Parcel> receive(const Place& place, std::optional<int> from = {});
  /// The same; waits for it. `what` is for the message of Error timeout.
  Parcel await(const Place& place, int from, const char* what);
  /// Returns when a message was brought since the last call, at the latest after `most`.
  void wait(std::chrono::microseconds most);
  /// The number of the youngest channel made here.
  std::uint32_t& channels() noexcept { return channels_; }

 private:
  struct Peer {
    std::uint64_t left = 0;                                 ///< messages to it
    std::uint64_t received = 0;                             ///< of it, in order
    std::map<std::uint64_t, std::vector<std::byte>> early;  ///< brought before their turn
  };

  void enqueue(int from, std::span<const std::byte> message);
  void require_going(const char* what) const;
  std::optional<Parcel> find(const Place& place, std::optional<int> from);

  const int rank_;
  const int size_;
  const double timeout_s_;
  std::uint32_t channels_ = 0;  ///< of the transport's thread

  std::mutex mutex_;  ///< all below
  std::condition_variable delivered_;
  bool has_news_ = false;
  bool is_stopped_ = false;
  std::deque<Parcel> leaving_;
  std::map<int, Peer> peers_;
  std::map<Place, std::deque<Parcel>> boxes_;
};

/// All ranks of the carriers. Collective. `ranks_per_node`: pretend nodes of so many consecutive
/// ranks; 0: ranks of the same host are of one node. Collectives go through rank 0, as only opening
/// and closing use them.
std::unique_ptr<Transport> make_carried(std::shared_ptr<Carrier> carrier, int ranks_per_node);

}  // namespace sluice::exec
