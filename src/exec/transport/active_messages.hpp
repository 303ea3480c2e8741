// Messages that ranks send each other at any time, without a matching receive call.
//
// Invariants: messages of one rank to another are handled in the order in which they were sent;
// at most unacknowledged_max messages of one rank to another are in flight and not yet handled, the
// others wait at their sender, so that a receiver holds no more than that of each; no call except
// settle() waits; one thread polls, the one that may use the transport, and only one thread at a
// time calls anything.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "exec/transport/transport.hpp"

namespace sluice::exec {

class ActiveMessages {
 public:
  static constexpr std::uint32_t unacknowledged_max = 4;
  /// Messages that are being received at the same time.
  static constexpr std::size_t arriving_max = 16;
  using Handler = std::function<void(int from, std::span<const std::byte> message)>;

  /// Collective: the messages have a transport of their own.
  explicit ActiveMessages(Transport& transport);

  /// Queues the message for `to`, which may be this rank; poll() sends it.
  void send(int to, std::vector<std::byte> message);
  /// Makes progress, and calls `handle` for received messages; it may send(). Did anything move?
  bool poll(const Handler& handle);
  /// Collective, when every rank is idle and after a barrier: completes the last acknowledgements.
  void settle();
  /// Were all messages that this rank sent handled?
  bool is_idle() const { return unacknowledged_bytes_ == 0 && unacknowledged_ == 0; }
  /// The bytes of the messages sent and not handled yet.
  std::uint64_t unacknowledged_bytes() const { return unacknowledged_bytes_; }
  /// The ranks that have not handled all of their messages.
  std::vector<int> unacknowledged_ranks() const;

 private:
  using Message = std::shared_ptr<const std::vector<std::byte>>;
  struct Box {
    std::deque<Message> waiting;
    std::deque<std::uint64_t> unacknowledged;  ///< sizes of the messages in flight, in order
  };
  struct Leaving {
    Message message;
    std::unique_ptr<Pending> pending;
  };

  bool collect_answers();
  bool start_sends();
  bool receive(const Handler& handle);
  bool handle_own(const Handler& handle);
  void acknowledge();
  void count_acknowledged(int from, std::uint32_t messages);

  const std::unique_ptr<Transport> own_;
  Transport& transport_;
  std::map<int, Box> boxes_;
  std::deque<Message> to_self_;
  std::deque<Leaving> leaving_;
  std::deque<Arriving> arriving_;
  std::deque<Arriving> answers_;
  std::map<int, std::uint32_t> handled_;  ///< messages not acknowledged yet
  std::uint64_t unacknowledged_bytes_ = 0;
  std::uint64_t unacknowledged_ = 0;
};

}  // namespace sluice::exec
