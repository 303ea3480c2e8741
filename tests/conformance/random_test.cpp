// Random decompositions and random scatters of rows, by every strategy: written by one number of
// ranks, read back by another through random selections, compared bit for bit. Each case has a
// seed, which is printed on failure; SLUICE_SEED runs that one alone, SLUICE_LONG=1 a thousand of
// each.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <numeric>

#include "api/file/file_impl.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

using model::Box;

/// The parameters of one case, drawn from its seed.
struct Case {
  std::uint64_t seed = 0;
  Shape shape;
  VariableOptions variable;
  Options options;  ///< strategy and its options
  int writers = 1;  ///< ranks that write, and that read
  int readers = 1;
  int node = 0;
  std::uint64_t steps = 1;
  storage::MemoryOptions storage;
};

constexpr std::array<const char*, 7> strategies{
    "serial", "shared", "collective", "auto", "forward", "file-per-process", "file-per-node"};

void draw_strategy(Random& random, Case& c) {
  Options& options = c.options;
  options.strategy = strategies[pick(random, 0, strategies.size() - 1)];
  const auto ranks = static_cast<std::uint64_t>(c.writers);
  if (options.strategy == "file-per-node") {
    options.writers = static_cast<int>(pick(random, 0, ranks));
  } else if (options.strategy == "collective" || options.strategy == "forward" ||
             options.strategy == "auto") {
    const std::uint64_t writers = pick(random, 0, ranks);
    options.writers = static_cast<int>(writers);
    if (writers != 0) {
      options.first_writer = static_cast<int>(pick(random, 0, ranks - writers));
    }
    options.tiles = pick(random, 0, 1) == 0 ? "contiguous" : "cyclic";
    options.tile_bytes = pick(random, 0, 1) == 0 ? pick(random, 1, 5000) : 0;
  }
  // In some cases fewer ranks read from disk than request data.
  options.readers = pick(random, 0, 1) == 0 ? 0 : 1;
}

Case draw(std::uint64_t seed) {
  Random random(seed);
  Case c;
  c.seed = seed;
  const int rank = static_cast<int>(pick(random, 1, 5));
  const std::uint64_t largest[] = {4000, 70, 20, 9, 6};
  for (int d = 0; d < rank; ++d) {
    c.shape.push_back(pick(random, 1, largest[rank - 1]));
  }
  c.variable.steps = pick(random, 0, 4) != 0;
  if (c.variable.steps && pick(random, 0, 1) == 0) {
    for (const std::uint64_t extent : c.shape) {
      c.variable.chunk.push_back(pick(random, (extent + 3) / 4, extent + 2));
    }
  }
  c.writers = static_cast<int>(pick(random, 1, 9));
  c.readers = static_cast<int>(pick(random, 1, 9));
  c.node = static_cast<int>(pick(random, 0, 3));
  draw_strategy(random, c);
  c.steps = c.variable.steps ? pick(random, 1, 3) : 1;
  c.storage.alignment = pick(random, 0, 1) == 0 ? 1 : 512;
  c.storage.stripe_bytes = pick(random, 0, 2) == 0 ? 65536 : 0;
  return c;
}

class Run {
 public:
  explicit Run(const Case& c) : case_(c), storage_(storage::make_memory(c.storage)) {}

  void ranks(int count, const std::function<void(exec::Transport&, const Options&)>& body) {
    exec::LocalOptions local;
    local.ranks_per_node = case_.node;
    Options options = case_.options;
    options.durability = Durability::none;
    exec::run_local(
        count, case_.seed + static_cast<std::uint64_t>(++runs_),
        [&](exec::Transport& transport) { body(transport, options); }, local);
  }
  File open(exec::Transport& transport, Mode mode, const Options& options) {
    Options chosen = options;
    if (mode == Mode::read) {
      chosen.strategy = "auto";
      chosen.writers = chosen.first_writer = 0;
      chosen.readers = std::min(chosen.readers, transport.size());
    }
    return File(detail::open_on(transport, storage_, "random.h5", mode, chosen));
  }

 private:
  Case case_;
  std::shared_ptr<storage::MemoryStorage> storage_;
  int runs_ = 0;
};

template <class T>
void write_blocks(Run& run, const Case& c) {
  run.ranks(c.writers, [&](exec::Transport& transport, const Options& options) {
    File out = run.open(transport, Mode::write, options);
    const Variable v = out.define<T>("g/v", c.shape, c.variable);
    for (std::uint64_t s = 0; s < c.steps; ++s) {
      Giver<T> giver;
      Step step = out.begin_step();
      for (const Box& box : dealt_to(transport.rank(), c.writers, c.shape, c.seed * 7 + s)) {
        giver.put(step, v, c.seed + s, c.shape, box);
      }
      step.end();
    }
    out.close();
  });
}

template <class T>
void read_blocks(Run& run, const Case& c) {
  run.ranks(c.readers, [&](exec::Transport& transport, const Options& options) {
    File in = run.open(transport, Mode::read, options);
    Random random(c.seed * 1000 + static_cast<std::uint64_t>(transport.rank()));
    for (std::uint64_t s = 0; s < c.steps; ++s) {
      for (int i = 0; i < 3; ++i) {
        const Box box = random_box(random, whole_box(c.shape), true);
        expect_values<T>(in, "g/v", c.seed + s, c.shape, box, s);
      }
    }
    expect_values<T>(in, "g/v", c.seed, c.shape, whole_box(c.shape), 0);
  });
}

