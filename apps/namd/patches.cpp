#include "patches.hpp"

#include <numeric>

#include "common/comm.hpp"

namespace namd {
namespace {

constexpr std::uint64_t moved_a_step = 7919;

/// 24 well mixed bits.
double place(std::uint64_t id, std::uint64_t step, std::uint64_t axis) {
  std::uint64_t bits = (id * 3 + axis) * 0x9E3779B97F4A7C15ULL + step * 0xD1B54A32D192ED03ULL;
  bits = (bits ^ (bits >> 31)) * 0xBF58476D1CE4E5B9ULL;
  return static_cast<double>(bits >> 40) / 256;
}

}  // namespace

Position position_of(std::uint64_t id, std::uint64_t step) {
  return {place(id, step, 0), place(id, step, 1), place(id, step, 2)};
}

Patches::Patches(std::uint64_t atoms, std::uint64_t patches, int rank, int ranks)
    : atoms_(atoms),
      patches_(patches),
      rank_(static_cast<std::uint64_t>(rank)),
      ranks_(static_cast<std::uint64_t>(ranks)),
      stride_(atoms / 8 * 5 + 1) {
  if (atoms == 0 || patches == 0 || atoms >> 31 != 0) {
    throw app::Error(app::Code::invalid_argument,
                     "atoms and patches: at least one, and less than 2^31 atoms");
  }
  while (std::gcd(stride_, atoms_) != 1) {
    ++stride_;
  }
  for (std::uint64_t patch = rank_; patch < patches_; patch += ranks_) {
    mine_.emplace_back();
  }
  advance(0);
}

/// Every second patch is half again as large as its neighbour.
std::uint64_t Patches::first_of(std::uint64_t patch) const {
  const std::uint64_t shares = patches_ / 2 * 5 + patches_ % 2 * 2;
  return atoms_ * (patch / 2 * 5 + patch % 2 * 2) / shares;
}

void Patches::advance(std::uint64_t step) {
  step_ = step;
  std::uint64_t patch = rank_;
  for (Patch& one : mine_) {
    const std::uint64_t first = first_of(patch);
    const std::uint64_t count = first_of(patch + 1) - first;
    one.ids.resize(count);
    one.positions.resize(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t id = ((first + i) * stride_ + step * moved_a_step) % atoms_;
      one.ids[i] = id;
      one.positions[i] = position_of(id, step);
    }
    patch += ranks_;
  }
}

}  // namespace namd
