// Compressed variables written by one number of ranks and read by another, bit for bit: every type,
// codec, strategy and format; random decompositions under small budgets.
#include <cstdlib>
#include <gtest/gtest.h>
#include <numeric>

#include "api/file/file_impl.hpp"
#include "codec/filter.hpp"
#include "commit/tools/verify.hpp"
#include "layout/local_files.hpp"
#include "support/local_transport.hpp"
#include "support/recording_storage.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

using model::Box;

std::vector<std::string> codecs() {
  std::vector<std::string> all;
  for (const char* name : {"deflate", "zstd"}) {
    if (codec::find_method(std::string(name))) {
      all.push_back(std::string(name) + ":1");
      all.push_back(std::string(name) + "+noshuffle");
    }
  }
  return all;
}

Options quick(const std::string& strategy) {
  Options options;
  options.strategy = strategy;
  options.durability = Durability::none;
  options.ranks_per_node = 2;
  return options;
}

/// Compressible values: most equal their neighbours.
std::uint64_t dull(std::uint64_t index) { return index / 64; }

template <class T>
Array<T> dull_values(std::uint64_t key, const Shape& shape, const Box& box) {
  Array<T> values(box.volume());
  for_each_element(dims_of(shape), box, [&](std::uint64_t index, std::uint64_t k) {
    values[k] = value_at<T>(key, dull(index));
  });
  return values;
}

template <class T>
void expect_dull(File& in, const std::string& name, std::uint64_t key, const Shape& shape,
                 const Box& box, std::uint64_t step) {
  Array<T> got(box.volume());
  in.get<T>(in.find(name), got.data(), selection_of(box), step);
  const Array<T> expected = dull_values<T>(key, shape, box);
  for (std::uint64_t k = 0; k < box.volume(); ++k) {
    ASSERT_TRUE(same_bits(got[k], expected[k])) << name << " step " << step << " element " << k;
  }
}

/// Some rows for every rank, out of order and repeated.
template <class T>
void expect_dull_rows(File& in, const std::string& name, std::uint64_t key, const Shape& shape,
                      int rank, std::uint64_t step) {
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = 0; i < 9; ++i) {
    ids.push_back((7 * i + 11 * static_cast<std::uint64_t>(rank)) % shape[0]);
  }
  ids.push_back(ids[2]);
  Array<T> got(ids.size() * shape[1]);
  in.get_rows<T>(in.find(name), ids.data(), ids.size(), got.data(), step);
  for (std::uint64_t i = 0; i < ids.size(); ++i) {
    const Array<T> expected = dull_values<T>(key, shape, {{ids[i], 0}, {1, shape[1]}});
    for (std::uint64_t k = 0; k < shape[1]; ++k) {
      ASSERT_TRUE(same_bits(got[i * shape[1] + k], expected[k]))
          << name << " step " << step << " row " << ids[i] << " element " << k;
    }
  }
}

/// Fixed and stepped variables of one type, noise and dull values, a partial one.
template <class T>
void every_way(const std::string& path, const Options& options, const std::string& codec) {
  LocalFiles files;
  const Shape shape = {37, 70};
  const VariableOptions fixed{.chunk = {8, 70}, .compress = codec};
  VariableOptions stepped = fixed;
  stepped.steps = true;
  VariableOptions partial = stepped;
  partial.partial = true;
  files.run(4, [&](exec::Transport& transport) {
    File out = files.open(transport, path, Mode::write, options);
    const Variable f = out.define<T>("fixed", shape, fixed);
    const Variable s = out.define<T>("g/stepped", shape, stepped);
    const Variable p = out.define<T>("partial", shape, partial);
    const Box mine = slab(shape, transport.rank(), transport.size());
    const Array<T> some = dull_values<T>(1, shape, mine);
    out.put(f, some.data(), selection_of(mine));
    Giver<T> giver;
    std::deque<Array<T>> held;
    for (std::uint64_t step = 0; step < 3; ++step) {
      Step now = out.begin_step({.time = 0.5});
      held.push_back(dull_values<T>(10 + step, shape, mine));
      now.put(s, held.back().data(), selection_of(mine));
      if (transport.rank() == 1 && step == 1) {
        giver.put(now, p, 77, shape, {{10, 3}, {4, 9}});
      }
      now.end();
    }
    out.close();
  });
  files.run(3, [&](exec::Transport& transport) {
    File in = files.open(transport, path, Mode::read, options);
    const Box mine = slab(shape, 2 - transport.rank(), transport.size());
    expect_dull<T>(in, "fixed", 1, shape, whole_box(shape), 0);
    expect_dull_rows<T>(in, "fixed", 1, shape, transport.rank(), 0);
    for (std::uint64_t step = 0; step < 3; ++step) {
      expect_dull<T>(in, "g/stepped", 10 + step, shape, mine, step);
      expect_dull_rows<T>(in, "g/stepped", 10 + step, shape, transport.rank(), step);
    }
    expect_values<T>(in, "partial", 77, shape, {{10, 3}, {4, 9}}, 1);
    Array<T> rest(1);
    Array<T> row(shape[1]);
    const std::uint64_t empty_row = 30;
    in.get_rows<T>(in.find("partial"), &empty_row, 1, row.data(), 1);
    EXPECT_TRUE(same_bits(row[69], T{}));
    for (const std::uint64_t step : {0, 1, 2}) {
      in.get<T>(in.find("partial"), rest.data(), {.start = {30, 0}, .count = {1, 1}}, step);
      EXPECT_TRUE(same_bits(rest[0], T{}));
    }
  });
}

