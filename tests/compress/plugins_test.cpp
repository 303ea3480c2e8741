// Plugins of HDF5 as codecs: found by number in the folders of HDF5_PLUGIN_PATH, called by every
// rank, and refused with a reason where they cannot be used. The plugins are those of toy_filter.c;
// test_plugins.py has real ones.
#include "codec/plugins.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "api/file/file_impl.hpp"
#include "commit/tools/verify.hpp"
#include "layout/formats/formats.hpp"
#include "layout/local_files.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using model::Box;

const Shape shape = {48, 100};
constexpr int ranks = 3;
constexpr const char* toy = "filter:300";          // calls nothing of libhdf5
constexpr const char* linked_toy = "filter:301";   // has a set_local
constexpr const char* foreign_toy = "filter:302";  // is linked to another libhdf5

/// The folder of the plugins, and one with files that are none.
void set_folders(const std::string& first = "") {
  const std::string folders = (first.empty() ? "" : first + ":") + SLUICE_TOY_PLUGINS;
  setenv("HDF5_PLUGIN_PATH", folders.c_str(), 1);
}

class Plugins : public testing::Test {
 protected:
  void SetUp() override { set_folders(); }

  template <class T>
  static Array<T> values(std::uint64_t step, const Box& box) {
    Array<T> all(box.volume());
    for_each_element(dims_of(shape), box, [&](std::uint64_t index, std::uint64_t k) {
      all[k] = static_cast<T>((index / 300 + step) * 0x01010101);  // the same byte, so it shrinks
    });
    return all;
  }

  template <class T>
  void write(const std::string& path, const std::string& compress, const Options& options = {},
             Mode mode = Mode::write, std::uint64_t first = 0) {
    files_.run(ranks, [&](exec::Transport& transport) {
      File out = files_.open(transport, path, mode, options);
      write_steps<T>(out, compress, transport.rank(), first);
      out.close();
    });
  }

  template <class T>
  static void write_steps(File& out, const std::string& compress, int rank, std::uint64_t first) {
    const Variable v =
        out.define<T>("v", shape, {.steps = true, .chunk = {8, 100}, .compress = compress});
    const Box mine = slab(shape, rank, ranks);
    for (std::uint64_t s = first; s < first + 2; ++s) {
      const Array<T> given = values<T>(s, mine);
      Step step = out.begin_step();
      step.put(v, given.data(), selection_of(mine));
      step.end();
    }
  }

  template <class T>
  void expect_values(const std::string& path, int readers, std::uint64_t steps) {
    files_.run(readers, [&](exec::Transport& transport) {
      File in = files_.open(transport, path, Mode::read);
      ASSERT_EQ(in.steps(), steps);
      for (std::uint64_t s = 0; s < steps; ++s) {
        Array<T> got(48 * 100);
        in.get<T>(in.find("v"), got.data(), {}, s);
        const Array<T> expected = values<T>(s, whole_box(shape));
        ASSERT_TRUE(std::equal(got.data(), got.data() + got.size(), expected.data()));
      }
    });
  }

  layout::StoredVariable stored(const std::string& path) {
    const auto file = files_.storage()->open(path, storage::Access::read);
    const auto catalog = layout::open_catalog(layout::format_named("hdf5"), *file);
    for (const layout::StoredVariable& variable : catalog->variables()) {
      if (variable.definition.name == "v") {
        return variable;
      }
    }
    return {};
  }

  /// Of step 0.
  layout::EncodedTiles tiles_of(const std::string& path) {
    const auto file = files_.storage()->open(path, storage::Access::read);
    const auto catalog = layout::open_catalog(layout::format_named("hdf5"), *file);
    for (std::uint32_t v = 0; v < catalog->variables().size(); ++v) {
      if (catalog->variables()[v].definition.name == "v") {
        return catalog->locate_encoded(v, 0, whole_box(shape));
      }
    }
    return {};
  }

  Error reading_with_a_changed_byte(const std::string& path, std::uint64_t address) {
    auto bytes = files_.storage()->contents(path);
    bytes.at(address) ^= std::byte{1};
    files_.storage()->put(path, bytes);
    return files_.caught(2, [&](exec::Transport& transport) {
      Options options;
      options.checksum = false;
      File in = files_.open(transport, path, Mode::read, options);
      Array<std::int32_t> got(48 * 100);
      in.get<std::int32_t>(in.find("v"), got.data(), {}, 0);
    });
  }

  Error writing(const std::string& path, const std::string& compress) {
    return files_.caught(ranks, [&](exec::Transport& transport) {
      File out = files_.open(transport, path, Mode::write);
      write_steps<float>(out, compress, transport.rank(), 0);
      out.close();
    });
  }

