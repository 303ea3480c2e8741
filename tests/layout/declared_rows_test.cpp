// Variables that declare far more elements than they have: what writing, reading and verifying them
// costs follows what is there; what readers would refuse is not written.
#include "codec/filter.hpp"
#include "commit/tools/verify.hpp"
#include "exec/transport/solo_transport.hpp"
#include "layout/encoding.hpp"
#include "layout/formats/formats.hpp"
#include "layout/local_files.hpp"
#include "layout/plausible.hpp"
#include "model/clock.hpp"
#include "storage/forwarding.hpp"
#include "storage/scratch.hpp"

namespace sluice::test {
namespace {

/// Two tiles, none, parts of one.
const std::vector<std::uint64_t> rows{600'000, 0, 1000, 7};
constexpr double most_seconds = 60;  // a walk of all tiles takes minutes, or all memory

struct Case {
  std::string format;
  std::string strategy;
  Shape most;
  Shape chunk;
  std::string compress;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const std::string format : {"hdf5", "netcdf4", "zarr", "icechunk"}) {
    for (const std::string strategy : {"serial", "shared", "forward"}) {
      for (const std::string compress : {"", "deflate:1"}) {
        cases.push_back({format, strategy, {1'000'000'000'000}, {}, compress});
      }
    }
    // The index of libhdf5 takes no more than 2^32 chunks of all steps together.
    cases.push_back({format, "shared", {1ULL << 38}, {1024}, ""});
    cases.push_back({format, "collective", {1ULL << 38}, {1024}, "deflate:1"});
  }
  cases.push_back({"zarr", "forward", {1ULL << 50}, {}, ""});
  cases.push_back({"zarr", "shared", {1ULL << 50}, {}, "deflate:1"});
  return cases;
}

bool has_codec(const std::string& compress) {
  return compress.empty() || codec::find_method(codec::deflate_id) != nullptr;
}

class DeclaredRows : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!has_codec(GetParam().compress)) {
      GTEST_SKIP() << "built without libdeflate";
    }
    options_.format = GetParam().format;
    options_.strategy = GetParam().strategy;
  }

  void write(exec::Transport& transport, File& out) {
    const Variable v = out.define<double>("v", GetParam().most,
                                          {.steps = true,
                                           .chunk = GetParam().chunk,
                                           .varying = true,
                                           .compress = GetParam().compress});
    for (std::uint64_t s = 0; s < rows.size(); ++s) {
      Giver<double> giver;
      Step step = out.begin_step();
      step.resize(v, rows[s]);
      giver.put(step, v, s, {rows[s]}, slab({rows[s]}, transport.rank(), transport.size()));
      step.end();
    }
    out.close();
  }
  static void expect_all(exec::Transport& transport, File& in) {
    ASSERT_EQ(in.steps(), rows.size());
    for (std::uint64_t s = 0; s < rows.size(); ++s) {
      EXPECT_EQ(in.shape(in.find("v"), s), Shape{rows[s]});
      expect_values<double>(in, "v", s, {rows[s]},
                            slab({rows[s]}, transport.rank(), transport.size()), s);
    }
  }

  Options options_;
  LocalFiles files_;
};

TEST_P(DeclaredRows, CostWhatTheStepsHave) {
  const double began_s = model::now_s();
  files_.run(3, [&](exec::Transport& transport) {
    File out = files_.open(transport, "v", Mode::write, options_);
    write(transport, out);
  });
  files_.run(2, [&](exec::Transport& transport) {
    File in = files_.open(transport, "v", Mode::read);
    expect_all(transport, in);
  });
  files_.run(2, [&](exec::Transport& transport) {
    const auto verdict = commit::verify(transport, *files_.storage(), "v");
    EXPECT_EQ(verdict.state, commit::State::ok);
    EXPECT_EQ(verdict.finding_count, 0u);
  });
  EXPECT_LT(model::now_s() - began_s, most_seconds);
}

INSTANTIATE_TEST_SUITE_P(All, DeclaredRows, testing::ValuesIn(all_cases()), [](const auto& one) {
  const Case& c = one.param;
  return c.format + "_" + c.strategy + (c.compress.empty() ? "" : "_compressed") +
         (c.chunk.empty() ? "" : "_in_small_chunks") +
         (c.most[0] > (1ULL << 48) ? "_of_very_many" : "");
});

