// VOX-FE's model text into planes of voxels: the same for any number of ranks, and refused with an
// error if it is wrong.
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <string>

#include "dialect/voxfe/displacement.hpp"
#include "dialect/voxfe/model.hpp"
#include "exec/transport/agree.hpp"
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

/// Expects changed_outside of `work`(reader) on every rank, where the text becomes `after` between
/// the scan and it.
template <class Reader, class Work>
void expect_changed(const std::string& before, const std::string& after, const Work& work) {
  for (const int ranks : {1, 3}) {
    const auto memory = storage::make_memory();
    memory->put("a.model", std::as_bytes(std::span(before)));
    int refused = 0;
    exec::run_local(ranks, 1, [&](exec::Transport& transport) {
      Reader reader(transport, *memory, "a.model");
      transport.barrier();
      if (transport.rank() == 0) {
        const auto file = memory->open("a.model", storage::Access::read_write);
        file->resize(after.size());
        file->write(0, std::as_bytes(std::span(after)));
      }
      transport.barrier();
      try {
        work(transport, reader);
      } catch (const Error& e) {
        EXPECT_STREQ(code_name(e.code()), code_name(Code::changed_outside)) << e.what();
        ++refused;
      }
    });
    EXPECT_EQ(refused, ranks) << after;
  }
}

const std::string two_voxels = "\n2\n1 4 1 1 1\n2 5 2 2 2\n";

TEST(VoxfeModel, ATextThatChangesBetweenThePassesIsRefused) {
  for (const char* after : {"\n2\n1 4 1 1 1\n2 5 2 2 9\n", "\n2\n1 4 1 1 1\n2 5 9 2 2\n",
                            "\n2\n1 4 1 1 1\n           ", "\n2\n1 4 1 1 1\n"}) {
    expect_changed<Model>(two_voxels, after,
                          [](exec::Transport&, Model& model) { model.read_planes({}); });
  }
  for (const char* after : {"\n2\n1 4 1 1 1\n           ", "\n2\n1 4 1 1 1\n"}) {
    expect_changed<Model>(two_voxels, after, [](exec::Transport& transport, Model& model) {
      std::vector<std::int64_t> element(model.rows());
      std::vector<std::uint8_t> material(model.rows());
      std::vector<std::int32_t> at(model.rows());
      exec::together(transport, [&] { model.read_columns({element, material, {at, at, at}}); });
    });
  }
}

TEST(VoxfeDisplacements, ATextThatChangesBetweenThePassesIsRefused) {
  const std::string head = "nNodes: 2\nNodes: 1 1 2\nMaterials: m\n";
  expect_changed<Displacements>(
      head + "0 0 0 0 1 1 1\n1 0 0 1 1 1 1\n", head + "0 0 0 0 1 1 1\n              ",
      [](exec::Transport& transport, Displacements& text) {
        std::vector<std::int64_t> id(text.rows());
        std::vector<double> value(3 * text.rows());
        exec::together(transport, [&] { text.read_columns({id, value}); });
      });
}

}  // namespace
}  // namespace sluice::dialect::voxfe
