#include "exec/exchange/bounded_exchange.hpp"

#include <algorithm>

#include "exec/transport/agree.hpp"
#include "sluice/error.hpp"

namespace sluice::exec {

BoundedExchange::BoundedExchange(Transport& transport, int tag, std::uint64_t send_bytes,
                                 RoundParty& party, ExchangeBuffers& buffers)
    : transport_(transport),
      tag_(tag),
      send_bytes_(send_bytes),
      party_(party),
      buffers_(buffers),
      sends_(buffers.sent) {}

template <class Action>
void BoundedExchange::attempt(Action&& action) {
  if (!failure_) {
    failure_ = failure_of(action);
  }
}

void BoundedExchange::run(std::uint64_t rounds) {
  for (std::uint64_t number = 0; number < rounds; ++number) {
    round(number);
  }
  attempt([&] { party_.finish(); });
  agree(transport_, failure_);
}

void BoundedExchange::round(std::uint64_t number) {
  const std::vector<RoundMessage> incoming = party_.incoming(number);
  std::vector<Arrival> arrivals = post_receives(incoming);
  // Also after a failure: what readers do together waits for all of them.
  const auto failure = failure_of([&] { party_.prepare(number, static_cast<bool>(failure_)); });
  failure_ = failure_ ? failure_ : failure;
  const std::vector<RoundMessage> outgoing = party_.outgoing(number);
  round_bytes_ = 0;
  for (const RoundMessage& message : outgoing) {
    round_bytes_ += message.bytes;
  }
  for (const RoundMessage& message : outgoing) {
    message.rank == transport_.rank() ? hand_over(message, incoming) : send(message);
  }
  for (Arrival& arrival : arrivals) {
    arrival.pending->wait();
    attempt([&] { party_.take(arrival.message, arrival.bytes); });
  }
  sends_.wait();
}

std::vector<BoundedExchange::Arrival> BoundedExchange::post_receives(
    const std::vector<RoundMessage>& incoming) {
  std::vector<Arrival> arrivals;
  std::uint64_t total = 0;
  for (const RoundMessage& message : incoming) {
    if (message.rank == transport_.rank()) {
      continue;
    }
    std::span<std::byte> landing;
    attempt([&] { landing = party_.landing(message); });
    const bool lands = landing.size() == message.bytes;
    arrivals.push_back({message, lands ? landing : std::span<std::byte>{}, nullptr});
    total += lands ? 0 : message.bytes;
  }
  if (buffers_.received.size() < total) {
    buffers_.received.resize(total);
  }
  std::uint64_t used = 0;
  for (Arrival& arrival : arrivals) {
    if (arrival.bytes.empty()) {
      arrival.bytes = std::span(buffers_.received).subspan(used, arrival.message.bytes);
      used += arrival.message.bytes;
    }
    arrival.pending = transport_.start_receive(arrival.message.rank, tag_, arrival.bytes);
  }
  return arrivals;
}

void BoundedExchange::send(const RoundMessage& message) {
  sends_.add(transport_.start_send(message.rank, tag_, bytes_of(message)));
}

void BoundedExchange::hand_over(const RoundMessage& leaving,
                                const std::vector<RoundMessage>& incoming) {
  const auto own = std::find_if(incoming.begin(), incoming.end(),
                                [&](const RoundMessage& m) { return m.rank == leaving.rank; });
  const std::span<const std::byte> bytes = bytes_of(leaving);
  attempt([&] {
    if (own == incoming.end() || own->bytes != leaving.bytes) {
      throw Error(Code::internal, "the two sides of an exchange expect different lengths");
    }
    party_.take(*own, bytes);
  });
}

std::span<const std::byte> BoundedExchange::bytes_of(const RoundMessage& message) {
  std::span<const std::byte> lying;
  attempt([&] { lying = party_.in_place(message); });
  if (lying.size() == message.bytes) {
    return lying;
  }
  // Outside the part that may fail: a wait that ends in a timeout ends the exchange.
  const std::span<std::byte> room = sends_.room(message.bytes, std::min(send_bytes_, round_bytes_));
  attempt([&] { party_.pack(message, room); });
  return room;
}

}  // namespace sluice::exec
