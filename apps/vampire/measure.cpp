#include "measure.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace vampire {
namespace {

constexpr double unit = 1152921504606846976.0;  // 2^60

/// Mixes all bits of a word into all others (the finaliser of MurmurHash3, by A. Appleby).
std::uint64_t mixed(std::uint64_t word) {
  word ^= word >> 33;
  word *= 0xFF51AFD7ED558CCDULL;
  word ^= word >> 33;
  word *= 0xC4CEB9FE1A85EC53ULL;
  return word ^ (word >> 33);
}

}  // namespace

void ExactSum::add(double value) {
  if (!(std::abs(value) < 0x1p50)) {
    ++spoilt_;
    return;
  }
  sum_ += static_cast<__int128>(value * unit);
}

double ExactSum::total(MPI_Comm comm) const {
  // Four limbs that leave room for the carries of 2^31 ranks.
  constexpr std::int64_t mask = 0xFFFFFFFF;
  std::array<std::int64_t, 4> limbs{static_cast<std::int64_t>(sum_) & mask,
                                    static_cast<std::int64_t>(sum_ >> 32) & mask,
                                    static_cast<std::int64_t>(sum_ >> 64), spoilt_};
  MPI_Allreduce(MPI_IN_PLACE, limbs.data(), 4, MPI_INT64_T, MPI_SUM, comm);
  if (limbs[3] > 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const __int128 sum =
      (static_cast<__int128>(limbs[2]) << 64) + (static_cast<__int128>(limbs[1]) << 32) + limbs[0];
  return static_cast<double>(sum) / unit;
}

Measured measure(MPI_Comm comm, const Sample& sample, const Vec3* spins,
                 const std::vector<double>& energies) {
  ExactSum x;
  ExactSum y;
  ExactSum z;
  ExactSum moments;
  ExactSum energy;
  for (std::size_t i = 0; i < sample.atoms.size(); ++i) {
    const double moment = sample.moment_mub[static_cast<std::size_t>(sample.atoms.material[i])];
    x.add(moment * spins[i].x);
    y.add(moment * spins[i].y);
    z.add(moment * spins[i].z);
    moments.add(moment);
    energy.add(energies[i]);
  }
  const double all = moments.total(comm);
  Measured result;
  result.magnetisation = {x.total(comm) / all, y.total(comm) / all, z.total(comm) / all};
  result.length = std::sqrt(dot(result.magnetisation, result.magnetisation));
  result.energy_mev = energy.total(comm) / static_cast<double>(sample.total);
  return result;
}

std::uint64_t digest(MPI_Comm comm, const Atoms& atoms, const Vec3* spins) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    std::uint64_t word = mixed(atoms.id[i] + 0x9E3779B97F4A7C15ULL);
    for (int axis = 0; axis < 3; ++axis) {
      word = mixed(word + std::bit_cast<std::uint64_t>(spins[i][axis]));
    }
    sum += word;  // of any order
  }
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, comm);
  return sum;
}

}  // namespace vampire