template <class T>
void decomposition(const Case& c) {
  Run run(c);
  write_blocks<T>(run, c);
  read_blocks<T>(run, c);
}

/// Rows distributed at random; row r of step s has the values of the variable there.
template <class T>
void scatter(const Case& c) {
  Run run(c);
  const std::uint64_t width = dims_of(c.shape).volume() / c.shape[0];
  auto values_for = [&](const std::vector<std::uint64_t>& ids, std::uint64_t key) {
    Array<T> values(ids.size() * width);
    for (std::uint64_t i = 0; i < values.size(); ++i) {
      values[i] = value_at<T>(key, ids[i / width] * width + i % width);
    }
    return values;
  };
  run.ranks(c.writers, [&](exec::Transport& transport, const Options& options) {
    File out = run.open(transport, Mode::write, options);
    const Variable v = out.define<T>("g/v", c.shape, c.variable);
    for (std::uint64_t s = 0; s < c.steps; ++s) {
      std::vector<std::uint64_t> ids(c.shape[0]);
      std::iota(ids.begin(), ids.end(), std::uint64_t{0});
      Random random(c.seed * 13 + s);
      std::shuffle(ids.begin(), ids.end(), random);
      const auto mine = static_cast<std::uint64_t>(transport.rank());
      std::erase_if(ids, [&](std::uint64_t id) {
        return mixed(c.seed + id) % static_cast<std::uint64_t>(c.writers) != mine;
      });
      const Array<T> values = values_for(ids, c.seed + s);
      Step step = out.begin_step();
      const std::uint64_t cut = ids.size() / 3;
      step.put_rows(v, ids.data(), cut, values.data());
      step.put_rows(v, ids.data() + cut, ids.size() - cut, values.data() + cut * width);
      step.end();
    }
    out.close();
  });
  run.ranks(c.readers, [&](exec::Transport& transport, const Options& options) {
    File in = run.open(transport, Mode::read, options);
    Random random(c.seed * 1000 + static_cast<std::uint64_t>(transport.rank()));
    for (std::uint64_t s = 0; s < c.steps; ++s) {
      std::vector<std::uint64_t> ids(pick(random, 0, 40));
      for (std::uint64_t& id : ids) {
        id = pick(random, 0, c.shape[0] - 1);
      }
      const Array<T> expected = values_for(ids, c.seed + s);
      Array<T> got(expected.size());
      in.get_rows<T>(in.find("g/v"), ids.data(), ids.size(), got.data(), s);
      for (std::uint64_t i = 0; i < got.size(); ++i) {
        ASSERT_TRUE(same_bits(got[i], expected[i])) << "row " << ids[i / width];
      }
      const Box box = random_box(random, whole_box(c.shape), true);
      expect_values<T>(in, "g/v", c.seed + s, c.shape, box, s);
    }
  });
}

template <class Body>
void run_seeds(std::uint64_t base, Body&& body) {
  const char* only = std::getenv("SLUICE_SEED");
  const int count = case_count(200, 20, 1000);
  std::map<std::string, int> by_strategy;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t seed =
        only != nullptr ? std::strtoull(only, nullptr, 10) : base + static_cast<std::uint64_t>(i);
    const std::string again = "again with: SLUICE_SEED=" + std::to_string(seed);
    try {
      const Case c = draw(seed);
      ++by_strategy[c.options.strategy];
      body(c);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    if (testing::Test::HasFailure() || only != nullptr) {
      std::fprintf(stderr, "%s\n", testing::Test::HasFailure() ? again.c_str() : "passed");
      return;
    }
  }
  for (const auto& [strategy, cases] : by_strategy) {
    std::printf("%-18s %4d cases\n", strategy.c_str(), cases);
  }
  EXPECT_EQ(by_strategy.size(), strategies.size());
}

TEST(Random, Decompositions) {
  run_seeds(100000, [](const Case& c) {
    switch (c.seed % 5) {
      case 0:
        return decomposition<double>(c);
      case 1:
        return decomposition<std::int8_t>(c);
      case 2:
        return decomposition<std::uint16_t>(c);
      case 3:
        return decomposition<std::complex<float>>(c);
      default:
        return decomposition<float>(c);
    }
  });
}

TEST(Random, ScattersOfRows) {
  run_seeds(200000, [](const Case& c) {
    switch (c.seed % 4) {
      case 0:
        return scatter<double>(c);
      case 1:
        return scatter<std::int16_t>(c);
      case 2:
        return scatter<bool>(c);
      default:
        return scatter<float>(c);
    }
  });
}

/// Many ranks write by every strategy, other numbers of ranks read.
TEST(Random, ManyRanks) {
  const int many = case_count(64, 16, 64);
  const int cases = case_count(1, 1, 8);
  for (const char* strategy : strategies) {
    for (int i = 0; i < cases; ++i) {
      Case c;
      c.seed = 640 + static_cast<std::uint64_t>(i);
      c.shape = i % 2 == 0 ? Shape{130, 7} : Shape{20, 18, 12};
      c.variable.steps = true;
      c.steps = 2;
      c.options.strategy = strategy;
      c.options.writers = std::string(strategy) == "file-per-node" ? 5 : 0;
      c.writers = many;
      c.readers = i % 3 == 0 ? many : 5;
      c.node = 8;
      SCOPED_TRACE(strategy);
      decomposition<double>(c);
      scatter<float>(c);
    }
  }
}

}  // namespace
}  // namespace sluice::test