const std::vector<std::string> strategies{"serial", "shared",           "collective",   "forward",
                                          "auto",   "file-per-process", "file-per-node"};

/// Under the sanitizers one type with everything, the others with one case.
template <class T>
std::vector<std::string> strategies_of() {
  const bool all = std::is_same_v<T, double> || case_count(1, 0, 1) == 1;
  return all ? strategies : std::vector<std::string>{"shared"};
}

template <class T>
void every_strategy() {
  for (const std::string& codec : codecs()) {
    for (const std::string& strategy : strategies_of<T>()) {
      SCOPED_TRACE(codec + " " + strategy);
      every_way<T>("f.h5", quick(strategy), codec);
      const bool one_file = strategy.rfind("file-per", 0) != 0;
      if (one_file && !std::is_same_v<T, std::complex<float>> &&
          !std::is_same_v<T, std::complex<double>>) {
        every_way<T>("f.nc", quick(strategy), codec);
      }
      if (one_file) {
        every_way<T>("f.zarr", quick(strategy), codec);
      }
    }
  }
}

TEST(RoundTrip, Int8) { every_strategy<std::int8_t>(); }
TEST(RoundTrip, Uint8) { every_strategy<std::uint8_t>(); }
TEST(RoundTrip, Int16) { every_strategy<std::int16_t>(); }
TEST(RoundTrip, Uint16) { every_strategy<std::uint16_t>(); }
TEST(RoundTrip, Int32) { every_strategy<std::int32_t>(); }
TEST(RoundTrip, Uint32) { every_strategy<std::uint32_t>(); }
TEST(RoundTrip, Int64) { every_strategy<std::int64_t>(); }
TEST(RoundTrip, Uint64) { every_strategy<std::uint64_t>(); }
TEST(RoundTrip, Float32) { every_strategy<float>(); }
TEST(RoundTrip, Float64) { every_strategy<double>(); }
TEST(RoundTrip, Boolean) { every_strategy<bool>(); }
TEST(RoundTrip, Complex64) { every_strategy<std::complex<float>>(); }
TEST(RoundTrip, Complex128) { every_strategy<std::complex<double>>(); }

TEST(RoundTrip, RowsDecodeEveryChunkOnce) {
  const Shape shape = {64, 32};
  for (const std::string path : {"f.h5", "f.zarr"}) {
    for (const std::uint64_t chunk_rows : {1, 5, 64}) {
      LocalFiles files;
      const auto log = std::make_shared<storage::Log>();
      files.run(4, [&](exec::Transport& transport) {
        File out = files.open(transport, path, Mode::write, quick("shared"));
        const Variable v =
            out.define<double>("v", shape, {.chunk = {chunk_rows, 32}, .compress = codecs().at(0)});
        const Box mine = slab(shape, transport.rank(), transport.size());
        out.put(v, dull_values<double>(1, shape, mine).data(), selection_of(mine));
        out.close();
      });
      std::uint64_t stored = 0;
      for (const std::string& name : files.storage()->paths()) {
        stored += files.storage()->contents(name).size();
      }
      const auto recording = std::make_shared<storage::RecordingStorage>(files.storage(), log);
      files.run(3, [&](exec::Transport& transport) {
        File in(detail::open_on(transport, recording, path, Mode::read, {}));
        transport.barrier();
        const std::uint64_t before = log->totals().bytes_read;
        transport.barrier();
        std::vector<std::uint64_t> ids(64);
        std::iota(ids.rbegin(), ids.rend(), 0);
        Array<double> got(64 * 32);
        in.get_rows<double>(in.find("v"), ids.data(), ids.size(), got.data());
        EXPECT_LT(log->totals().bytes_read - before, stored * 3 / 2) << path << " " << chunk_rows;
        EXPECT_EQ(got[63 * 32], dull_values<double>(1, shape, {{0, 0}, {1, 1}})[0]);
      });
    }
  }
}

