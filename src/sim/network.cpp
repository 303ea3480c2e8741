#include "sim/network.hpp"

namespace sluice::sim {

Network::Network(const Machine& machine, EventQueue& queue, Nodes& nodes, int ranks)
    : queue_(queue),
      nodes_(nodes),
      link_bytes_per_s_(machine.link_bytes_per_s.value),
      latency_s_(machine.latency_s.value),
      message_s_(machine.message_s.value),
      admitted_(static_cast<std::size_t>(ranks)),
      held_(static_cast<std::size_t>(ranks)) {}

void Network::send(const Message& message, double now_s) {
  moved_bytes_ += message.bytes;
  const std::uint32_t number = messages_.add(message);
  if (message.round > admitted_[message.to]) {
    held_[message.to].push_back(number);
  } else {
    go(number, now_s);
  }
}

void Network::admit(std::uint32_t rank, std::uint32_t round, double now_s) {
  admitted_[rank] = round;
  std::vector<std::uint32_t> waiting;
  waiting.swap(held_[rank]);
  for (const std::uint32_t number : waiting) {
    if (messages_[number].round > round) {
      held_[rank].push_back(number);
    } else {
      go(number, now_s);
    }
  }
}

void Network::go(std::uint32_t number, double now_s) {
  const Message& message = messages_[number];
  if (message.from_node == message.to_node) {
    queue_.at(nodes_.copied(message.to_node, now_s, message.bytes) + message_s_,
              What::message_there, number);
    return;
  }
  const double left = nodes_[message.from_node].out.serve(
      now_s, static_cast<double>(message.bytes) / link_bytes_per_s_);
  queue_.at(left + latency_s_, What::message_at_node, number);
}

void Network::arrive_at_node(std::uint32_t number, double now_s) {
  const Message& message = messages_[number];
  // The receiver's link received it while the sender's link sent it: only what others send at the
  // same time is added.
  const double work = static_cast<double>(message.bytes) / link_bytes_per_s_;
  const double there = nodes_[message.to_node].in.serve(now_s - work, work);
  queue_.at(std::max(there, now_s) + message_s_, What::message_there, number);
}

Message Network::take(std::uint32_t number) {
  const Message message = messages_[number];
  messages_.remove(number);
  return message;
}

}  // namespace sluice::sim
