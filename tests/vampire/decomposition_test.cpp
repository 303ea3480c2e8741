// For any number of ranks: the same atoms, the same neighbours, the same spins.
#include "decomposition.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <mpi.h>
#include <vector>

#include "comm.hpp"
#include "integrator.hpp"
#include "measure.hpp"
#include "neighbours.hpp"
#include "sample.hpp"

namespace vampire {
namespace {

/// Ids of the neighbours of every own atom.
std::vector<std::vector<std::uint64_t>> ids_of(const Sample& sample, const Neighbours& found) {
  std::vector<std::vector<std::uint64_t>> result;
  const std::size_t own = sample.atoms.size();
  for (std::size_t i = 0; i < own; ++i) {
    auto& ids = result.emplace_back();
    for (std::uint64_t k = found.begin[i]; k < found.begin[i + 1]; ++k) {
      const std::uint32_t at = found.index[k];
      ids.push_back(at < own ? sample.atoms.id[at] : found.ghost_id[at - own]);
    }
  }
  return result;
}

void expect_coordination(const Options& options, std::size_t expected) {
  const Sample sample = make_sample(MPI_COMM_WORLD, options);
  const Neighbours found = find_neighbours(MPI_COMM_WORLD, sample.atoms, sample.box, sample.cutoff);
  for (const auto& ids : ids_of(sample, found)) {
    EXPECT_EQ(ids.size(), expected) << options.lattice;
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
  }
}

TEST(Decomposition, PeriodicLatticesHaveTheirCoordinationNumbers) {
  for (const auto& [nx, ny, nz] : {std::array{6, 5, 4}, std::array{2, 2, 2}, std::array{1, 1, 1},
                                   std::array{7, 1, 2}, std::array{1, 1, 9}}) {
    expect_coordination(lattice_options("sc", nx, ny, nz, "up", "xyz"), 6);
    expect_coordination(lattice_options("bcc", nx, ny, nz, "up", "xyz"), 8);
    expect_coordination(lattice_options("fcc", nx, ny, nz, "up", "xyz"), 12);
  }
}

TEST(Decomposition, ACutoffAtTheDistanceOfAShellHasAllOfIt) {
  Options options = lattice_options("sc", 9, 8, 7, "up", "xyz");
  for (const double spacing : {2.866, 3.3, 0.1}) {
    options.spacing_angstrom = spacing;
    options.cutoff_angstrom = spacing;
    expect_coordination(options, 6);
  }
}

TEST(Decomposition, SurfacesHaveFewerNeighbours) {
  const Options options = lattice_options("sc", 4, 5, 6, "up", "xz");
  const Sample sample = make_sample(MPI_COMM_WORLD, options);
  const Neighbours found = find_neighbours(MPI_COMM_WORLD, sample.atoms, sample.box, sample.cutoff);
  const auto pairs = static_cast<std::int64_t>(found.index.size());
  EXPECT_EQ(reduce(MPI_COMM_WORLD, pairs, MPI_SUM), 6 * 4 * 5 * 6 - 2 * 4 * 6);
}

TEST(Decomposition, EveryAtomHasOneOwner) {
  const Options options = lattice_options("bcc", 5, 4, 3, "random", "xyz");
  const Sample sample = make_sample(MPI_COMM_WORLD, options);
  std::vector<std::int64_t> owners(sample.total);
  for (std::size_t i = 0; i < sample.atoms.size(); ++i) {
    ++owners.at(sample.atoms.id[i]);
    EXPECT_EQ(owner_of(sample.atoms.position[i], sample.box,
                       grid_of(size_of(MPI_COMM_WORLD), sample.box.length)),
              rank_of(MPI_COMM_WORLD));
  }
  EXPECT_TRUE(std::is_sorted(sample.atoms.id.begin(), sample.atoms.id.end()));
  MPI_Allreduce(MPI_IN_PLACE, owners.data(), static_cast<int>(owners.size()), MPI_INT64_T, MPI_SUM,
                MPI_COMM_WORLD);
  EXPECT_EQ(std::count(owners.begin(), owners.end(), 1), static_cast<std::int64_t>(sample.total));
}

TEST(Decomposition, EachRankSetsUpItsShareOfWhatOneRankWould) {
  for (const char* periodic : {"xyz", "x", "none"}) {
    const Options options = lattice_options("fcc", 5, 4, 7, "random", periodic);
    const Sample whole = make_sample(MPI_COMM_SELF, options);
    const auto all =
        ids_of(whole, find_neighbours(MPI_COMM_SELF, whole.atoms, whole.box, whole.cutoff));
    const Sample sample = make_sample(MPI_COMM_WORLD, options);
    const auto mine =
        ids_of(sample, find_neighbours(MPI_COMM_WORLD, sample.atoms, sample.box, sample.cutoff));
    ASSERT_EQ(mine.size(), sample.atoms.size());
    for (std::size_t i = 0; i < sample.atoms.size(); ++i) {
      const std::uint64_t id = sample.atoms.id[i];
      ASSERT_EQ(whole.atoms.id.at(id), id);
      EXPECT_EQ(sample.atoms.position[i], whole.atoms.position[id]);
      EXPECT_EQ(sample.atoms.material[i], whole.atoms.material[id]);
      EXPECT_EQ(sample.atoms.spin[i], whole.atoms.spin[id]);
      EXPECT_EQ(mine[i], all[id]) << periodic << ", atom " << id;
    }
  }
}

TEST(Decomposition, GridsHaveTheLeastSurface) {
  EXPECT_EQ(grid_of(4, {100, 100, 1}), (std::array{2, 2, 1}));
  EXPECT_EQ(grid_of(8, {10, 10, 10}), (std::array{2, 2, 2}));
  EXPECT_EQ(grid_of(3, {1, 50, 1}), (std::array{1, 3, 1}));
  EXPECT_EQ(grid_of(5, {10, 10, 0}), (std::array{1, 5, 1}));
}

struct Outcome {
  std::uint64_t digest = 0;
  Measured measured;
};

Outcome outcome(MPI_Comm comm, const Options& options) {
  const Sample sample = make_sample(comm, options);
  Integrator integrator(comm, sample, options.physics);
  for (std::uint32_t step = 1; step <= 40; ++step) {
    integrator.step(step);
  }
  return {digest(comm, sample.atoms, integrator.spins()),
          measure(comm, sample, integrator.spins(), integrator.energies())};
}

TEST(Decomposition, SpinsAndSumsAreTheSameBitForBit) {
  for (const char* kind : {"sc", "bcc", "fcc"}) {
    for (const char* periodic : {"xyz", "y", "none"}) {
      Options options = lattice_options(kind, 5, 3, 7, "random", periodic);
      options.physics.temperature_k = 300;
      options.physics.anisotropy_mev = 0.3;
      options.physics.field_t = {1, 2, 3};
      const Outcome alone = outcome(MPI_COMM_SELF, options);
      const Outcome together = outcome(MPI_COMM_WORLD, options);
      EXPECT_EQ(alone.digest, together.digest) << kind << " " << periodic;
      EXPECT_EQ(alone.measured.magnetisation, together.measured.magnetisation);
      EXPECT_EQ(alone.measured.energy_mev, together.measured.energy_mev);
      options.physics.seed = 2;
      EXPECT_NE(alone.digest, outcome(MPI_COMM_SELF, options).digest);
    }
  }
}

TEST(Decomposition, OneErrorForAllRanks) {
  const int last = size_of(MPI_COMM_WORLD) - 1;
  try {
    agree(MPI_COMM_WORLD, [&] {
      if (rank_of(MPI_COMM_WORLD) == last) {
        throw Error(Code::format, "only the last rank saw it");
      }
    });
    FAIL() << "no error on rank " << rank_of(MPI_COMM_WORLD);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::format);
    EXPECT_STREQ(error.what(), "only the last rank saw it");
    EXPECT_EQ(error.rank(), last);
  }
}

TEST(Decomposition, TooManyNeighboursAreRefused) {
  Options options = lattice_options("sc", 10, 10, 10, "up", "xyz");
  const Sample sample = make_sample(MPI_COMM_WORLD, options);
  EXPECT_THROW(find_neighbours(MPI_COMM_WORLD, sample.atoms, sample.box, 25), Error);
  EXPECT_THROW(find_neighbours(MPI_COMM_WORLD, sample.atoms, sample.box, 1e9), Error);
}

TEST(Decomposition, TheNearestDistanceIsFound) {
  for (const auto& [kind, factor] : {std::pair{"sc", 1.0}, std::pair{"bcc", std::sqrt(0.75)},
                                     std::pair{"fcc", std::sqrt(0.5)}}) {
    const Options options = lattice_options(kind, 4, 4, 3, "up", "none");
    const Sample sample = make_sample(MPI_COMM_WORLD, options);
    EXPECT_NEAR(nearest_distance(MPI_COMM_WORLD, sample.atoms, sample.box, sample.total),
                factor * options.spacing_angstrom, 1e-12);
  }
}

}  // namespace
}  // namespace vampire
