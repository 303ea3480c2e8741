// Strategy collective: the bytes of serial, whole tiles written by their owners alone, inside the
// budget.
#include <gtest/gtest.h>
#include <map>
#include <mutex>

#include "api/file/file_impl.hpp"
#include "support/faulty_storage.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"
#include "support/recording_storage.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

constexpr const char* path = "out.h5";

/// Random variables, distributed at random; the same on every rank for one seed.
struct Recipe {
  std::vector<Shape> shapes;
  std::vector<bool> steps;
  std::vector<VariableOptions> options;
  std::vector<std::vector<std::vector<model::Box>>> dealt;  // [variable][rank]
};

Recipe random_recipe(std::uint64_t seed, int ranks) {
  Random random(seed);
  Recipe recipe;
  const auto variables = pick(random, 1, 3);
  for (std::uint64_t v = 0; v < variables; ++v) {
    const int rank = static_cast<int>(pick(random, 0, 3));
    recipe.shapes.push_back(shape_of(random_shape(random, rank, 24)));
    VariableOptions options;
    options.steps = pick(random, 0, 3) != 0;
    if (options.steps && pick(random, 0, 1) != 0) {
      options.chunk = recipe.shapes.back();  // interleaved for sure
    }
    if (pick(random, 0, 3) == 0) {
      options.partial = true;
      options.fill = static_cast<double>(pick(random, 0, 2));
    }
    recipe.options.push_back(options);
    recipe.dealt.push_back(deal(recipe.shapes.back(), ranks, random()));
    if (options.partial) {
      recipe.dealt.back()[0].clear();  // holes
    }
  }
  return recipe;
}

/// Some from memory as it is, some with ghost cells, some converted.
void put(Step& step, Variable v, const Shape& shape, const model::Box& box, std::uint64_t key,
         std::deque<Array<double>>& dense, std::deque<Array<float>>& converted) {
  if (key % 3 == 2) {
    converted.push_back(values_of<float>(key, dims_of(shape), box));
    step.put<float>(v, converted.back().data(), selection_of(box));
    return;
  }
  Selection selection = selection_of(box);
  if (key % 3 == 1) {  // one ghost cell on every side
    model::Box around{model::Dims::filled(box.start.rank(), 0), box.count};
    for (int d = 0; d < box.start.rank(); ++d) {
      around.count[d] += 2;
    }
    dense.emplace_back(around.volume(), -1.0);
    const Array<double> values = values_of<double>(key, dims_of(shape), box);
    for_each_element(box.count, {model::Dims::filled(box.start.rank(), 0), box.count},
                     [&](std::uint64_t, std::uint64_t k) {
                       std::uint64_t rest = k;
                       std::uint64_t place = 0;
                       std::uint64_t stride = 1;
                       for (int d = box.start.rank() - 1; d >= 0; --d) {
                         place += (rest % box.count[d] + 1) * stride;
                         rest /= box.count[d];
                         stride *= around.count[d];
                       }
                       dense.back()[place] = values[k];
                     });
    selection.memory_shape = shape_of(around.count);
    selection.memory_start = Shape(static_cast<std::size_t>(box.start.rank()), 1);
  } else {
    dense.push_back(values_of<double>(key, dims_of(shape), box));
  }
  step.put<double>(v, dense.back().data(), selection);
}

void write_recipe(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
                  const Recipe& recipe, const Options& options) {
  File out(detail::open_on(transport, storage, path, Mode::write, options));
  std::vector<Variable> variables;
  for (std::size_t v = 0; v < recipe.shapes.size(); ++v) {
    variables.push_back(
        out.define<double>("v" + std::to_string(v), recipe.shapes[v], recipe.options[v]));
  }
  for (std::uint64_t s = 0; s < 2; ++s) {
    std::deque<Array<double>> dense;
    std::deque<Array<float>> converted;
    Step step = out.begin_step();
    for (std::size_t v = 0; v < variables.size(); ++v) {
      if (!recipe.options[v].steps && s > 0) {
        continue;
      }
      for (const model::Box& box : recipe.dealt[v][static_cast<std::size_t>(transport.rank())]) {
        put(step, variables[v], recipe.shapes[v], box, 3 * s + v, dense, converted);
      }
    }
    step.end();
  }
  out.close();
}

