#include "problem.hpp"

#include <bit>

namespace parabmu {
namespace {

/// Finaliser of SplitMix64.
std::uint64_t mixed(std::uint64_t word) {
  word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9ULL;
  word = (word ^ word >> 27) * 0x94D049BB133111EBULL;
  return word ^ word >> 31;
}

std::uint64_t with(std::uint64_t word, std::uint64_t next) {
  return mixed(word + 0x9E3779B97F4A7C15ULL + next);
}

std::uint64_t with(std::uint64_t word, double next) {
  return with(word, std::bit_cast<std::uint64_t>(next));
}

}  // namespace

std::uint64_t problem_of(MPI_Comm comm, const Mesh& mesh, const Load& load) {
  std::vector<std::uint64_t> rows;
  rows.reserve(mesh.patterns.size());
  for (const Pattern& pattern : mesh.patterns) {
    std::uint64_t word = 0;
    for (const double value : pattern.blocks) {
      word = with(word, value);
    }
    rows.push_back(word);
  }
  std::uint64_t sum = 0;
  for (std::uint64_t node = 0; node < mesh.owned; ++node) {
    // The numbers of patterns depend on the rank: their rows do not.
    std::uint64_t word = with(mesh.ids[node], rows[mesh.pattern_of[node]]);
    for (std::size_t i = 3 * node; i < 3 * node + 3; ++i) {
      word = with(word, load.force[i]);
      word = with(word, load.displacement[i]);
      word = with(word, std::uint64_t{load.fixed[i]});
    }
    sum += word;  // of any order
  }
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, comm);
  return sum;
}

}  // namespace parabmu
