// The file of a run contains what was in memory, bit for bit, and begins with the snapshot.
#include "output.hpp"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <mpi.h>

#include "comm.hpp"
#include "dialect/vampire/snapshot.hpp"
#include "exec/transport/mpi_transport.hpp"
#include "integrator.hpp"
#include "sample.hpp"

namespace vampire {
namespace {

std::string data_folder() {
  const char* data = std::getenv("SLUICE_DATA");
  const char* source = std::getenv("SLUICE_SOURCE_DIR");
  return (data != nullptr ? std::string(data)
                          : std::string(source != nullptr ? source : ".") + "/../shared/data") +
         "/vampire";
}

/// A file of this test and this number of ranks, removed at the end.
class OutputTest : public testing::Test {
 protected:
  void SetUp() override {
    options_.output = (std::filesystem::temp_directory_path() /
                       ("sluice-vampire-" + std::to_string(size_of(MPI_COMM_WORLD)) + ".h5"))
                          .string();
  }
  void TearDown() override {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_of(MPI_COMM_WORLD) == 0) {
      std::filesystem::remove(options_.output);
    }
  }

  /// Rows of all atoms on every rank.
  std::vector<double> rows_of(sluice::File& file, const char* name, std::uint64_t step) {
    const sluice::Variable variable = file.find(name);
    std::vector<double> rows(file.info(variable).shape[0] * 3);
    file.get(variable, rows.data(), {}, step);
    return rows;
  }

  void expect_stored(const std::vector<double>& rows, const Atoms& atoms, const Vec3* values) {
    for (std::size_t i = 0; i < atoms.size(); ++i) {
      ASSERT_EQ(std::memcmp(rows.data() + 3 * atoms.id[i], values + i, sizeof(Vec3)), 0)
          << "atom " << atoms.id[i];
    }
  }

  Options options_;
};

TEST_F(OutputTest, EveryStepIsStoredBitForBit) {
  for (const char* strategy : {"serial", "shared"}) {
    for (const char* kind : {"sc", "bcc"}) {
      const std::string file_name = options_.output;
      options_ = lattice_options(kind, 6, 5, 4, "random", "xyz");
      options_.output = file_name;
      options_.strategy = strategy;
      options_.physics.temperature_k = 200;
      const Sample sample = make_sample(MPI_COMM_WORLD, options_);
      Integrator integrator(MPI_COMM_WORLD, sample, options_.physics);
      std::vector<std::vector<Vec3>> kept;
      FileOutput output(MPI_COMM_WORLD, sample, options_, 0);
      for (std::uint32_t step = 0; step <= 3; ++step) {
        if (step > 0) {
          integrator.step(step);
        }
        output.write(0.25 * step, integrator.spins(), {});
        kept.emplace_back(integrator.spins(), integrator.spins() + sample.atoms.size());
      }
      const OutputCost cost = output.close();
      EXPECT_EQ(cost.steps, 4U);
      EXPECT_EQ(cost.bytes, sample.total * (24 * 5 + 4));
      EXPECT_GT(cost.seconds, 0);
      sluice::File file(MPI_COMM_WORLD, options_.output, sluice::Mode::read);
      ASSERT_EQ(file.steps(), 4U);
      expect_stored(rows_of(file, "coordinates", 0), sample.atoms, sample.atoms.position.data());
      for (std::uint64_t step = 0; step < 4; ++step) {
        EXPECT_EQ(file.time(step), 0.25 * static_cast<double>(step));
        expect_stored(rows_of(file, "spins", step), sample.atoms, kept[step].data());
      }
      EXPECT_EQ(std::get<double>(file.attribute("", "temperature_k")), 200);
      EXPECT_EQ(std::get<std::string>(file.attribute("coordinates", "units")), "Angstrom");
      file.close();
    }
  }
}

TEST_F(OutputTest, TheFirstStepIsTheSnapshotsOwnBytes) {
  if (!std::filesystem::exists(data_folder())) {
    GTEST_SKIP() << "no real snapshots in " << data_folder() << " (set SLUICE_DATA)";
  }
  for (const char* mode : {"fpp-binary", "mpiio-binary", "fpnode2-text"}) {
    options_.start_from = data_folder() + "/" + mode;
    const Sample sample = make_sample(MPI_COMM_WORLD, options_);
    Integrator integrator(MPI_COMM_WORLD, sample, options_.physics);
    FileOutput output(MPI_COMM_WORLD, sample, options_, 0);
    output.write(0, integrator.spins(), {});
    output.close();

    sluice::File file(MPI_COMM_WORLD, options_.output, sluice::Mode::read);
    const auto transport = sluice::exec::make_mpi(MPI_COMM_WORLD, 60);
    auto snapshot = sluice::dialect::vampire::open(*transport, sluice::storage::make_posix(),
                                                   options_.start_from);
    const auto whole = snapshot.read_spins(snapshot.frame(2), 0, snapshot.atoms());
    const auto found = rows_of(file, "spins", 0);
    ASSERT_EQ(found.size(), whole.size());
    EXPECT_EQ(std::memcmp(found.data(), whole.data(), 8 * whole.size()), 0) << mode;
    const auto places = snapshot.read_coordinates(0, snapshot.atoms());
    EXPECT_EQ(rows_of(file, "coordinates", 0), places.xyz);
    std::vector<std::int32_t> material(snapshot.atoms());
    file.get(file.find("material"), material.data());
    EXPECT_EQ(material, places.material);
    file.close();
  }
}

}  // namespace
}  // namespace vampire