/// With real threads, on a disk, and further steps after the file was opened again.
TEST(DeclaredRowsInTheBackground, AreAppendedTo) {
  const std::string compress = has_codec("deflate:1") ? "deflate:1" : "";
  const storage::Scratch folder;
  const auto alone = exec::make_solo();
  const auto disk = storage::make_posix();
  Options options;
  options.strategy = "forward";
  options.log = Log::off;
  const double began_s = model::now_s();
  std::uint64_t steps = 0;
  for (const Mode mode : {Mode::write, Mode::append}) {
    File out(detail::open_on(*alone, disk, folder / "v.h5", mode, options));
    const Variable v = out.define<double>("v", {1'000'000'000'000},
                                          {.steps = true, .varying = true, .compress = compress});
    for (int i = 0; i < 3; ++i, ++steps) {
      Giver<double> giver;
      Step step = out.begin_step();
      step.resize(v, 600'000 * steps);
      giver.put(step, v, steps, {600'000 * steps}, whole_box({600'000 * steps}));
      step.end();
    }
    out.close();
  }
  File in(detail::open_on(*alone, disk, folder / "v.h5", Mode::read, {}));
  for (std::uint64_t s = 0; s < steps; ++s) {
    expect_values<double>(in, "v", s, {600'000 * s}, whole_box({600'000 * s}), s);
  }
  EXPECT_LT(model::now_s() - began_s, most_seconds);
}

class DeclaredTiles : public testing::TestWithParam<const char*> {
 protected:
  Options options() const {
    Options options;
    options.format = GetParam();
    return options;
  }
  LocalFiles files_;
};

/// More tiles than a list of all of them may have had.
TEST_P(DeclaredTiles, OfWhichFewExistAreRead) {
  if (!has_codec("deflate:1")) {
    GTEST_SKIP() << "built without libdeflate";
  }
  constexpr std::uint64_t most = 4 * ((1ULL << 20) + 1);
  files_.run(2, [&](exec::Transport& transport) {
    File out = files_.open(transport, "v", Mode::write, options());
    const Variable v =
        out.define<float>("v", {most}, {.partial = true, .chunk = {4}, .compress = "deflate:1"});
    const std::vector<float> values{1, 2, 3, 4, 5};
    if (transport.rank() == 1) {
      out.put(v, values.data(), {.start = {most - 9}, .count = {5}});
    }
    out.close();
  });
  files_.run(2, [&](exec::Transport& transport) {
    File in = files_.open(transport, "v", Mode::read);
    std::vector<float> got(9);
    in.get(in.find("v"), got.data(), {.start = {most - 9}, .count = {9}});
    EXPECT_EQ(got, (std::vector<float>{1, 2, 3, 4, 5, 0, 0, 0, 0}));
    in.get(in.find("v"), got.data(), {.start = {0}, .count = {9}});
    EXPECT_EQ(got, std::vector<float>(9));
  });
  files_.run(1, [&](exec::Transport& transport) {
    EXPECT_EQ(commit::verify(transport, *files_.storage(), "v").finding_count, 0u);
  });
}

TEST_P(DeclaredTiles, ThatNoReaderTakesAreRefused) {
  const Error error = files_.caught(2, [&](exec::Transport& transport) {
    File out = files_.open(transport, "v", Mode::write, options());
    out.define<float>("v", {1ULL << 30}, {.steps = true, .partial = true, .chunk = {8}});
  });
  expect_error(error, Code::unsupported,
               {"v: shape (1073741824)", "134217728 chunks", "larger chunks"});
}

TEST_P(DeclaredTiles, OfAStepThatNoReaderTakesAreRefused) {
  const Error error = files_.caught(2, [&](exec::Transport& transport) {
    File out = files_.open(transport, "v", Mode::write, options());
    const Variable v = out.define<float>(
        "v", {1ULL << 40}, {.steps = true, .partial = true, .chunk = {8}, .varying = true});
    Step step = out.begin_step();
    step.resize(v, 1ULL << 30);
    const float one = 1;
    step.put(v, &one, {.start = {static_cast<std::uint64_t>(transport.rank())}, .count = {1}});
    step.end();
  });
  expect_error(error, Code::unsupported,
               {"v: shape (1073741824)", "134217728 chunks", "larger chunks"});
}

