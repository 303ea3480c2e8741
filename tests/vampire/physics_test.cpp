// The equation of motion: against exact solutions, and against thermodynamics.
#include <cmath>
#include <gtest/gtest.h>
#include <mpi.h>

#include "comm.hpp"
#include "integrator.hpp"
#include "measure.hpp"
#include "sample.hpp"

namespace vampire {
namespace {

double energy(MPI_Comm comm, const Sample& sample, Integrator& integrator) {
  return measure(comm, sample, integrator.spins(), integrator.energies()).energy_mev;
}

TEST(Physics, ASpinInAFieldFollowsTheAnalyticSpiral) {
  // d phi/dt = gamma B / (1 + l^2), and artanh(sz) grows by l gamma B t / (1 + l^2).
  Options options = lattice_options("sc", 1, 1, 1, "up", "none");
  Physics& physics = options.physics;
  physics.field_t = {0, 0, 10};
  physics.damping = 0.1;
  Sample sample = make_sample(MPI_COMM_SELF, options);
  sample.atoms.spin[0] = {1, 0, 0};
  const auto error_after = [&](double dt_fs, std::uint32_t steps) {
    physics.dt_fs = dt_fs;
    Integrator integrator(MPI_COMM_SELF, sample, physics);
    for (std::uint32_t step = 1; step <= steps; ++step) {
      integrator.step(step);
    }
    const double angle = gamma_per_tesla_fs * 10 * dt_fs * steps / (1 + 0.1 * 0.1);
    const double z = std::tanh(0.1 * angle);
    const double r = std::sqrt(1 - z * z);
    const Vec3 exact{r * std::cos(angle), r * std::sin(angle), z};
    const Vec3 difference = integrator.spins()[0] - exact;
    return std::sqrt(dot(difference, difference));
  };
  const double coarse = error_after(4, 2500);  // 10 ps: 2.8 turns
  const double fine = error_after(2, 5000);
  EXPECT_LT(coarse, 2e-4);
  EXPECT_NEAR(coarse / fine, 4, 0.2) << "Heun's scheme is of second order";
}

TEST(Physics, SpinsKeepTheirLength) {
  Options options = lattice_options("fcc", 5, 4, 3, "random", "xy");
  options.physics.temperature_k = 600;
  const Sample sample = make_sample(MPI_COMM_WORLD, options);
  Integrator integrator(MPI_COMM_WORLD, sample, options.physics);
  for (std::uint32_t step = 1; step <= 200; ++step) {
    integrator.step(step);
  }
  for (std::size_t i = 0; i < sample.atoms.size(); ++i) {
    EXPECT_NEAR(dot(integrator.spins()[i], integrator.spins()[i]), 1, 1e-15);
  }
}

TEST(Physics, WithoutHeatEnergyOnlyFalls) {
  Options options = lattice_options("bcc", 6, 5, 4, "random", "xyz");
  options.physics.anisotropy_mev = 0.5;
  options.physics.field_t = {1, 0, 2};
  const Sample sample = make_sample(MPI_COMM_WORLD, options);
  Integrator integrator(MPI_COMM_WORLD, sample, options.physics);
  double before = energy(MPI_COMM_WORLD, sample, integrator);
  const double start = before;
  for (std::uint32_t step = 1; step <= 300; ++step) {
    integrator.step(step);
    const double now = energy(MPI_COMM_WORLD, sample, integrator);
    ASSERT_LT(now, before) << "step " << step;
    before = now;
  }
  EXPECT_LT(before, start - 30) << "the bonds of bcc give 4 J = 120 meV an atom when aligned";
}

TEST(Physics, WithoutDampingEnergyStays) {
  Options options = lattice_options("sc", 5, 5, 5, "random", "xyz");
  options.physics.damping = 0;
  options.physics.dt_fs = 0.1;
  const Sample sample = make_sample(MPI_COMM_WORLD, options);
  Integrator integrator(MPI_COMM_WORLD, sample, options.physics);
  const double start = energy(MPI_COMM_WORLD, sample, integrator);
  for (std::uint32_t step = 1; step <= 1000; ++step) {
    integrator.step(step);
  }
  EXPECT_NEAR(energy(MPI_COMM_WORLD, sample, integrator), start, 1e-3);
}

TEST(Physics, AnEasyAxisTurnsASpinAtItsKnownRate) {
  // A spin at angle a from the axis sees the field 2 k cos(a) / mu along it.
  Options options = lattice_options("sc", 1, 1, 1, "up", "none");
  Physics& physics = options.physics;
  physics.anisotropy_mev = 0.2;
  physics.damping = 0;
  physics.dt_fs = 1;
  Sample sample = make_sample(MPI_COMM_SELF, options);
  sample.atoms.spin[0] = {0.6, 0, 0.8};
  Integrator integrator(MPI_COMM_SELF, sample, physics);
  for (std::uint32_t step = 1; step <= 1000; ++step) {
    integrator.step(step);
  }
  const double field = 2 * 0.2 * 0.8 / (options.moment_mub * mub_mev_per_tesla);
  const double angle = gamma_per_tesla_fs * field * 1000;
  EXPECT_NEAR(integrator.spins()[0].x, 0.6 * std::cos(angle), 1e-5);
  EXPECT_NEAR(integrator.spins()[0].y, 0.6 * std::sin(angle), 1e-5);
  EXPECT_NEAR(integrator.spins()[0].z, 0.8, 1e-9);
}

TEST(Physics, FreeSpinsInAFieldReachTheLangevinFunction) {
  Options options = lattice_options("sc", 16, 16, 16, "random", "none");
  Physics& physics = options.physics;
  physics.exchange_mev = 0;
  physics.temperature_k = 10;
  physics.damping = 1;
  physics.dt_fs = 10;
  const double x = 2;  // mu B / (k T)
  physics.field_t = {0, 0, x * kb_mev_per_kelvin * 10 / (options.moment_mub * mub_mev_per_tesla)};
  const Sample sample = make_sample(MPI_COMM_WORLD, options);
  Integrator integrator(MPI_COMM_WORLD, sample, physics);
  // A spin forgets in 1 / (gamma B / 2), about 65 steps: equilibrate for 10 such times.
  std::uint32_t step = 0;
  while (step < 650) {
    integrator.step(++step);
  }
  std::vector<Vec3> mean(sample.atoms.size());
  const int samples = 400;
  for (int i = 0; i < samples; ++i) {
    integrator.step(++step);
    for (std::size_t atom = 0; atom < mean.size(); ++atom) {
      mean[atom] = mean[atom] + (1.0 / samples) * integrator.spins()[atom];
    }
  }
  // Atoms are independent of each other: their spread gives the error.
  double sum[3] = {0, 0, 0};
  double square = 0;
  for (const Vec3& m : mean) {
    for (int axis = 0; axis < 3; ++axis) {
      sum[axis] += m[axis];
    }
    square += m.z * m.z;
  }
  const double n = static_cast<double>(sample.total);
  const double mz = reduce(MPI_COMM_WORLD, sum[2], MPI_SUM) / n;
  const double variance = reduce(MPI_COMM_WORLD, square, MPI_SUM) / n - mz * mz;
  const double error = std::sqrt(variance / n);
  EXPECT_LT(error, 0.005);
  EXPECT_NEAR(mz, 1 / std::tanh(x) - 1 / x, 4 * error);
  EXPECT_NEAR(reduce(MPI_COMM_WORLD, sum[0], MPI_SUM) / n, 0, 0.025);
  EXPECT_NEAR(reduce(MPI_COMM_WORLD, sum[1], MPI_SUM) / n, 0, 0.025);
}

}  // namespace
}  // namespace vampire
