#include "integrator.hpp"

#include <cmath>

#include "noise.hpp"

namespace vampire {

Integrator::Integrator(MPI_Comm comm, const Sample& sample, const Physics& physics)
    : physics_(physics),
      own_(sample.atoms.size()),
      id_(sample.atoms.id),
      neighbours_(find_neighbours(comm, sample.atoms, sample.box, sample.cutoff)),
      halo_(comm, sample.atoms, neighbours_),
      thermal_(own_),
      spins_(sample.atoms.spin),
      predicted_(own_ + halo_.ghosts()),
      first_slope_(own_) {
  spins_.resize(own_ + halo_.ghosts());
  const double lambda = physics.damping;
  rate_ = -gamma_per_tesla_fs * physics.dt_fs / (1 + lambda * lambda);
  for (const std::int32_t material : sample.atoms.material) {
    const double moment = sample.moment_mub[static_cast<std::size_t>(material)];
    moment_mub_.push_back(moment);
    noise_t_.push_back(
        std::sqrt(2 * lambda * kb_mev_per_kelvin * physics.temperature_k /
                  (gamma_per_tesla_fs * moment * mub_mev_per_tesla * physics.dt_fs)));
  }
}

Vec3 Integrator::sum_of_neighbours(const std::vector<Vec3>& spins, std::size_t atom) const {
  Vec3 sum;
  for (std::uint64_t k = neighbours_.begin[atom]; k < neighbours_.begin[atom + 1]; ++k) {
    sum = sum + spins[neighbours_.index[k]];
  }
  return sum;
}

Vec3 Integrator::slope(const std::vector<Vec3>& spins, std::size_t atom) const {
  const Vec3& s = spins[atom];
  const double mev_to_tesla = 1 / (moment_mub_[atom] * mub_mev_per_tesla);
  const double anisotropy = 2 * physics_.anisotropy_mev * dot(s, physics_.axis);
  const Vec3 interaction =
      physics_.exchange_mev * sum_of_neighbours(spins, atom) + anisotropy * physics_.axis;
  const Vec3 field = (mev_to_tesla * interaction + physics_.field_t) + thermal_[atom];
  const Vec3 torque = cross(s, field);
  return rate_ * (torque + physics_.damping * cross(s, torque));
}

void Integrator::step(std::uint32_t number) {
  if (physics_.temperature_k > 0) {
    for (std::size_t i = 0; i < own_; ++i) {
      thermal_[i] = noise_t_[i] * normal3(physics_.seed, Stream::thermal, id_[i], number);
    }
  }
  halo_.update(spins_);
  for (std::size_t i = 0; i < own_; ++i) {
    first_slope_[i] = slope(spins_, i);
    predicted_[i] = normalised(spins_[i] + first_slope_[i]);
  }
  halo_.update(predicted_);
  for (std::size_t i = 0; i < own_; ++i) {
    spins_[i] = normalised(spins_[i] + 0.5 * (first_slope_[i] + slope(predicted_, i)));
  }
}

std::vector<double> Integrator::energies() {
  halo_.update(spins_);
  std::vector<double> result(own_);
  for (std::size_t i = 0; i < own_; ++i) {
    const Vec3& s = spins_[i];
    const double along = dot(s, physics_.axis);
    const double bonds = 0.5 * physics_.exchange_mev * dot(s, sum_of_neighbours(spins_, i));
    const double zeeman = moment_mub_[i] * mub_mev_per_tesla * dot(s, physics_.field_t);
    result[i] = -((bonds + physics_.anisotropy_mev * along * along) + zeeman);
  }
  return result;
}

}  // namespace vampire