INSTANTIATE_TEST_SUITE_P(All, DeclaredTiles, testing::Values("hdf5", "zarr", "icechunk"),
                         [](const auto& one) { return std::string(one.param); });

TEST(ChosenTiles, AreFewEnoughForReaders) {
  for (const std::uint64_t elements : {1ULL << 30, 1ULL << 44, (1ULL << 50) + 12345}) {
    for (const std::uint64_t common : {0ULL, 8192ULL, 1ULL << 15, (1ULL << 17) + 1}) {
      model::Definition d;
      d.name = "v";
      d.type = type_of<double>();
      d.shape = {elements};
      d.partial = true;
      layout::Decomposition all(1);
      all.boundary_gcd[0] = common;
      all.largest_count[0] = common == 0 ? 0 : elements / 1000;
      const std::uint64_t least = layout::least_tile_bytes(d);
      const model::Dims tiles[] = {
          layout::choose_encoded_tile(d.shape, d.type.bytes, all, least),
          layout::choose_plain_tile(d, all, 0),
          layout::choose_plain_tile(d, all, 16ULL << 20),
      };
      for (const model::Dims& tile : tiles) {
        EXPECT_LE(layout::tiles_in(tile, model::whole(d.shape)), layout::most_tiles_of_a_step)
            << elements << " by " << common << ": " << tile.text();
        EXPECT_LE(tile.volume() * d.type.bytes, layout::largest_tile_bytes) << tile.text();
      }
    }
  }
}

/// Of a run that was killed in the step that is now written with fewer rows.
TEST(DeclaredRowsOfAStore, DropWhatAKilledRunLeft) {
  LocalFiles files;
  Options options;
  options.format = "zarr";
  const auto write = [&](Mode mode, std::uint64_t count) {
    files.run(2, [&](exec::Transport& transport) {
      File out = files.open(transport, "v", mode, options);
      const Variable v = out.define<double>("v", {1ULL << 50}, {.steps = true, .varying = true});
      Giver<double> giver;
      Step step = out.begin_step();
      step.resize(v, count);
      giver.put(step, v, 0, {count}, slab({count}, transport.rank(), 2));
      step.end();
      out.close();
    });
  };
  write(Mode::write, 10);
  const std::vector<std::byte> bytes(64);
  for (const char* name : {"v/v/c.0.7", "v/v/c.1.0", "v/v/c.1.7", "v/v/c.2.3"}) {
    files.storage()->put(name, bytes);
  }
  write(Mode::append, 10);
  EXPECT_TRUE(files.storage()->exists("v/v/c.0.7"));  // of a step that is there
  EXPECT_TRUE(files.storage()->exists("v/v/c.1.0"));
  EXPECT_FALSE(files.storage()->exists("v/v/c.1.7"));
  write(Mode::append, 0);
  EXPECT_FALSE(files.storage()->exists("v/v/c.2.0"));
  EXPECT_FALSE(files.storage()->exists("v/v/c.2.3"));
  files.run(1, [&](exec::Transport& transport) {
    File in = files.open(transport, "v", Mode::read);
    expect_values<double>(in, "v", 0, {10}, whole_box({10}), 1);
  });
}

/// Its objects cannot be opened.
class Locked final : public storage::ForwardingStorage {
 public:
  using ForwardingStorage::ForwardingStorage;
  std::unique_ptr<storage::File> open(const std::string& path, storage::Access access) override {
    if (path.find("/w/c") != std::string::npos) {
      throw Error(Code::permission, path + ": open: Permission denied");
    }
    return ForwardingStorage::open(path, access);
  }
};

TEST(Verify, SaysNothingOfWhatItMayNotRead) {
  LocalFiles files;
  Options options;
  options.format = "zarr";
  files.run(1, [&](exec::Transport& transport) {
    File out = files.open(transport, "v", Mode::write, options);
    const Variable w = out.define<double>("w", {100});
    const std::vector<double> values(100, 1.5);
    out.put(w, values.data());
    out.close();
  });
  Locked locked(files.storage());
  const Error error =
      files.caught(2, [&](exec::Transport& transport) { commit::verify(transport, locked, "v"); });
  expect_error(error, Code::permission, {"Permission denied"});
}

}  // namespace
}  // namespace sluice::test