TEST(RoundTrip, Text) {
  for (const char* path : {"f.h5", "f.nc"}) {
    for (const std::string& codec : codecs()) {
      LocalFiles files;
      const std::string words = "abcdefghijkl";
      files.run(2, [&](exec::Transport& transport) {
        File out = files.open(transport, path, Mode::write, quick("shared"));
        const Variable v = out.define_raw("v", string_type(3), {4}, {.compress = codec});
        const auto first = static_cast<std::uint64_t>(2 * transport.rank());
        out.put_raw(v, words.data() + 3 * first, string_type(3), {.start = {first}, .count = {2}});
        out.close();
      });
      files.run(1, [&](exec::Transport& transport) {
        File in = files.open(transport, path, Mode::read);
        std::string got(12, 'x');
        in.get_raw(in.find("v"), got.data(), string_type(3), {}, 0);
        EXPECT_EQ(got, words);
      });
    }
  }
}

TEST(RoundTrip, StepsAreAppendedInTheSameWay) {
  const Shape shape = {50, 20};
  for (const char* path : {"f.h5", "f.nc", "f.zarr"}) {
    for (const char* strategy : {"shared", "collective", "forward"}) {
      LocalFiles files;
      Options options = quick(strategy);
      options.compress = codecs().at(0);
      for (std::uint64_t run = 0; run < 3; ++run) {
        files.run(3, [&](exec::Transport& transport) {
          File out = files.open(transport, path, run == 0 ? Mode::write : Mode::append, options);
          const Variable v = out.define<float>("v", shape, {.steps = true});
          const Box mine = slab(shape, transport.rank(), transport.size());
          const Array<float> values = dull_values<float>(run, shape, mine);
          Step step = out.begin_step();
          step.put(v, values.data(), selection_of(mine));
          step.end();
          out.close();
        });
      }
      files.run(2, [&](exec::Transport& transport) {
        File in = files.open(transport, path, Mode::read);
        for (std::uint64_t step = 0; step < 3; ++step) {
          expect_dull<float>(in, "v", step, shape, whole_box(shape), step);
        }
      });
    }
  }
}

TEST(RoundTrip, TheFilesDefaultTakesWhatIsWorthIt) {
  LocalFiles files;
  Options options = quick("shared");
  options.compress = codecs().at(0);
  files.run(2, [&](exec::Transport& transport) {
    File out = files.open(transport, "f.h5", Mode::write, options);
    out.define<double>("large", {100, 1000});
    out.define<double>("small", {5});
    out.define<double>("plain", {100, 1000}, {.compress = "none"});
    const Array<double> zeros(100000);
    for (const char* name : {"large", "plain"}) {
      if (transport.rank() == 0) {
        out.put(out.find(name), zeros.data());
      }
    }
    out.close();
  });
  EXPECT_LT(files.text_of("f.h5").size(), 900000u);
  EXPECT_GT(files.text_of("f.h5").size(), 800000u);  // the plain one alone
}

TEST(RoundTrip, RowsVary) {
  LocalFiles files;
  const Shape most = {40, 3};
  files.run(3, [&](exec::Transport& transport) {
    File out = files.open(transport, "f.h5", Mode::write, quick("collective"));
    const Variable v = out.define<double>(
        "v", most, {.steps = true, .chunk = {7, 3}, .varying = true, .compress = codecs().at(0)});
    for (const std::uint64_t rows : {40, 0, 9}) {
      Step step = out.begin_step();
      step.resize(v, rows);
      Giver<double> giver;
      giver.put(step, v, rows, {rows, 3}, slab({rows, 3}, transport.rank(), transport.size()));
      step.end();
    }
    out.close();
  });
  files.run(2, [&](exec::Transport& transport) {
    File in = files.open(transport, "f.h5", Mode::read);
    std::uint64_t step = 0;
    for (const std::uint64_t rows : {40, 0, 9}) {
      expect_values<double>(in, "v", rows, {rows, 3}, whole_box({rows, 3}), step++);
    }
  });
}

