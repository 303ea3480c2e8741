// Bytes between ranks in rounds, so that nobody holds more at a time than a budget allows.
//
// Who sends how many bytes to whom in which round is arithmetic on both sides: nothing is announced
// here. What the messages hold is the matter of a RoundParty on each rank, which also chooses the
// rounds such that what comes in one of them fits.
//
// Invariants: in every round all receives are posted before anything is prepared or sent, so that a
// send waits for nothing but its receiver's progress; a rank holds what one round brings, and at
// most send_bytes (or one message that is larger) packed for sending; what a rank has for itself is
// handed over, not sent; after a failure a rank goes on to the end of the rounds, sends as many
// bytes as the others wait for, of no particular content, and drops what comes; no collective call
// is made before the end, where every rank throws the same error.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "exec/transport/transport.hpp"

namespace sluice::exec {

/// All that one rank has for another one in a round.
struct RoundMessage {
  int rank = 0;             ///< at the other end; may be this one
  std::uint64_t bytes = 0;  ///< not 0
  std::size_t peer = 0;     ///< what the party calls the other end by
};

/// What a rank gives and takes. All but finish() are called once a round, or once a message of it,
/// in the order in which they stand here; what they throw is kept for the end.
class RoundParty {
 public:
  virtual ~RoundParty() = default;
  /// What comes in a round, at most one message of a rank. Arithmetic: must not fail.
  virtual std::vector<RoundMessage> incoming(std::uint64_t round) = 0;
  /// Makes ready what leaves in the round. With `failed` it only takes part in what ranks do
  /// together.
  virtual void prepare(std::uint64_t round, bool failed) = 0;
  /// What leaves in a round, at most one message to a rank. Arithmetic: must not fail.
  virtual std::vector<RoundMessage> outgoing(std::uint64_t round) = 0;
  /// An outgoing message that lies in one piece until the next round; empty where it does not.
  virtual std::span<const std::byte> in_place(const RoundMessage& message) = 0;
  /// Any other one, into as many bytes as it has.
  virtual void pack(const RoundMessage& message, std::span<std::byte> into) = 0;
  /// The bytes of an incoming message. What this rank has for itself comes first.
  virtual void take(const RoundMessage& message, std::span<const std::byte> bytes) = 0;
  /// After the last round, where this rank has not failed.
  virtual void finish() {}
};

/// Memory that may outlive an exchange: first touches cost more than messages.
struct ExchangeBuffers {
  std::vector<std::byte> sent;
  std::vector<std::byte> received;

  std::uint64_t bytes() const { return sent.size() + received.size(); }
};

/// One rank's side. All arguments must outlive the object.
class BoundedExchange {
 public:
  BoundedExchange(Transport& transport, int tag, std::uint64_t send_bytes, RoundParty& party,
                  ExchangeBuffers& buffers);

  /// Collective. Goes through rounds 0 to rounds - 1, and throws on every rank what the lowest rank
  /// met that failed. Ranks may number their rounds differently, as long as the messages from one
  /// rank to another come in the same order on both.
  void run(std::uint64_t rounds);

 private:
  struct Arrival {
    RoundMessage message;
    std::span<std::byte> bytes;
    std::unique_ptr<Pending> pending;
  };

  void round(std::uint64_t number);
  std::vector<Arrival> post_receives(const std::vector<RoundMessage>& incoming);
  void send(const RoundMessage& message);
  void hand_over(const RoundMessage& leaving, const std::vector<RoundMessage>& incoming);
  std::span<const std::byte> bytes_of(const RoundMessage& message);
  std::span<std::byte> room_to_send(std::uint64_t bytes);
  void wait_for_sends();
  /// Does something, unless this rank has failed; keeps what it throws.
  template <class Action>
  void attempt(Action&& action);

  Transport& transport_;
  const int tag_;
  const std::uint64_t send_bytes_;
  RoundParty& party_;
  ExchangeBuffers& buffers_;
  std::vector<std::unique_ptr<Pending>> sends_;
  std::uint64_t sent_bytes_ = 0;  ///< of buffers_.sent that sends_ use
  std::exception_ptr failure_;
};

}  // namespace sluice::exec