  LocalFiles files_;
};

bool says(const Error& error, const std::string& text) {
  return std::string(error.what()).find(text) != std::string::npos;
}

TEST_F(Plugins, EveryStrategyAndNumberOfReaders) {
  for (const char* strategy : {"shared", "collective", "serial", "forward", "file-per-process"}) {
    for (const char* path : {"f.h5", "f.nc"}) {
      SCOPED_TRACE(std::string(strategy) + " " + path);
      Options options;
      options.strategy = strategy;
      options.durability = Durability::none;
      write<std::int32_t>(path, toy, options);
      for (const int readers : {1, 2, 4}) {
        expect_values<std::int32_t>(path, readers, 2);
      }
    }
  }
}

TEST_F(Plugins, StepsAreAppendedWithTheValuesInTheFile) {
  write<std::int32_t>("f.h5", linked_toy);
  write<std::int32_t>("f.h5", linked_toy, {}, Mode::append, 2);
  expect_values<std::int32_t>("f.h5", 2, 4);
}

TEST_F(Plugins, SetLocalMakesTheValuesOfTheFile) {
  write<std::int16_t>("f.h5", linked_toy);
  // What was asked for (nothing: 0), bytes of an element, elements of a chunk; then fletcher32.
  EXPECT_EQ(stored("f.h5").definition.compress, "stored:301,0,2,800+3");
  expect_values<std::int16_t>("f.h5", 3, 2);
}

TEST_F(Plugins, WhatDoesNotShrinkIsStoredAsItIs) {
  for (const char* kind : {",1", ",2"}) {  // grows, gives up
    SCOPED_TRACE(kind);
    write<std::int32_t>("f.h5", std::string(toy) + kind);
    expect_values<std::int32_t>("f.h5", 2, 2);
  }
}

TEST_F(Plugins, WhatDoesNotDecodeToAChunkIsDamaged) {
  for (const char* kind : {",3", ",4"}) {  // too much, nothing
    SCOPED_TRACE(kind);
    Options options;
    options.checksum = false;
    write<std::int32_t>("f.h5", std::string(toy) + kind, options);
    const Error error = files_.caught(2, [&](exec::Transport& transport) {
      File in = files_.open(transport, "f.h5", Mode::read, options);
      Array<std::int32_t> got(48 * 100);
      in.get<std::int32_t>(in.find("v"), got.data(), {}, 0);
    });
    EXPECT_EQ(error.code(), Code::damaged) << error.what();
    EXPECT_TRUE(says(error, "v, step 0, chunk at")) << error.what();
    EXPECT_TRUE(says(error, "filter 300")) << error.what();
  }
}

TEST_F(Plugins, AChangedByteDoesNotReachThePlugin) {
  Options options;
  options.checksum = false;
  write<std::int32_t>("f.h5", toy, options);
  const layout::EncodedTiles tiles = tiles_of("f.h5");
  ASSERT_FALSE(tiles.sizes.empty());
  ASSERT_EQ(tiles.masks[1], 0u);
  const Error error = reading_with_a_changed_byte("f.h5", tiles.placement.address(1));
  EXPECT_EQ(error.code(), Code::damaged);
  EXPECT_TRUE(says(error, "fletcher32")) << error.what();
}

TEST_F(Plugins, AChangedByteOfWhatDoesNotShrinkIsFound) {
  // The toy counts as lossy: Sluice keeps no checksums of the values.
  for (const char* kind : {",1", ",2", ",1+shuffle"}) {  // grows, gives up
    SCOPED_TRACE(kind);
    write<std::int32_t>("f.h5", std::string(toy) + kind);
    const layout::EncodedTiles tiles = tiles_of("f.h5");
    const bool is_shuffled = std::string(kind).ends_with("shuffle");
    ASSERT_EQ(tiles.masks.at(1), is_shuffled ? 0b011U : 0b01U);
    ASSERT_EQ(tiles.sizes.at(1), tiles.placement.tile_bytes() + 4);
    const Error error = reading_with_a_changed_byte("f.h5", tiles.placement.address(1) + 7);
    EXPECT_EQ(error.code(), Code::damaged);
    EXPECT_TRUE(says(error, "v, step 0, chunk at")) << error.what();
  }
}

