// Damaged compressed files: errors that name the variable and the chunk, the same on every rank,
// and never wrong values.
#include <algorithm>
#include <gtest/gtest.h>

#include "api/file/file_impl.hpp"
#include "codec/filter.hpp"
#include "layout/formats/formats.hpp"
#include "layout/local_files.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

using model::Box;

const Shape shape = {64, 256};

class Damage : public testing::Test {
 protected:
  void SetUp() override {
    if (!codec::find_method(codec::deflate_id)) {
      GTEST_SKIP() << "built without libdeflate";
    }
    files_.run(2, [&](exec::Transport& transport) {
      Options options;
      options.checksum = false;
      File out = files_.open(transport, "f.h5", Mode::write, options);
      const Variable v = out.define<std::int32_t>(
          "v", shape, {.steps = true, .chunk = {16, 256}, .compress = "deflate:6"});
      Giver<std::int32_t> giver;
      Step step = out.begin_step();
      Array<std::int32_t> values(64 * 256);
      for (std::uint64_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<std::int32_t>(i / 10);
      }
      if (transport.rank() == 0) {
        step.put(v, values.data());
      }
      step.end();
      out.close();
    });
    const auto file = files_.storage()->open("f.h5", storage::Access::read);
    const auto catalog = layout::open_catalog(layout::format_named("hdf5"), *file);
    for (std::uint32_t v = 0; v < catalog->variables().size(); ++v) {
      if (catalog->variables()[v].definition.name == "v") {
        tiles_ = catalog->locate_encoded(v, 0, whole_box(shape));
      }
    }
    ASSERT_EQ(tiles_.sizes.size(), 4u);
    bytes_ = files_.storage()->contents("f.h5");
  }

  /// The error of reading everything with 3 ranks.
  Error reading(const Options& options = {}) {
    files_.storage()->put("f.h5", bytes_);
    return files_.caught(3, [&](exec::Transport& transport) {
      File in = files_.open(transport, "f.h5", Mode::read, options);
      Array<std::int32_t> got(64 * 256);
      in.get<std::int32_t>(in.find("v"), got.data(), {}, 0);
    });
  }

  LocalFiles files_;
  layout::EncodedTiles tiles_;
  std::vector<std::byte> bytes_;
};

TEST_F(Damage, IsNoneAtFirst) { EXPECT_EQ(reading().code(), Code::ok); }

TEST_F(Damage, OfAChunkNamesIt) {
  for (std::uint64_t i = 0; i < tiles_.sizes[2]; ++i) {
    bytes_[tiles_.placement.address(2) + i] = std::byte{0x5a};
  }
  expect_error(reading(), Code::damaged, {"v, step 0", "chunk at (32, 0)", "deflate"});
}

/// Puts 8 bytes wherever the file has `from`, near nothing else: in the chunk index.
int replace(std::vector<std::byte>& bytes, std::uint64_t from, std::uint64_t to, int width) {
  std::vector<std::byte> before;
  for (int i = 0; i < width; ++i) {
    before.push_back(static_cast<std::byte>(from >> (8 * i)));
  }
  int count = 0;
  auto at = bytes.begin();
  while ((at = std::search(at, bytes.end(), before.begin(), before.end())) != bytes.end()) {
    for (int i = 0; i < width; ++i, ++at) {
      *at = static_cast<std::byte>(to >> (8 * i));
    }
    ++count;
  }
  return count;
}

TEST_F(Damage, OfTheIndexIsFound) {
  // The addresses of the chunks are in the index, which has its own checksum.
  ASSERT_GE(replace(bytes_, tiles_.placement.address(1), bytes_.size() * 2, 8), 1);
  const Error error = reading();
  EXPECT_TRUE(error.code() == Code::damaged || error.code() == Code::format) << error.what();
  EXPECT_NE(std::string(error.what()).find("v"), std::string::npos);
}

TEST_F(Damage, OfSizesIsFoundByWhoeverTrustsTheIndex) {
  const auto file = files_.storage()->open("f.h5", storage::Access::read);
  const codec::Pipeline pipeline = codec::parse_pipeline("deflate:6", 4);
  std::vector<std::byte> dense(tiles_.placement.tile_bytes());
  auto message_for = [&](std::uint64_t size) {
    layout::EncodedTiles bad = tiles_;
    bad.sizes[1] = size;
    try {
      layout::TileDecoder(pipeline, "f.h5: v", 1 << 30).read(*file, bad, 1, dense);
      return std::string();
    } catch (const Error& e) {
      return std::string(code_name(e.code())) + " " + e.what();
    }
  };
  EXPECT_EQ(message_for(tiles_.sizes[1]), "");
  for (const std::uint64_t size : {std::uint64_t{0}, tiles_.sizes[1] / 2, std::uint64_t{1} << 62,
                                   ~std::uint64_t{0}, bytes_.size()}) {
    const std::string message = message_for(size);
    EXPECT_NE(message.find("damaged"), std::string::npos) << size << ": " << message;
    EXPECT_NE(message.find("v, chunk at (16, 0)"), std::string::npos) << message;
  }
}

TEST_F(Damage, ABombIsNotUnpacked) {
  // A valid stream of far more bytes than the chunk has.
  codec::Coder coder(codec::parse_pipeline("deflate:6", 1));
  const std::vector<std::byte> zeros(8 << 20);
  const auto bomb = coder.encode(zeros).bytes;
  const std::uint64_t size = tiles_.sizes[3];
  ASSERT_GT(size, 100u);
  std::copy_n(bomb.begin(), std::min<std::size_t>(bomb.size(), size),
              bytes_.begin() + static_cast<std::ptrdiff_t>(tiles_.placement.address(3)));
  expect_error(reading(), Code::damaged, {"v, step 0", "chunk at (48, 0)"});
}

