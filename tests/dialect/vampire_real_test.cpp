// The real snapshots of one VAMPIRE run in three output modes, where they are present.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

#include "dialect/vampire/snapshot.hpp"
#include "support/local_transport.hpp"

namespace sluice::dialect::vampire {
namespace {

std::string data_folder() {
  const char* data = std::getenv("SLUICE_DATA");
  const char* source = std::getenv("SLUICE_SOURCE_DIR");
  return (data != nullptr ? std::string(data)
                          : std::string(source != nullptr ? source : ".") + "/../shared/data") +
         "/vampire";
}

struct Whole {
  Coordinates atoms;
  std::vector<std::vector<double>> spins;
  std::vector<Frame> frames;
};

/// All of a folder, read on `ranks` ranks.
Whole whole(const std::string& mode, int ranks) {
  Whole result;
  exec::run_local(ranks, 3, [&](exec::Transport& transport) {
    Snapshot snapshot = open(transport, storage::make_posix(), data_folder() + "/" + mode);
    EXPECT_EQ(snapshot.atoms(), 10648U);
    EXPECT_EQ(snapshot.frames().size(), 3U);
    EXPECT_TRUE(snapshot.notes().empty());
    const auto [first, end] = share(snapshot.atoms(), transport.rank(), ranks);
    const Coordinates atoms = snapshot.read_coordinates(first, end - first);
    const auto put = [](auto& all, const auto& part, std::uint64_t at, std::uint64_t rows) {
      all.resize(std::max<std::size_t>(all.size(), at + part.size()));
      std::copy(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(at));
      EXPECT_EQ(part.size() % rows, 0U);
    };
    put(result.atoms.material, atoms.material, first, end - first);
    put(result.atoms.category, atoms.category, first, end - first);
    put(result.atoms.xyz, atoms.xyz, 3 * first, end - first);
    result.spins.resize(3);
    for (std::uint32_t k = 0; k < 3; ++k) {
      const Frame frame = snapshot.frame(k);
      put(result.spins[k], snapshot.read_spins(frame, first, end - first), 3 * first, end - first);
      if (transport.rank() == 0) {
        result.frames.push_back(frame);
      }
    }
  });
  return result;
}

class VampireReal : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(data_folder())) {
      GTEST_SKIP() << "no real snapshots in " << data_folder() << " (set SLUICE_DATA)";
    }
  }
};

TEST_F(VampireReal, AllModesHoldTheSameRun) {
  const Whole binary = whole("fpp-binary", 1);
  for (const int ranks : {1, 3, 4}) {
    for (const char* mode : {"fpp-binary", "mpiio-binary", "fpnode2-text"}) {
      const Whole other = whole(mode, ranks);
      const bool text = other.frames[0].data.text;
      EXPECT_EQ(text, mode == std::string("fpnode2-text"));
      EXPECT_EQ(other.atoms.material, binary.atoms.material);
      EXPECT_EQ(other.atoms.category, binary.atoms.category);
      for (std::size_t i = 0; i < binary.atoms.xyz.size(); ++i) {
        ASSERT_NEAR(other.atoms.xyz[i], binary.atoms.xyz[i], text ? 1e-4 : 0);
      }
      for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_EQ(other.frames[k].meta.magnetisation, binary.frames[k].meta.magnetisation);
        for (std::size_t i = 0; i < binary.spins[k].size(); ++i) {
          ASSERT_NEAR(other.spins[k][i], binary.spins[k][i], text ? 5.1e-7 : 0);
        }
      }
    }
  }
}

TEST_F(VampireReal, MagnetisationIsWhatTheMetaPrints) {
  const Whole binary = whole("mpiio-binary", 2);
  for (std::size_t k = 0; k < 3; ++k) {
    long double sum[3] = {0, 0, 0};
    for (std::size_t i = 0; i < binary.spins[k].size(); ++i) {
      sum[i % 3] += binary.spins[k][i];
    }
    const long double length = std::sqrt(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]);
    for (int axis = 0; axis < 3; ++axis) {
      char text[32];
      std::snprintf(text, sizeof text, "%g", static_cast<double>(sum[axis] / length));
      EXPECT_EQ(text, binary.frames[k].meta.magnetisation[static_cast<std::size_t>(axis)]);
    }
  }
}

TEST_F(VampireReal, SpinsAreThoseThatItsOwnConverterPrints) {
  const Whole binary = whole("fpp-binary", 3);
  std::ifstream file(data_folder() + "/vdc-expected/spins-00000000.txt");
  std::string line;
  std::size_t row = 0;
  for (; std::getline(file, line); ++row) {
    const double* x = binary.atoms.xyz.data() + 3 * row;
    const double* s = binary.spins[0].data() + 3 * row;
    char expected[200];
    // The converter moves the middle of the sample to the origin.
    std::snprintf(expected, sizeof expected, "%g\t%g\t%g\t%g\t%g\t%g", x[0] - 37.17, x[1] - 37.17,
                  x[2] - 37.17, s[0], s[1], s[2]);
    std::istringstream found(line);
    std::istringstream wanted(expected);
    for (int column = 0; column < 6; ++column) {
      std::string a;
      std::string b;
      found >> a;
      wanted >> b;
      ASSERT_TRUE(column < 3 ? std::abs(std::stod(a) - std::stod(b)) < 1e-4 : a == b)
          << "row " << row << ": " << a << ", not " << b;
    }
  }
  EXPECT_EQ(row, 10648U);
}

}  // namespace
}  // namespace sluice::dialect::vampire
