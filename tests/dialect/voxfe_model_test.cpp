// VOX-FE's model text into planes of voxels: the same for any number of ranks, and refused with an
// error if it is wrong.
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <string>

#include "dialect/voxfe/model.hpp"
#include "sluice/error.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"

namespace sluice::dialect::voxfe {
namespace {

struct Whole {
  Grid grid{};
  std::uint64_t voxels = 0;
  std::string voxel_size;
  std::vector<std::uint8_t> materials;
};

Whole read(const std::string& text, int ranks, Grid grid = {}) {
  const auto memory = storage::make_memory();
  memory->put("a.model", std::as_bytes(std::span(text)));
  std::map<std::uint64_t, std::vector<std::uint8_t>> planes;
  Whole whole;
  exec::run_local(ranks, 1, [&](exec::Transport& transport) {
    Planes mine = Model(transport, *memory, "a.model", grid).read_planes({});
    const auto cells = mine.materials();
    EXPECT_EQ(cells.size(), mine.count * mine.grid[0] * mine.grid[1]);
    planes[mine.first].insert(planes[mine.first].end(), cells.begin(), cells.end());
    whole.grid = mine.grid;
    whole.voxels = mine.voxels;
    whole.voxel_size = mine.voxel_size;
  });
  for (const auto& [first, bytes] : planes) {
    whole.materials.insert(whole.materials.end(), bytes.begin(), bytes.end());
  }
  return whole;
}

std::string refusal(const std::string& text, Code code, Grid grid = {}) {
  std::string first;
  for (const int ranks : {1, 3}) {
    try {
      read(text, ranks, grid);
      ADD_FAILURE() << "taken: " << text;
    } catch (const Error& e) {
      EXPECT_STREQ(code_name(e.code()), code_name(code)) << e.what();
      first = e.what();
    }
  }
  return first;
}

TEST(VoxfeModel, IsTheSameOnAnyNumberOfRanks) {
  std::mt19937 draw(1);
  const Grid grid{7, 5, 23};
  std::vector<std::uint8_t> expected(grid[0] * grid[1] * grid[2]);
  std::string body;
  std::uint64_t voxels = 0;
  for (std::uint64_t i = 0; i < expected.size(); ++i) {
    if (draw() % 3 == 0) {
      continue;
    }
    expected[i] = static_cast<std::uint8_t>(1 + draw() % 255);
    ++voxels;
    body += std::to_string(voxels) + " " + std::to_string(expected[i]) + " " +
            std::to_string(i % grid[0] + 1) + " " + std::to_string(i / grid[0] % grid[1] + 1) +
            " " + std::to_string(i / grid[0] / grid[1] + 1) + (voxels % 7 == 0 ? " \r\n" : "\n");
  }
  const std::string text = "0.05 0.05 0.05\n" + std::to_string(voxels) + "\n" + body;
  for (int ranks = 1; ranks < 9; ++ranks) {
    const Whole whole = read(text, ranks, grid);
    EXPECT_EQ(whole.materials, expected) << ranks;
    EXPECT_EQ(whole.voxels, voxels);
    EXPECT_EQ(whole.voxel_size, "0.05 0.05 0.05");
  }
}

TEST(VoxfeModel, AsLargeAsNeededAndWithoutAnEndOfLine) {
  const Whole whole = read("\n2\n1 4 3 1 1\n2 5 1 2 4", 3);
  EXPECT_EQ(whole.grid, (Grid{3, 2, 4}));
  EXPECT_EQ(whole.materials[2], 4);
  EXPECT_EQ(whole.materials[3 * 6 + 3], 5);
}

TEST(VoxfeModel, WhatIsWrongIsNamed) {
  EXPECT_NE(refusal("no\nmodel\n", Code::format).find("VOX-FE"), std::string::npos);
  EXPECT_NE(refusal("", Code::format).find("VOX-FE"), std::string::npos);
  EXPECT_NE(refusal("\n99999999\n1 1 1 1 1\n", Code::format).find("99999999 voxels"),
            std::string::npos);
  EXPECT_NE(refusal("\n2\n1 1 1 1 1\n2 1 x 1 1\n", Code::format).find("a.model:4:"),
            std::string::npos);
  EXPECT_NE(refusal("\n1\n1 1 1 1 1\n2 1 2 1 1\n", Code::format).find("has 2"), std::string::npos);
  EXPECT_NE(refusal("\n1\n1 300 1 1 1\n", Code::format).find("material 300"), std::string::npos);
  EXPECT_NE(refusal("\n1\n1 1 0 1 1\n", Code::format).find("coordinate"), std::string::npos);
  EXPECT_NE(refusal("\n2\n1 1 1 1 1\n2 2 1 1 1\n", Code::overlap).find("1 1 1"), std::string::npos);
  EXPECT_NE(refusal("\n1\n1 1 5 1 1\n", Code::format, {4, 4, 4}).find("a.model:3: the voxel's x 5"),
            std::string::npos);
}

}  // namespace
}  // namespace sluice::dialect::voxfe
