// The resources of the nodes of a model machine, shared by network and file system.
#pragma once

#include <vector>

#include "sim/event_queue.hpp"
#include "sim/machine.hpp"

namespace sluice::sim {

struct Node {
  Server memory;
  Server out;    ///< of its link
  Server in;     ///< the same
  Server drain;  ///< its link to the targets
};

class Nodes {
 public:
  Nodes(const Machine& machine, int count)
      : copy_bytes_per_s_(machine.copy_bytes_per_s.value),
        memory_bytes_per_s_(machine.memory_bytes_per_s.value),
        all_(static_cast<std::size_t>(count)) {}

  Node& operator[](std::uint32_t node) { return all_[node]; }
  /// When a process of the node that starts now has copied this many bytes.
  double copied(std::uint32_t node, double now_s, std::uint64_t bytes) {
    const auto size = static_cast<double>(bytes);
    const double shared = all_[node].memory.serve(now_s, size / memory_bytes_per_s_);
    return std::max(shared, now_s + size / copy_bytes_per_s_);
  }

 private:
  double copy_bytes_per_s_;
  double memory_bytes_per_s_;
  std::vector<Node> all_;
};

}  // namespace sluice::sim
