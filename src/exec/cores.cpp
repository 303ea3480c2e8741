#include "exec/cores.hpp"

#include <algorithm>
#include <thread>

namespace sluice::exec {

std::size_t node_cores() {
  static const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  return cores;
}

std::size_t idle_cores(const Transport& transport) {
  const std::size_t nodes = static_cast<std::size_t>(std::max(1, transport.nodes()));
  const std::size_t ranks = (static_cast<std::size_t>(transport.size()) + nodes - 1) / nodes;
  return std::max<std::size_t>(1, node_cores() / ranks);
}

}  // namespace sluice::exec
