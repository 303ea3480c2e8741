// Exchange of bytes between ranks in rounds, with bounded memory.
//
// Both sides compute who sends how many bytes to whom in which round; nothing is announced here.
// The content of the messages is defined by a RoundParty on each rank, which also chooses the
// rounds such that what arrives in one of them fits.
//
// Invariants: in every round all receives are posted before anything is prepared or sent, so that a
// send waits only for the progress of its receiver; a rank holds what arrives in one round, and at
// most send_bytes (or one message that is larger) packed for sending; bytes for the rank itself are
// passed on without sending; after a failure a rank continues to the end of the rounds, sends as
// many bytes as the others expect, with arbitrary content, and drops what arrives; no collective
// call is made before the end, where every rank throws the same error.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "exec/exchange/send_buffer.hpp"
#include "exec/transport/transport.hpp"

namespace sluice::exec {

/// The message of one rank to another in a round.
struct RoundMessage {
  int rank = 0;             ///< the other rank; may be this one
  std::uint64_t bytes = 0;  ///< not 0
  std::size_t peer = 0;     ///< the name of the other rank for the party
};

/// The messages of a rank. All functions except finish() are called once a round, or once a
/// message, in the order of their declaration; exceptions are kept and thrown at the end.
class RoundParty {
 public:
  virtual ~RoundParty() = default;
  /// The messages that arrive in the round, at most one from a rank. Arithmetic: must not fail.
  virtual std::vector<RoundMessage> incoming(std::uint64_t round) = 0;
  /// Memory of the caller in which an incoming message may land, instead of memory of the exchange;
  /// empty: none. What it holds after a failure is undefined.
  virtual std::span<std::byte> landing(const RoundMessage& message) {
    (void)message;
    return {};
  }
  /// Prepares the outgoing messages of the round. With `failed` it only takes part in the
  /// collective actions of the party.
  virtual void prepare(std::uint64_t round, bool failed) = 0;
  /// The messages that leave in a round, at most one to a rank. Arithmetic: must not fail.
  virtual std::vector<RoundMessage> outgoing(std::uint64_t round) = 0;
  /// An outgoing message that stays contiguous in memory until the next round; empty if it is not.
  virtual std::span<const std::byte> in_place(const RoundMessage& message) = 0;
  /// Packs any other one into `into`, which has its length.
  virtual void pack(const RoundMessage& message, std::span<std::byte> into) = 0;
  /// The bytes of an incoming message, where they landed. Those of this rank itself come first, and
  /// never land.
  virtual void take(const RoundMessage& message, std::span<const std::byte> bytes) = 0;
  /// After the last round, if this rank has not failed.
  virtual void finish() {}
};

/// The part of one rank. All arguments must outlive the object.
class BoundedExchange {
 public:
  BoundedExchange(Transport& transport, int tag, std::uint64_t send_bytes, RoundParty& party,
                  ExchangeBuffers& buffers);

  /// Collective. Executes rounds 0 to rounds - 1, and throws on every rank the error of the lowest
  /// rank that failed. Ranks may number their rounds differently, if the messages from one rank to
  /// another come in the same order on both.
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
  /// Calls it, unless this rank has failed; keeps the exception.
  template <class Action>
  void attempt(Action&& action);

  Transport& transport_;
  const int tag_;
  const std::uint64_t send_bytes_;
  RoundParty& party_;
  ExchangeBuffers& buffers_;
  SendBuffer sends_;
  std::uint64_t round_bytes_ = 0;  ///< what leaves in this round: no more memory is needed for it
  std::exception_ptr failure_;
};

}  // namespace sluice::exec