TEST_F(Plugins, LossyOnesHaveNoChecksums) {
  // Nothing is known of the toy, so it counts as lossy.
  files_.run(ranks, [&](exec::Transport& transport) {
    File out = files_.open(transport, "f.h5", Mode::write);
    const Variable w = out.define<std::int32_t>("w", {1}, {.compress = "none"});
    const std::int32_t one = 1;
    if (transport.rank() == 0) {
      out.put(w, &one);
    }
    write_steps<std::int32_t>(out, toy, transport.rank(), 0);
    out.close();
  });
  files_.run(2, [&](exec::Transport& transport) {
    const auto verdict = commit::verify(transport, *files_.storage(), "f.h5");
    EXPECT_EQ(verdict.finding_count, 0u);
    ASSERT_EQ(verdict.uncovered.size(), 1u);
    EXPECT_EQ(verdict.uncovered[0], "v (may be lossy)");
  });
}

TEST_F(Plugins, AnotherFormatRefusesThem) {
  for (const char* path : {"f.zarr", "f.vtkhdf"}) {
    const Error error = writing(path, toy);
    EXPECT_EQ(error.code(), Code::unsupported);
    EXPECT_TRUE(says(error, "plugins of HDF5")) << error.what();
    EXPECT_TRUE(says(error, "use format hdf5")) << error.what();
  }
}

TEST_F(Plugins, OneThatRefusesTheVariableIsNamed) {
  const Error error = writing("f.h5", linked_toy);  // of floats
  EXPECT_EQ(error.code(), Code::unsupported);
  EXPECT_TRUE(says(error, "v: filter 301")) << error.what();
}

TEST_F(Plugins, OneOfAnotherLibraryIsRefused) {
  const Error error = writing("f.h5", foreign_toy);
  EXPECT_EQ(error.code(), Code::unsupported);
#if !defined(SLUICE_ADDRESS_SANITIZER) && !defined(__SANITIZE_THREAD__)
  // Under sanitizers a plugin's names are not looked up in its own libraries first.
  EXPECT_TRUE(says(error, "toy_foreign.so")) << error.what();
  EXPECT_TRUE(says(error, "other_hdf5")) << error.what();
#endif
}

TEST_F(Plugins, AMissingOneIsNamedWithFoldersAndRemedy) {
  const Error error = writing("f.h5", "filter:303");
  EXPECT_EQ(error.code(), Code::unsupported);
  EXPECT_TRUE(says(error, "filter number 303")) << error.what();
  EXPECT_TRUE(says(error, SLUICE_TOY_PLUGINS)) << error.what();
  EXPECT_TRUE(says(error, "HDF5_PLUGIN_PATH")) << error.what();
  EXPECT_FALSE(files_.storage()->exists("f.h5"));
}

TEST_F(Plugins, JunkInTheFolderDoesNotDisturb) {
  const fs::path folder = fs::path(testing::TempDir()) / "sluice_junk_plugins";
  fs::remove_all(folder);
  fs::create_directories(folder / "libfolder.so");
  std::ofstream(folder / "libtext.so") << "no library\n";
  std::ofstream(folder / "libempty.so").flush();
  std::ofstream(folder / "notes.txt") << "nothing\n";
  fs::copy_file(SLUICE_OTHER_HDF5, folder / "libnofilter.so");
  std::ifstream whole(SLUICE_OTHER_HDF5, std::ios::binary);
  std::string start(600, '\0');
  whole.read(start.data(), 600);
  std::ofstream(folder / "libhalf.so", std::ios::binary) << start;
  set_folders("/nowhere:" + folder.string() + "::");

  write<std::int32_t>("f.h5", toy);
  expect_values<std::int32_t>("f.h5", 2, 2);
  const Error error = writing("g.h5", "filter:304");
  for (const char* name : {"libtext.so", "libempty.so", "libhalf.so", "libnofilter.so",
                           "/nowhere (No such file or directory)"}) {
    EXPECT_TRUE(says(error, name)) << name << ": " << error.what();
  }
  fs::remove_all(folder);
}

