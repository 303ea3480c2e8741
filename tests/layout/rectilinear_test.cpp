// Rectilinear chunk grids of Zarr: which blocks are one, what a store of theirs holds, and grids
// that other programs wrote, also wrong ones.
#include <cstring>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <numeric>

#include "layout/block_grid.hpp"
#include "layout/local_files.hpp"
#include "layout/placement.hpp"
#include "layout/zarr/manifest.hpp"

namespace sluice::test {
namespace {

using layout::BlockGrids;
using layout::GridLimits;
using layout::Tiling;
using model::Box;
using model::Dims;
using Json = nlohmann::ordered_json;

constexpr const char* path = "s.zarr";

std::optional<Tiling> tiling_of(const std::vector<Box>& boxes, const Dims& shape,
                                const GridLimits& limits = {}) {
  BlockGrids grids(1);
  for (const Box& box : boxes) {
    grids.add(0, box);
  }
  return grids.tiling(0, shape, 1, limits);
}

/// Blocks of a grid with these lengths.
std::vector<Box> cells(const Tiling::Lengths& lengths) {
  std::vector<Box> boxes{Box{}};
  for (const auto& along : lengths) {
    std::vector<Box> next;
    for (const Box& box : boxes) {
      std::uint64_t start = 0;
      for (const std::uint64_t length : along) {
        next.push_back(box);
        next.back().start.push_back(start);
        next.back().count.push_back(length);
        start += length;
      }
    }
    boxes = next;
  }
  return boxes;
}

TEST(BlockGrid, BlocksOfAGridAreItsTiles) {
  const Tiling::Lengths lengths{{3, 4, 1}, {7}, {2, 5}};
  auto boxes = cells(lengths);
  std::swap(boxes[0], boxes[4]);
  boxes.push_back({{0, 0, 0}, {0, 0, 0}});  // of a rank without any
  const auto tiling = tiling_of(boxes, {8, 7, 7});
  ASSERT_TRUE(tiling);
  EXPECT_EQ(tiling->lengths(), (Tiling::Lengths{{3, 4, 1}, {}, {2, 5}}));
  EXPECT_EQ(tiling->tile(), (Dims{4, 7, 5}));
  EXPECT_EQ(tiling->grid({8, 7, 7}), (Dims{3, 1, 2}));
  EXPECT_EQ(tiling->number_of(0, 6), 1u);
  EXPECT_EQ(tiling->number_of(0, 7), 2u);
  EXPECT_EQ(tiling->whole({3, 1, 2}, 3), (Box{{3, 0, 2}, {4, 7, 5}}));
  EXPECT_EQ(layout::cut({8, 7, 7}, *tiling, {{2, 0, 1}, {2, 7, 1}}).size(), 2u);
  model::ByteWriter out;
  tiling->write_to(out);
  const auto bytes = out.take();
  model::ByteReader in(bytes);
  EXPECT_EQ(Tiling::read_from(in), *tiling);
}

TEST(BlockGrid, OtherBlocksAreNone) {
  auto boxes = cells({{3, 4, 1}, {2, 5}});
  auto few = boxes;
  few.pop_back();
  EXPECT_FALSE(tiling_of(few, {8, 7})) << "a hole";
  auto shifted = boxes;
  shifted[1] = {{0, 2}, {4, 5}};
  shifted[3] = {{4, 2}, {3, 5}};
  EXPECT_FALSE(tiling_of(shifted, {8, 7})) << "not a product";
  EXPECT_FALSE(tiling_of({{{1, 0}, {7, 7}}, {{0, 0}, {1, 7}}, {{0, 0}, {1, 7}}}, {8, 7}));
  EXPECT_FALSE(tiling_of({{{0, 0}, {8, 7}}}, {8, 7})) << "one block is a regular chunk";
  EXPECT_FALSE(tiling_of(boxes, {8, 7}, {.least_mean_bytes = 10})) << "too small";
  EXPECT_TRUE(tiling_of(boxes, {8, 7}, {.least_mean_bytes = 9}));
}

TEST(BlockGrid, LargeBlocksAreSeveralWholeTiles) {
  const auto tiling = tiling_of(cells({{10, 4}, {2, 5}}), {14, 7}, {.most_bytes = 20});
  ASSERT_TRUE(tiling);
  EXPECT_EQ(tiling->lengths(), (Tiling::Lengths{{3, 3, 4, 4}, {2, 5}}));
  const auto of_rows = tiling_of(cells({{2, 1}, {30}}), {3, 30}, {.most_bytes = 20});
  EXPECT_EQ(of_rows->lengths(), (Tiling::Lengths{{1, 1, 1}, {}}));
}

class Rectilinear : public testing::Test {
 protected:
  /// Five ranks have blocks of (2, 3), none, (2, 6), (5, 3) and (5, 6): a step of `v`.
  void write(const Options& options, Mode mode = Mode::write, const std::string& compress = "",
             std::uint64_t scale = 1) {
    files_.run(5, [&](exec::Transport& transport) {
      File out = files_.open(transport, path, mode, options);
      const Dims shape{7 * scale, 9};
      const Variable v =
          out.define<std::int32_t>("g/v", shape_of(shape), {.steps = true, .compress = compress});
      Giver<std::int32_t> giver;
      Step step = out.begin_step({.time = 1});
      int owner = 0;
      for (const Box& box : cells({{2 * scale, 5 * scale}, {3, 6}})) {
        if (transport.rank() == owner) {
          giver.put(step, v, 40 + out.steps(), shape_of(shape), box);
        }
        owner += owner == 0 ? 2 : 1;
      }
      step.end();
      out.close();
    });
  }
  Json document(const std::string& node) {
    return Json::parse(files_.text_of(path + std::string("/") + node + "/zarr.json"));
  }
  /// A store of one array by another program.
  void put_array(const Json& grid, const Json& shape, const Json& codecs) {
    const Json array{{"zarr_format", 3},
                     {"node_type", "array"},
                     {"shape", shape},
                     {"data_type", "uint8"},
                     {"chunk_grid", grid},
                     {"chunk_key_encoding", {{"name", "default"}}},
                     {"fill_value", 9},
                     {"codecs", codecs},
                     {"attributes", Json::object()}};
    files_.put_text(path + std::string("/zarr.json"), array.dump());
  }
  void expect_refused(const Json& chunk_shapes, Code code, const std::string& text) {
    put_array({{"name", "rectilinear"},
               {"configuration", {{"kind", "inline"}, {"chunk_shapes", chunk_shapes}}}},
              {7}, bytes);
    const Error error = files_.caught(
        2, [&](exec::Transport& transport) { files_.open(transport, path, Mode::read); });
    EXPECT_EQ(error.code(), code) << chunk_shapes;
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
  const Json bytes = Json::array({{{"name", "bytes"}, {"configuration", {{"endian", "little"}}}}});
  LocalFiles files_;
};

TEST_F(Rectilinear, ABlockIsAChunkAndAnObject) {
  write({.rectilinear = sluice::Rectilinear::always});
  write({.rectilinear = sluice::Rectilinear::never}, Mode::append);  // chunks stay as they are
  EXPECT_EQ(document("g/v").at("chunk_grid"),
            (Json{{"name", "rectilinear"},
                  {"configuration", {{"kind", "inline"}, {"chunk_shapes", {1, {2, 5}, {3, 6}}}}}}));
  EXPECT_EQ(document("g/v").at("codecs"), bytes);
  for (const char* name : {"/g/v/c.0.0.0", "/g/v/c.1.0.0"}) {
    EXPECT_EQ(files_.storage()->contents(path + std::string(name)).size(), 2u * 3 * 4) << name;
  }
  EXPECT_EQ(files_.storage()->contents("s.zarr/g/v/c.1.1.1").size(), 5u * 6 * 4);
  files_.run(4, [&](exec::Transport& transport) {
    File in = files_.open(transport, path, Mode::read);
    for (std::uint64_t step = 0; step < 2; ++step) {
      expect_values<std::int32_t>(in, "g/v", 40 + step, {7, 9},
                                  slab({7, 9}, transport.rank(), transport.size()), step);
    }
  });
}

TEST_F(Rectilinear, IsTakenByItselfForLargeBlocksIfAskedTo) {
  const auto kind = [&] { return document("g/v").at("chunk_grid").at("name"); };
  const Options automatic{.rectilinear = sluice::Rectilinear::automatic};
  write(automatic);
  EXPECT_EQ(kind(), "regular");
  // 65,800 bytes a block.
  write(automatic, Mode::write, "", 1045);
  EXPECT_EQ(kind(), "rectilinear");
  write({}, Mode::write, "", 1045);
  EXPECT_EQ(kind(), "regular");
}

TEST_F(Rectilinear, RunsOfEqualLengthsAreWrittenShort) {
  files_.run(2, [&](exec::Transport& transport) {
    File out =
        files_.open(transport, path, Mode::write, {.rectilinear = sluice::Rectilinear::always});
    const Variable v = out.define<std::uint8_t>("v", {26});
    std::vector<std::uint8_t> values(26);
    std::iota(values.begin(), values.end(), std::uint8_t{1});
    std::uint64_t start = 0;
    int number = 0;
    for (const std::uint64_t length : {2, 2, 2, 7, 5, 5, 3}) {
      if (number++ % 2 == transport.rank()) {
        out.put(v, values.data() + start, {.start = {start}, .count = {length}});
      }
      start += length;
    }
    out.close();
  });
  EXPECT_EQ(document("v").at("chunk_grid").at("configuration").value("chunk_shapes", Json()),
            Json::parse("[[[2, 3], 7, [5, 2], 3]]"));
}

TEST_F(Rectilinear, CompressedBlocksAreChunksToo) {
  if (!codec::find_method(codec::deflate_id)) {
    GTEST_SKIP() << "built without libdeflate";
  }
  for (const char* strategy : {"shared", "collective", "forward", "serial"}) {
    write({.strategy = strategy, .rectilinear = sluice::Rectilinear::always}, Mode::write,
          "deflate:3");
    EXPECT_TRUE(files_.storage()->exists("s.zarr/g/v/c.0.1.1")) << strategy;
    files_.run(2, [&](exec::Transport& transport) {
      File in = files_.open(transport, path, Mode::read);
      expect_values<std::int32_t>(in, "g/v", 40, {7, 9}, {{3, 2}, {4, 6}}, 0);
    });
  }
}

TEST_F(Rectilinear, MixedSpellingsOfOthersAreRead) {
  // A chunk may reach beyond the array, and chunks beyond it hold nothing.
  put_array({{"name", "rectilinear"},
             {"configuration",
              {{"kind", "inline"}, {"chunk_shapes", Json::parse("[[[1, 2], 6, [4, 3]], 2]")}}}},
            {7, 3}, bytes);
  std::vector<std::byte> chunk(12);
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    chunk[i] = static_cast<std::byte>(i);
  }
  files_.storage()->put("s.zarr/c/2/0", chunk);
  files_.run(3, [&](exec::Transport& transport) {
    File in = files_.open(transport, path, Mode::read);
    std::vector<std::uint8_t> got(21);
    in.get<std::uint8_t>(in.find("s"), got.data());
    for (std::uint64_t i = 0; i < 21; ++i) {
      const std::uint64_t row = i / 3, column = i % 3;
      const bool is_there = row >= 2 && column < 2;
      EXPECT_EQ(got[i], is_there ? (row - 2) * 2 + column : 9) << i;
    }
  });
}

TEST_F(Rectilinear, ShardsOfUnequalLengthsAreRead) {
  const Json inner{{"name", "sharding_indexed"},
                   {"configuration",
                    {{"chunk_shape", {2}},
                     {"codecs", bytes},
                     {"index_codecs", Json::array({bytes[0], {{"name", "crc32c"}}})},
                     {"index_location", "start"}}}};
  const Json grid{{"name", "rectilinear"},
                  {"configuration", {{"kind", "inline"}, {"chunk_shapes", {{2, 4}}}}}};
  put_array(grid, {6}, Json::array({inner}));
  auto shard = layout::zarr::encode_index({{40, 2}, {36, 2}});
  shard.resize(42, std::byte{0});
  shard[36] = std::byte{7};
  shard[40] = std::byte{5};
  files_.storage()->put("s.zarr/c/1", shard);
  files_.run(2, [&](exec::Transport& transport) {
    File in = files_.open(transport, path, Mode::read);
    std::vector<std::uint8_t> got(6);
    in.get<std::uint8_t>(in.find("s"), got.data());
    EXPECT_EQ(got, (std::vector<std::uint8_t>{9, 9, 5, 0, 7, 0}));
  });
  put_array({{"name", "rectilinear"},
             {"configuration", {{"kind", "inline"}, {"chunk_shapes", {{3, 3}}}}}},
            {6}, Json::array({inner}));
  EXPECT_EQ(files_.caught(1, [&](exec::Transport& t) { files_.open(t, path, Mode::read); }).code(),
            Code::damaged);
}

TEST_F(Rectilinear, WrongGridsAreRefused) {
  expect_refused(Json::array({Json::array({3, 3})}), Code::damaged, "6 elements for a dimension");
  expect_refused(Json::array({Json::array({3, 0, 4})}), Code::damaged, "no positive number");
  expect_refused(Json::array({Json::array({3, -4, 8})}), Code::damaged, "no positive number");
  expect_refused(Json::array({Json::array({3, 1.5, 8})}), Code::damaged, "no positive number");
  expect_refused(Json::array({Json::array({"7"})}), Code::damaged, "no positive number");
  expect_refused(Json::array({Json::array()}), Code::damaged, "without chunks");
  expect_refused(Json::array({0}), Code::damaged, "no positive number");
  expect_refused(Json::array({Json::array({Json::array({7})})}), Code::damaged, "no pair");
  expect_refused(Json::array({Json::array({Json::array({7, 0})})}), Code::damaged, "no positive");
  expect_refused(Json::array({7, 7}), Code::damaged, "number of dimensions");
  expect_refused(Json("7"), Code::damaged, "number of dimensions");
}

TEST_F(Rectilinear, TooManyChunksAreRefused) {
  put_array({{"name", "rectilinear"},
             {"configuration",
              {{"kind", "inline"}, {"chunk_shapes", Json::parse("[[[1, 99999999999]]]")}}}},
            {99999999999}, bytes);
  const Error error = files_.caught(
      2, [&](exec::Transport& transport) { files_.open(transport, path, Mode::read); });
  EXPECT_EQ(error.code(), Code::over_budget) << error.what();
}

TEST_F(Rectilinear, AGridOfAnotherKindIsNamed) {
  put_array({{"name", "hexagonal"}, {"configuration", Json::object()}}, {7}, bytes);
  files_.run(1, [&](exec::Transport& transport) {
    File in = files_.open(transport, path, Mode::read);
    EXPECT_TRUE(in.variables().empty());
  });
}

}  // namespace
}  // namespace sluice::test
