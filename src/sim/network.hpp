// Messages between ranks: the sender's link, the latency, the receiver's link; within a node its
// memory.
//
// Invariants: a message waits at its sender until the receiver has admitted its round (as sends of
// large messages wait for their receive); messages that may go take the links in the order of time.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/event_queue.hpp"
#include "sim/machine.hpp"
#include "sim/nodes.hpp"

namespace sluice::sim {

struct Message {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t from_node = 0;
  std::uint32_t to_node = 0;
  std::uint32_t round = 0;
  std::uint64_t bytes = 0;
};

class Network {
 public:
  Network(const Machine& machine, EventQueue& queue, Nodes& nodes, int ranks);

  void send(const Message& message, double now_s);
  void admit(std::uint32_t rank, std::uint32_t round, double now_s);
  /// Handles message_at_node events.
  void arrive_at_node(std::uint32_t message, double now_s);
  /// Handles message_there events: returns the message and removes it.
  Message take(std::uint32_t message);

  std::uint64_t moved_bytes() const noexcept { return moved_bytes_; }

 private:
  void go(std::uint32_t message, double now_s);

  EventQueue& queue_;
  Nodes& nodes_;
  const double link_bytes_per_s_;
  const double latency_s_;
  const double message_s_;
  Pool<Message> messages_;
  std::vector<std::uint32_t> admitted_;           ///< by rank
  std::vector<std::vector<std::uint32_t>> held_;  ///< by rank that has not admitted them
  std::uint64_t moved_bytes_ = 0;
};

}  // namespace sluice::sim