TEST(RoundTrip, WhatIsPutBeforeTheClose) {
  const Shape shape = {400, 500};
  for (const std::string path : {"f.h5", "f.nc", "f.zarr"}) {
    for (const std::string& strategy : strategies) {
      if (path != "f.h5" && strategy.rfind("file-per", 0) == 0) {
        continue;  // an index is plain HDF5
      }
      LocalFiles files;
      Options options = quick(strategy);
      options.compress = codecs().at(0);
      files.run(2, [&](exec::Transport& transport) {
        File out = files.open(transport, path, Mode::write, options);
        const Variable v = out.define<float>("deep/x", shape);
        out.define<float>("never", shape);
        const Box mine = slab(shape, transport.rank(), transport.size());
        const Array<float> values = dull_values<float>(1, shape, mine);
        out.put(v, values.data(), selection_of(mine));
        out.close();
      });
      files.run(3, [&](exec::Transport& transport) {
        File in = files.open(transport, path, Mode::read);
        expect_dull<float>(in, "deep/x", 1, shape, whole_box(shape), 0);
      });
    }
  }
}

TEST(RoundTrip, AFixedVariableIsWrittenOnce) {
  LocalFiles files;
  const Error error = files.caught(2, [&](exec::Transport& transport) {
    File out = files.open(transport, "f.h5", Mode::write, quick("shared"));
    const Variable v = out.define<double>("v", {64}, {.compress = codecs().at(0)});
    const Array<double> zeros(64);
    for (int i = 0; i < 2; ++i) {
      if (transport.rank() == 0) {
        out.put(v, zeros.data());
      }
      out.flush();
    }
  });
  expect_error(error, Code::unsupported, {"v", "earlier commit"});
}

TEST(RoundTrip, FormatsWithoutFiltersRefuse) {
  LocalFiles files;
  Options grouped;
  grouped.hdf5_layout = "grouped";
  for (const auto& [path, options] :
       std::vector<std::pair<std::string, Options>>{{"f.npy", {}}, {"f.h5", grouped}}) {
    const Error error = files.caught(1, [&](exec::Transport& transport) {
      File out = files.open(transport, path, Mode::write, options);
      out.define<double>("v", {64}, {.compress = codecs().at(0)});
    });
    expect_error(error, Code::unsupported, {"v", "compress"});
  }
}

TEST(RoundTrip, RowsByTheirNumbers) {
  const Shape shape = {60, 30};
  for (const char* path : {"f.h5", "f.nc", "f.zarr"}) {
    for (const char* strategy : {"shared", "collective"}) {
      LocalFiles files;
      files.run(3, [&](exec::Transport& transport) {
        File out = files.open(transport, path, Mode::write, quick(strategy));
        const Variable v = out.define<double>(
            "v", shape, {.steps = true, .chunk = {7, 30}, .compress = codecs().at(0)});
        // Every third row of the file is a rank's, from the last one on.
        std::vector<std::uint64_t> ids;
        Array<double> rows(600);
        for (std::uint64_t i = 0; i < 20; ++i) {
          ids.push_back(59 - 3 * i - static_cast<std::uint64_t>(transport.rank()));
          for (std::uint64_t k = 0; k < 30; ++k) {
            rows[i * 30 + k] = value_at<double>(5, dull(ids[i] * 30 + k));
          }
        }
        Step step = out.begin_step();
        step.put_rows(v, ids.data(), ids.size(), rows.data());
        step.end();
        out.close();
      });
      files.run(2, [&](exec::Transport& transport) {
        File in = files.open(transport, path, Mode::read);
        expect_dull<double>(in, "v", 5, shape, whole_box(shape), 0);
      });
    }
  }
}

class Proven : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(RoundTrip, Proven, testing::Values("f.h5", "f.zarr"));