/// What lies under each variable, read by one rank.
std::vector<std::vector<double>> read_recipe(std::shared_ptr<storage::Storage> storage,
                                             const Recipe& recipe) {
  std::vector<std::vector<double>> all;
  exec::run_local(1, 1, [&](exec::Transport& transport) {
    File in(detail::open_on(transport, storage, path, Mode::read));
    for (std::size_t v = 0; v < recipe.shapes.size(); ++v) {
      for (std::uint64_t s = 0; s < (recipe.options[v].steps ? 2u : 1u); ++s) {
        all.emplace_back(dims_of(recipe.shapes[v]).volume());
        in.get<double>(in.find("v" + std::to_string(v)), all.back().data(), {}, s);
      }
    }
  });
  return all;
}

Options quick_options(const std::string& strategy) {
  Options options;
  options.strategy = strategy;
  options.durability = Durability::none;
  return options;
}

TEST(collective, random_decompositions_equal_serial) {
  const int cases = case_count(60, 15, 1000);
  for (int seed = 0; seed < cases; ++seed) {
    Random random(static_cast<std::uint64_t>(seed) + 77);
    const int ranks = static_cast<int>(pick(random, 1, 9));
    const Recipe recipe = random_recipe(random(), ranks);
    Options options = quick_options(seed % 2 == 0 ? "collective" : "forward");
    options.writers = static_cast<int>(pick(random, 0, static_cast<std::uint64_t>(ranks)));
    options.tiles = pick(random, 0, 1) == 0 ? "contiguous" : "cyclic";
    options.tile_bytes =
        std::array<std::uint64_t, 5>{0, 64, 1000, 4096, 20'000}[pick(random, 0, 4)];
    options.budget_bytes = pick(random, 0, 1) == 0 ? 1 << 14 : 256 << 20;
    options.checksum = pick(random, 0, 4) != 0;
    storage::MemoryOptions memory;
    memory.alignment = pick(random, 0, 1) == 0 ? 1 : 512;
    const auto by_serial = storage::make_memory();
    const auto by_collective = storage::make_memory(memory);
    Options serial = quick_options("serial");
    serial.checksum = options.checksum;
    exec::run_local(ranks, 1,
                    [&](exec::Transport& t) { write_recipe(t, by_serial, recipe, serial); });
    exec::LocalOptions nodes;
    nodes.ranks_per_node = static_cast<int>(pick(random, 0, 3));
    exec::run_local(
        ranks, static_cast<std::uint64_t>(seed),
        [&](exec::Transport& t) { write_recipe(t, by_collective, recipe, options); }, nodes);
    ASSERT_EQ(read_recipe(by_collective, recipe), read_recipe(by_serial, recipe))
        << "seed " << seed << ", " << ranks << " ranks, " << options.writers << " writers, "
        << options.tiles << " tiles of " << options.tile_bytes;
  }
}

constexpr std::uint64_t rows = 96;
constexpr std::uint64_t columns = 80;

/// Columns cut over the ranks, in one chunk: every rank's bytes are everywhere.
void write_columns(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
                   const Options& options) {
  File out(detail::open_on(transport, storage, path, Mode::write, options));
  const Shape shape{rows, columns};
  const Variable v = out.define<double>("v", shape, {.steps = true, .chunk = shape});
  const auto p = static_cast<std::uint64_t>(transport.size());
  const auto r = static_cast<std::uint64_t>(transport.rank());
  model::Box box{{0, columns * r / p}, {rows, columns * (r + 1) / p - columns * r / p}};
  Giver<double> giver;
  Step step = out.begin_step();
  giver.put(step, v, 1, shape, box);
  step.end();
  out.close();
}

struct Dealing {
  std::string tiles;
  std::uint32_t stripes;  ///< of a file, by what the file system says; 0: it says nothing
  bool is_cyclic;
};

void expect_one_writer_a_tile(const std::string& strategy) {
  const std::vector<Dealing> dealings{{"contiguous", 4, false},
                                      {"cyclic", 0, true},
                                      {"auto", 4, true},
                                      {"auto", 1, false},
                                      {"auto", 0, false}};
  for (const auto& [tiles, stripes, is_cyclic] : dealings) {
    SCOPED_TRACE(tiles + " on " + std::to_string(stripes) + " stripes");
    constexpr std::uint64_t tile = 4096;
    const auto log = std::make_shared<storage::Log>();
    const auto memory = storage::make_memory({1, tile, stripes});
    Options options = quick_options(strategy);
    options.writers = 3;
    options.first_writer = 1;
    options.writer_spacing = 2;
    options.tiles = tiles;
    options.tile_bytes = stripes != 0 ? 0 : tile;  // 0: the stripe
    exec::run_local(8, 5, [&](exec::Transport& transport) {
      const auto recording =
          std::make_shared<storage::RecordingStorage>(memory, log, transport.rank());
      write_columns(transport, recording, options);
    });
    std::set<int> opened;
    for (const auto& [rank, count] : log->totals().opens_by_rank) {
      opened.insert(rank);
    }
    EXPECT_EQ(opened, (std::set<int>{0, 1, 3, 5})) << "rank 0 opens for the metadata";
    std::map<std::uint64_t, std::set<int>> writers_of;  // by tile, of raw data
    std::uint64_t raw = 0;
    for (const storage::Record& record : log->records()) {
      if (record.call == storage::Call::write && record.rank != 0) {
        raw += record.length;
        for (std::uint64_t t = record.offset / tile;
             t <= (record.offset + record.length - 1) / tile; ++t) {
          writers_of[t].insert(record.rank);
        }
      }
    }
    EXPECT_GE(raw, rows * columns * 8);
    int last = 0;
    for (const auto& [t, writers] : writers_of) {
      EXPECT_EQ(writers.size(), 1u) << "tile " << t;
      if (is_cyclic) {
        EXPECT_EQ(*writers.begin(), 1 + static_cast<int>(t % 3) * 2);
      } else {
        EXPECT_GE(*writers.begin(), last) << "tile " << t;
        last = *writers.begin();
      }
    }
  }
}

TEST(collective, only_writers_open_and_each_tile_has_one) {
  expect_one_writer_a_tile("collective");
}

TEST(forward, only_writers_open_and_each_tile_has_one) { expect_one_writer_a_tile("forward"); }

TEST(collective, staging_stays_inside_the_budget) {
  // 60 KiB through windows of 4 KiB: a writer that gathered more than its window would show.
  Options options = quick_options("collective");
  options.writers = 2;
  options.tile_bytes = 4096;
  options.budget_bytes = 32 << 10;
  const auto log = std::make_shared<storage::Log>();
  const auto memory = storage::make_memory();
  exec::run_local(4, 3, [&](exec::Transport& transport) {
    write_columns(transport,
                  std::make_shared<storage::RecordingStorage>(memory, log, transport.rank()),
                  options);
  });
  std::uint64_t longest = 0;
  for (const storage::Record& record : log->records()) {
    if (record.call == storage::Call::write && record.rank != 0) {
      longest = std::max(longest, record.length);
    }
  }
  EXPECT_LE(longest, 4096u);
  EXPECT_GT(longest, 0u);
}

TEST(collective, overlapping_blocks_of_more_than_a_window) {
  // Every rank puts everything: more arrives for a window than it holds.
  Options options = quick_options("collective");
  options.check = Check::off;
  options.checksum = false;
  options.writers = 2;
  options.tile_bytes = 4096;
  options.budget_bytes = 32 << 10;
  const auto memory = storage::make_memory();
  const Shape shape{rows, columns};
  exec::run_local(5, 9, [&](exec::Transport& transport) {
    File out(detail::open_on(transport, memory, path, Mode::write, options));
    const Variable v = out.define<double>("v", shape, {.steps = true});
    Giver<double> giver;
    Step step = out.begin_step();
    giver.put(step, v, 4, shape, whole_box(shape));
    step.end();
    out.close();
  });
  exec::run_local(2, 1, [&](exec::Transport& transport) {
    File in(detail::open_on(transport, memory, path, Mode::read));
    expect_values<double>(in, "v", 4, shape, whole_box(shape));
  });
}

/// Writes with one rank failing; returns the error of each rank, and that the file is usable after.
std::vector<std::string> write_with_failure(const std::function<void(int, Step&, Variable)>& spoil,
                                            const std::shared_ptr<storage::Faults>& faults) {
  const auto memory = storage::make_memory();
  std::vector<std::string> met(4);
  Options options = quick_options("collective");
  options.writers = 2;
  options.tile_bytes = 4096;
  options.budget_bytes = 32 << 10;
  exec::run_local(4, 11, [&](exec::Transport& transport) {
    const auto faulty = std::make_shared<storage::FaultyStorage>(memory, faults);
    File out(detail::open_on(transport, faulty, path, Mode::write, options));
    const Shape shape{rows, columns};
    const Variable v = out.define<double>("v", shape, {.steps = true, .chunk = shape});
    const Variable narrow =
        out.define<std::int8_t>("narrow", {4}, {.steps = true, .partial = true});
    const auto r = static_cast<std::uint64_t>(transport.rank());
    for (const bool is_bad : {true, false}) {
      Giver<double> giver;
      Step step = out.begin_step();
      giver.put(step, v, 2, shape, {{0, 20 * r}, {rows, 20}});
      if (is_bad) {
        spoil(transport.rank(), step, narrow);
      }
      try {
        step.end();
        EXPECT_FALSE(is_bad);
      } catch (const Error& e) {
        EXPECT_TRUE(is_bad) << e.what();
        met[static_cast<std::size_t>(transport.rank())] = e.what();
      }
    }
    out.close();
  });
  exec::run_local(3, 1, [&](exec::Transport& transport) {
    File in(detail::open_on(transport, memory, path, Mode::read));
    EXPECT_EQ(in.steps(), 1u);
    expect_values<double>(in, "v", 2, {rows, columns}, whole_box({rows, columns}));
  });
  return met;
}

TEST(collective, a_rank_that_cannot_pack_fails_all_alike) {
  static const std::int64_t too_large[] = {1, 2, 300, 4};
  const auto met = write_with_failure(
      [](int rank, Step& step, Variable narrow) {
        if (rank == 3) {
          step.put<std::int64_t>(narrow, too_large);
        }
      },
      std::make_shared<storage::Faults>());
  for (const std::string& text : met) {
    EXPECT_EQ(text, met[0]);
    EXPECT_EQ(text.rfind("rank 3: ", 0), 0u);
    EXPECT_NE(text.find("put narrow"), std::string::npos) << text;
  }
}

TEST(collective, a_writer_that_cannot_write_fails_all_alike) {
  const auto faults = std::make_shared<storage::Faults>();
  storage::Rule rule;
  rule.call = storage::Call::write;
  rule.error_number = ENOSPC;
  rule.nth = 20;  // amid the data: metadata of a fresh file is not written before
  faults->add(rule);
  const auto met = write_with_failure([](int, Step&, Variable) {}, faults);
  for (const std::string& text : met) {
    EXPECT_EQ(text, met[0]);
    EXPECT_NE(text.find("No space left"), std::string::npos) << text;
  }
}

TEST(collective, choices_that_cannot_be_fail_at_opening) {
  const auto memory = storage::make_memory();
  const auto refused = [&](const Options& options, const std::string& option) {
    std::vector<std::string> met(3);
    exec::run_local(3, 1, [&](exec::Transport& transport) {
      try {
        File out(detail::open_on(transport, memory, path, Mode::write, options));
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), Code::invalid_argument);
        met[static_cast<std::size_t>(transport.rank())] = e.what();
      }
    });
    for (const std::string& text : met) {
      EXPECT_EQ(text, met[0]);
      EXPECT_NE(text.find(option), std::string::npos) << text;
    }
  };
  Options options = quick_options("collective");
  options.writers = 4;
  refused(options, "writers: 4");
  options.writers = 0;
  options.writer_map = "0,1,1";
  refused(options, "writer_map: rank 1");
  options.writer_map = "spaced";
  options.first_writer = 3;
  refused(options, "first_writer: 3");
  options.first_writer = 0;
  options.tiles = "square";
  refused(options, "tiles: \"square\": use auto, contiguous or cyclic");
}

}  // namespace
}  // namespace sluice::test