TEST(PluginOptions, NamesAndNumbers) {
  using codec::Pipeline;
  const codec::Filter shuffle{codec::shuffle_id, {8}};
  const codec::Filter sum{codec::fletcher32_id, {}};
  const auto parsed = [](const std::string& text) { return codec::parse_pipeline(text, 8); };
  EXPECT_EQ(parsed("lz4"), (Pipeline{shuffle, {32004, {0}}, sum}));
  EXPECT_EQ(parsed("lz4+noshuffle"), (Pipeline{{32004, {0}}, sum}));
  EXPECT_EQ(parsed("bzip2:5"), (Pipeline{shuffle, {307, {5}}, sum}));
  EXPECT_EQ(parsed("bitshuffle:zstd,7"), (Pipeline{{32008, {0, 3, 7}}, sum}));
  EXPECT_EQ(parsed("blosc2:zstd,5"), (Pipeline{{32026, {0, 0, 0, 0, 5, 1, 5}}, sum}));
  EXPECT_EQ(parsed("zfp:reversible"), (Pipeline{{32013, {5, 0, 0, 0, 0, 0}}, sum}));
  EXPECT_EQ(parsed("zfp:accuracy=0.5"), (Pipeline{{32013, {3, 0, 0, 0x3fe00000, 0, 0}}, sum}));
  EXPECT_EQ(parsed("sz3:abs=0.5"), (Pipeline{{32024, {0, 0x3fe00000, 0, 0, 0, 0, 0, 0, 0}}, sum}));
  EXPECT_EQ(parsed("filter:32001,0,0,0,0,5,1,1"), (Pipeline{{32001, {0, 0, 0, 0, 5, 1, 1}}, sum}));
  EXPECT_EQ(parsed("round:10+lz4"), parsed("lz4"));
  for (const char* wrong :
       {"filter", "filter:", "filter:x", "filter:1,6", "filter:510", "lz4:x", "lz4:5,x",
        "bzip2:9,1", "zfp", "zfp:rate=0", "zfp:rate=nan", "zfp:bits=3", "sz3:abs", "blosc2:gzip",
        "blosc2:zstd,99", "bzip2:10", "bitshuffle:lz4,3", "filter:32001,5000000000"}) {
    EXPECT_THROW(parsed(wrong), Error) << wrong;
  }
}

TEST(PluginOptions, OfAFileAreTakenAgainWhereTheySayWhatWasAsked) {
  EXPECT_EQ(codec::text_for_copy("stored:2,8+32004,0+3"), "filter:32004,0+shuffle");
  EXPECT_EQ(codec::text_for_copy("stored:32008,0,3,8,0,2"), "filter:32008,0,2");
  EXPECT_EQ(codec::text_for_copy("stored:32013,1,2,3,4"), "");
  EXPECT_EQ(codec::text_for_copy("deflate:6"), "deflate:6");
  EXPECT_EQ(codec::text_for_copy("stored:3"), "");
  std::string long_list = "stored:1";
  for (int i = 0; i < 32; ++i) {
    long_list += "+1";
  }
  for (const std::string& text : {std::string("stored:"), std::string("stored:+"), long_list}) {
    EXPECT_THROW(codec::text_for_copy(text), Error) << text;
  }
}

TEST(PluginSizes, OfHeadersAreCompared) {
  std::vector<std::byte> header(16);
  header[6] = std::byte{1};
  EXPECT_EQ(codec::claimed_bytes({32004, {}}, header), 256u);
  EXPECT_EQ(codec::claimed_bytes({32008, {0, 3, 8, 0, 2}}, header), 256u);
  EXPECT_EQ(codec::claimed_bytes({32008, {0, 3, 8, 0, 0}}, header), std::nullopt);
  EXPECT_EQ(codec::claimed_bytes({32001, {}}, header), 0x10000u);
  EXPECT_EQ(codec::claimed_bytes({307, {}}, header), std::nullopt);
}

TEST(PluginSizes, OfBlocksAreFollowed) {
  // 16 bytes in blocks of 8: each of 3 bytes behind its length.
  std::vector<std::byte> stored(12 + 2 * (4 + 3));
  stored[7] = std::byte{16};
  stored[11] = std::byte{8};
  stored[15] = stored[22] = std::byte{3};
  const codec::Filter lz4{32004, {0}};
  const codec::Filter bitshuffle{32008, {0, 3, 1, 0, 2}};
  for (const codec::Filter& filter : {lz4, bitshuffle}) {
    auto bytes = stored;
    EXPECT_TRUE(codec::is_plausible(filter, bytes, 16));
    EXPECT_FALSE(codec::is_plausible(filter, bytes, 17));
    EXPECT_FALSE(codec::is_plausible(filter, std::span(bytes).first(25), 16));
    bytes[22] = std::byte{4};  // one more than there are
    EXPECT_FALSE(codec::is_plausible(filter, bytes, 16));
    bytes = stored;
    bytes[11] = std::byte{0};  // blocks of nothing
    EXPECT_FALSE(codec::is_plausible(filter, bytes, 16));
    EXPECT_FALSE(codec::is_plausible(filter, {}, 16));
  }
}

TEST(PluginSizes, OneThatEndsTheProcessNeedsAChecksum) {
  EXPECT_FALSE(codec::can_decode({{32017, {}}}));
  EXPECT_NE(codec::refuse_unchecked({{32017, {}}}), "");
  EXPECT_EQ(codec::refuse_unchecked({{32017, {}}, {codec::fletcher32_id, {}}}), "");
}

}  // namespace
}  // namespace sluice::test
