// The transport of programs whose own runtime carries messages, such as Charm++.
//
// The ranks hand their messages to a Carrier; the program takes them out, sends them by any means,
// and delivers them to the Carrier of the destination rank. It does not interpret them.
//
// Invariants: a message is a string of bytes that contains its source and destination; messages of
// one rank to another are numbered, and received in that order in whatever order they are
// delivered; no call of the program waits, and the transport never calls the program; a wait ends
// within the time limit, or when the carrier stops. Any thread may take and deliver; one uses the
// transport.
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
  /// The carrier of rank `rank` of `size`. `timeout_s`: limit of one wait for a message; 0: none.
  Carrier(int rank, int size, double timeout_s);

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }

  // -- for the program --------------------------------------------------------------------------
  /// The next message to be sent, and its destination rank; empty if there is none.
  std::optional<Parcel> next_outgoing();
  /// A message that next_outgoing() of another rank returned for this one. Each is delivered once;
  /// Error invalid_argument if it is not one of Sluice's.
  void deliver(std::span<const std::byte> message);
  /// Waits for messages, present and later ones, end with Error wrong_state.
  void stop();

  // -- for transports ---------------------------------------------------------------------------
  /// A transport, and one of its tags.
  struct Place {
    std::uint32_t channel = 0;
    std::int32_t tag = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  void send(int to, const Place& place, std::span<const std::byte> bytes);
  /// The first message of the place, of any rank or of `from`.
  std::optional<Parcel> receive(const Place& place, std::optional<int> from = {});
  /// The same; waits for it. `what` names the call in Error timeout.
  Parcel await(const Place& place, int from, const char* what);
  /// Returns when a message was delivered since the last call, after `most` at the latest.
  void wait(std::chrono::microseconds most);
  /// The number of the last channel created here.
  std::uint32_t& channels() noexcept { return channels_; }

 private:
  struct Peer {
    std::uint64_t left = 0;                                 ///< messages to it
    std::uint64_t received = 0;                             ///< messages of it, in order
    std::map<std::uint64_t, std::vector<std::byte>> early;  ///< delivered before their turn
  };

  void enqueue(int from, std::span<const std::byte> message);
  void require_going(const char* what) const;
  std::optional<Parcel> find(const Place& place, std::optional<int> from);

  const int rank_;
  const int size_;
  const double timeout_s_;
  std::uint32_t channels_ = 0;  ///< used by the transport's thread

  std::mutex mutex_;  ///< all below
  std::condition_variable delivered_;
  bool has_news_ = false;
  bool is_stopped_ = false;
  std::deque<Parcel> leaving_;
  std::map<int, Peer> peers_;
  std::map<Place, std::deque<Parcel>> boxes_;
};

/// All ranks of the carriers. Collective. `ranks_per_node`: simulated nodes of that many
/// consecutive ranks; 0: ranks of the same host are on one node. Collectives go through rank 0,
/// because only opening and closing use them.
std::unique_ptr<Transport> make_carried(std::shared_ptr<Carrier> carrier, int ranks_per_node);

}  // namespace sluice::exec