TEST_F(Damage, LargeChunksNeedABudget) {
  Options options;
  options.budget_bytes = 16 << 10;
  expect_error(reading(options), Code::over_budget, {"v, step 0", "16384 bytes"});
}

/// What is written with the defaults is read with the defaults, however long its chunks are.
/// Steps of a variable with checksums: numbers, then nothing but the fill value, then nothing.
void write_store(LocalFiles& files, const std::string& path, const std::string& compress) {
  files.run(2, [&](exec::Transport& transport) {
    File out = files.open(transport, path, Mode::write);
    const Variable v = out.define<std::int32_t>(
        "v", shape,
        {.steps = true, .partial = true, .fill = 7, .chunk = {16, 256}, .compress = compress});
    const Box mine = slab(shape, transport.rank(), 2);
    for (int s = 0; s < 3; ++s) {
      Array<std::int32_t> values(mine.volume());
      std::fill_n(values.data(), values.size(), s == 0 ? 1 + transport.rank() : 7);
      Step step = out.begin_step();
      if (s < 2) {
        step.put(v, values.data(), selection_of(mine));
      }
      step.end();
    }
    out.close();
  });
}

TEST_F(Damage, AChunkThatIsGoneIsNotTheFillValue) {
  for (const char* compress : {"deflate:6", "none"}) {
    LocalFiles files;
    write_store(files, "s.zarr", compress);
    const auto read = [&](std::uint64_t step) {
      return files.caught(3, [&](exec::Transport& transport) {
        File in = files.open(transport, "s.zarr", Mode::read);
        Array<std::int32_t> got(64 * 256);
        in.get<std::int32_t>(in.find("v"), got.data(), {}, step);
        EXPECT_EQ(got[0], step == 0 ? 1 : 7);
      });
    };
    const auto read_row = [&](std::uint64_t step) {
      return files.caught(3, [&](exec::Transport& transport) {
        File in = files.open(transport, "s.zarr", Mode::read);
        const std::vector<std::uint64_t> ids{static_cast<std::uint64_t>(transport.rank()) + 1};
        std::vector<std::int32_t> row(256);
        in.get_rows(in.find("v"), ids, row, step);
        EXPECT_EQ(row[255], step == 0 ? 1 : 7);
      });
    };
    for (std::uint64_t step = 0; step < 3; ++step) {
      EXPECT_EQ(read(step).code(), Code::ok) << compress << step;
      EXPECT_EQ(read_row(step).code(), Code::ok) << compress << step;
    }
    for (const std::string& path : files.storage()->paths()) {
      if (path.starts_with("s.zarr/v/c.0.")) {
        files.storage()->remove(path);
      }
    }
    for (const Error& error : {read(0), read_row(0)}) {
      expect_error(error, Code::damaged, {"v, step 0", "does not match its checksum"});
    }
    EXPECT_EQ(read(1).code(), Code::ok);
    EXPECT_EQ(read_row(2).code(), Code::ok);
  }
}

TEST_F(Damage, ALongChunkIsReadAlone) {
  const Shape chunk{34, 1 << 20};  // 136 MiB, more than half of the budget
  files_.run(2, [&](exec::Transport& transport) {
    File out = files_.open(transport, "long.h5", Mode::write);
    const Variable v = out.define<std::int32_t>(
        "v", {68, 1 << 20}, {.partial = true, .fill = 3, .chunk = chunk, .compress = "deflate:1"});
    const auto rank = static_cast<std::uint64_t>(transport.rank());
    const std::int32_t value = 10 + transport.rank();
    out.put(v, &value, {.start = {34 * rank + 20, 5}, .count = {1, 1}});
    out.close();
  });
  const auto read = [&](const Options& options) {
    return files_.caught(3, [&](exec::Transport& transport) {
      File in = files_.open(transport, "long.h5", Mode::read, options);
      std::vector<std::int32_t> got(6);
      in.get(in.find("v"), got.data(), {.start = {53, 4}, .count = {2, 3}});
      EXPECT_EQ(got, (std::vector<std::int32_t>{3, 3, 3, 3, 11, 3}));
      in.get(in.find("v"), got.data(), {.start = {20, 4}, .count = {1, 6}});
      EXPECT_EQ(got, (std::vector<std::int32_t>{3, 10, 3, 3, 3, 3}));
    });
  };
  const auto read_row = [&](const Options& options) {
    return files_.caught(2, [&](exec::Transport& transport) {
      File in = files_.open(transport, "long.h5", Mode::read, options);
      const std::vector<std::uint64_t> ids{20 + 34 * static_cast<std::uint64_t>(transport.rank())};
      std::vector<std::int32_t> row(1 << 20);
      in.get_rows(in.find("v"), ids, row);
      EXPECT_EQ(row[4], 3);
      EXPECT_EQ(row[5], 10 + transport.rank());
    });
  };
  EXPECT_EQ(read_row({}).code(), Code::ok);
  EXPECT_EQ(read({}).code(), Code::ok);
  Options smaller;
  smaller.budget_bytes -= 1;
  expect_error(read(smaller), Code::over_budget, {"v: a chunk has 142606336 bytes"});
  expect_error(read_row(smaller), Code::over_budget, {"v: a chunk has 142606336 bytes"});
}

}  // namespace
}  // namespace sluice::test
