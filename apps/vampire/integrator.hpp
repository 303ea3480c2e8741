// The physics: fields on the spins, and the Landau-Lifshitz-Gilbert equation by Heun's scheme.
//
//   E  = - 1/2 sum_ij J S_i.S_j - sum_i k (S_i.e)^2 - sum_i mu_i S_i.B
//   dS/dt = - gamma / (1 + lambda^2) [ S x H + lambda S x (S x H) ],  H_i = - 1/mu_i dE/dS_i +
//   noise
//
// Units: meV, Bohr magnetons, tesla, kelvin, femtoseconds.
// Invariant: the trajectory of a spin depends on the seed, its id and its neighbours alone, bit for
// bit: fixed order of neighbours, counter-based noise, no operation whose rounding a compiler may
// choose.
#pragma once

#include <cstdint>
#include <mpi.h>
#include <vector>

#include "atoms.hpp"
#include "halo.hpp"
#include "neighbours.hpp"

namespace vampire {

/// Gyromagnetic ratio, 1 / (T fs).
inline constexpr double gamma_per_tesla_fs = 1.760859630e-4;
/// One Bohr magneton in meV / T, and Boltzmann's constant in meV / K.
inline constexpr double mub_mev_per_tesla = 5.7883818060e-2;
inline constexpr double kb_mev_per_kelvin = 8.617333262e-2;

struct Physics {
  double exchange_mev = 0;    ///< J of one bond
  double anisotropy_mev = 0;  ///< k of one atom; negative: an easy plane
  Vec3 axis{0, 0, 1};         ///< unit vector e
  Vec3 field_t;
  double temperature_k = 0;
  double damping = 0.1;
  double dt_fs = 1;
  std::uint64_t seed = 1;
};

class Integrator {
 public:
  /// Takes its atoms' spins from `sample`. Collective.
  Integrator(MPI_Comm comm, const Sample& sample, const Physics& physics);

  /// One step of Heun's scheme; `number` keys the noise. Collective.
  void step(std::uint32_t number);
  /// Own atoms' spins, in the order of the atoms.
  const Vec3* spins() const noexcept { return spins_.data(); }
  /// The same, for a checkpoint to restore them.
  Vec3* spins() noexcept { return spins_.data(); }
  /// Energies of this rank's atoms in meV, half of each bond's counted with either atom.
  /// Collective.
  std::vector<double> energies();
  const Neighbours& neighbours() const noexcept { return neighbours_; }
  const Halo& halo() const noexcept { return halo_; }

 private:
  Vec3 sum_of_neighbours(const std::vector<Vec3>& spins, std::size_t atom) const;
  /// The change of a spin in one time step by the field it is in.
  Vec3 slope(const std::vector<Vec3>& spins, std::size_t atom) const;

  Physics physics_;
  std::size_t own_;
  std::vector<std::uint64_t> id_;
  std::vector<double> moment_mub_;  ///< of each own atom
  Neighbours neighbours_;
  Halo halo_;
  double rate_ = 0;              ///< - gamma dt / (1 + lambda^2)
  std::vector<double> noise_t_;  ///< thermal field's standard deviation, by atom
  std::vector<Vec3> thermal_;    ///< this step's thermal field
  std::vector<Vec3> spins_;      ///< own atoms, then ghosts
  std::vector<Vec3> predicted_;  ///< likewise
  std::vector<Vec3> first_slope_;
};

}  // namespace vampire