TEST_P(Proven, ByItsChecksums) {
  LocalFiles files;
  const Shape shape = {64, 80};
  files.run(3, [&](exec::Transport& transport) {
    File out = files.open(transport, GetParam(), Mode::write, quick("shared"));
    const VariableOptions stepped{.steps = true, .chunk = {9, 80}, .compress = codecs().back()};
    Variable late;
    for (std::uint64_t s = 0; s < 3; ++s) {
      if (s == 0) {
        out.define<double>("early", shape, stepped);
      } else if (s == 2) {
        late = out.define<double>("late", shape, stepped);
      }
      const Box mine = slab(shape, transport.rank(), transport.size());
      const Array<double> values = dull_values<double>(s, shape, mine);
      Step step = out.begin_step();
      step.put(out.find("early"), values.data(), selection_of(mine));
      if (s == 2) {
        step.put(late, values.data(), selection_of(mine));
      }
      step.end();
    }
    out.close();
  });
  files.run(2, [&](exec::Transport& transport) {
    const auto verdict = commit::verify(transport, *files.storage(), GetParam());
    EXPECT_EQ(verdict.finding_count, 0u);
    EXPECT_EQ(verdict.bytes, 4u * 64 * 80 * 8);
  });
}

/// Random shapes, chunks, decompositions, budgets; written by some ranks, read by others.
void random_case(std::uint64_t seed) {
  Random random(seed);
  Shape shape;
  const int rank = static_cast<int>(pick(random, 1, 4));
  const std::uint64_t largest[] = {5000, 80, 20, 9};
  VariableOptions variable;
  for (int d = 0; d < rank; ++d) {
    shape.push_back(pick(random, 1, largest[rank - 1]));
    variable.chunk.push_back(pick(random, (shape.back() + 4) / 5, shape.back() + 1));
  }
  if (pick(random, 0, 2) == 0) {
    variable.chunk.clear();
  }
  variable.steps = pick(random, 0, 3) != 0;
  variable.compress = codecs()[pick(random, 0, codecs().size() - 1)];
  Options options = quick(strategies[pick(random, 0, strategies.size() - 1)]);
  options.budget_bytes = pick(random, 0, 1) == 0 ? 64 << 10 : 256 << 20;
  const std::uint64_t steps = variable.steps ? 2 : 1;
  const bool has_parts = options.strategy.rfind("file-per", 0) == 0;
  const std::string path = has_parts || seed % 2 == 0 ? "f.h5" : "f.zarr";
  LocalFiles files;
  files.run(static_cast<int>(pick(random, 1, 6)), [&](exec::Transport& transport) {
    File out = files.open(transport, path, Mode::write, options);
    const Variable v = out.define<std::int32_t>("v", shape, variable);
    std::deque<Array<std::int32_t>> held;
    for (std::uint64_t s = 0; s < steps; ++s) {
      Step step = out.begin_step();
      for (const Box& box : dealt_to(transport.rank(), transport.size(), shape, seed * 7 + s)) {
        held.push_back(dull_values<std::int32_t>(seed + s, shape, box));
        step.put(v, held.back().data(), selection_of(box));
      }
      step.end();
    }
    out.close();
  });
  files.run(static_cast<int>(pick(random, 1, 6)), [&](exec::Transport& transport) {
    Options reading = options;
    reading.readers = static_cast<int>(seed % 3);
    File in = files.open(transport, path, Mode::read, reading);
    Random own(seed * 1000 + static_cast<std::uint64_t>(transport.rank()));
    for (std::uint64_t s = 0; s < steps; ++s) {
      const Box box = random_box(own, whole_box(shape), true);
      expect_dull<std::int32_t>(in, "v", seed + s, shape, box, s);
    }
    expect_dull<std::int32_t>(in, "v", seed, shape, whole_box(shape), 0);
  });
}

TEST(RoundTrip, RandomDecompositions) {
  const char* only = std::getenv("SLUICE_SEED");
  for (int i = 0; i < case_count(200, 10, 5000); ++i) {
    const std::uint64_t seed =
        only != nullptr ? std::strtoull(only, nullptr, 10) : 500000 + static_cast<std::uint64_t>(i);
    try {
      random_case(seed);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    if (HasFailure() || only != nullptr) {
      std::fprintf(stderr, "SLUICE_SEED=%llu\n", static_cast<unsigned long long>(seed));
      return;
    }
  }
}

}  // namespace
}  // namespace sluice::test
