#include "exec/write/work.hpp"

#include <utility>

#include "exec/write/ring.hpp"

namespace sluice::exec {

namespace {

/// Buffers hold no more of a pool's than this part of their budget.
constexpr std::uint64_t exchange_share_of_budget = 8;

/// Those buffers that are vectors, while no file has them.
struct ExchangeMemory final : PooledMemory {
  explicit ExchangeMemory(std::uint64_t bytes) : PooledMemory(bytes) {}
  std::vector<std::byte> scratch;
  ExchangeBuffers rounds;
  std::vector<std::vector<std::byte>> packed;
};

std::uint64_t exchange_bytes(const Buffers& buffers) {
  std::uint64_t sum = buffers.scratch.size() + buffers.rounds.bytes();
  for (const std::vector<std::byte>& buffer : buffers.packed) {
    sum += buffer.size();
  }
  return sum;
}

}  // namespace

std::uint64_t Buffers::bytes() const {
  return (ring ? ring->bytes() : 0) + writer.bytes() + exchange_bytes(*this);
}

void Buffers::take_from_pool(std::uint64_t budget_bytes) {
  const auto found =
      StagingPool::of_process().take<ExchangeMemory>([&](const ExchangeMemory& idle) {
        return idle.counted_bytes() <= budget_bytes / exchange_share_of_budget;
      });
  if (found) {
    scratch = std::move(found->scratch);
    rounds = std::move(found->rounds);
    packed = std::move(found->packed);
  }
}

void Buffers::give_to_pool(double idle_s) {
  StagingPool& pool = StagingPool::of_process();
  mark.keep_used(scratch, rounds, packed);
  writer.give_back();
  if (ring) {
    ring->give_back(idle_s);
    ring.reset();
  }
  pool.give_back(std::move(encoding->staging), idle_s);
  if (const std::uint64_t held = exchange_bytes(*this); held != 0) {
    auto memory = std::make_unique<ExchangeMemory>(held);
    memory->scratch = std::move(scratch);
    memory->rounds = std::move(rounds);
    memory->packed = std::move(packed);
    pool.give_back(std::move(memory), idle_s);
  }
}

}  // namespace sluice::exec
