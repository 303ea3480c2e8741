// Random grids of unequal blocks, one to three dimensions, dealt in any order to ranks of which
// some have none: written to Zarr stores by every strategy as chunks of their own, read back by
// other numbers of ranks through random selections. In one case of four ranks have several blocks,
// some of which become one where they are put. SLUICE_SEED runs one case alone, SLUICE_LONG=1 a
// thousand.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <numeric>

#include "api/file/file_impl.hpp"
#include "codec/filter.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

using model::Box;

constexpr std::array<const char*, 5> strategies{"serial", "shared", "collective", "forward",
                                                "auto"};

struct Case {
  std::uint64_t seed = 0;
  Shape shape;
  std::vector<std::vector<Box>> blocks;  ///< by rank
  bool is_dealt_singly = true;
  std::string compress;
  Options options;
  bool steps = true;
  int node = 0;
  int readers = 1;
};

Case draw(std::uint64_t seed) {
  Random random(seed);
  Case c;
  c.seed = seed;
  const std::uint64_t rank = pick(random, 1, 3);
  std::vector<Box> boxes{Box{}};
  for (std::uint64_t d = 0; d < rank; ++d) {
    std::vector<Box> next;
    std::uint64_t start = 0;
    const std::uint64_t parts = pick(random, d == 0 ? 2 : 1, rank == 3 ? 3 : 4);
    for (std::uint64_t part = 0; part < parts; ++part) {
      const std::uint64_t length = pick(random, 1, rank == 1 ? 900 : 12);
      for (Box box : boxes) {
        box.start.push_back(start);
        box.count.push_back(length);
        next.push_back(box);
      }
      start += length;
    }
    c.shape.push_back(start);
    boxes = next;
  }
  c.is_dealt_singly = pick(random, 0, 3) != 0;
  c.blocks.resize(c.is_dealt_singly ? boxes.size() + pick(random, 0, 3) : pick(random, 1, 9));
  std::vector<std::size_t> owners(c.blocks.size());
  std::iota(owners.begin(), owners.end(), std::size_t{0});
  std::shuffle(owners.begin(), owners.end(), random);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    c.blocks[owners[i % owners.size()]].push_back(boxes[i]);
  }
  c.steps = pick(random, 0, 3) != 0;
  const char* filters[] = {"", "", "zstd:1", "deflate:1"};
  c.compress = filters[pick(random, 0, 3)];
  if (c.compress.starts_with("zstd") ? !codec::find_method(codec::zstd_id)
                                     : !codec::find_method(codec::deflate_id)) {
    c.compress.clear();
  }
  c.options.strategy = strategies[seed % strategies.size()];
  c.options.rectilinear = Rectilinear::always;
  c.options.durability = Durability::none;
  c.options.log = Log::off;
  if (c.options.strategy == "collective" || c.options.strategy == "forward") {
    c.options.writers = static_cast<int>(pick(random, 0, c.blocks.size()));
    c.options.tile_bytes = pick(random, 0, 1) == 0 ? pick(random, 1, 5000) : 0;
  }
  c.node = static_cast<int>(pick(random, 0, 3));
  c.readers = static_cast<int>(pick(random, 1, 6));
  return c;
}

/// Are the lengths of some dimension other than those of a regular grid?
bool is_unequal(const Case& c) {
  for (int d = 0; d < static_cast<int>(c.shape.size()); ++d) {
    std::map<std::uint64_t, std::uint64_t> lengths;
    for (const auto& boxes : c.blocks) {
      for (const Box& box : boxes) {
        lengths[box.start[d]] = box.count[d];
      }
    }
    for (auto at = lengths.begin(); at != lengths.end(); ++at) {
      const bool is_last = std::next(at) == lengths.end();
      const std::uint64_t first = lengths.begin()->second;
      if (is_last ? at->second > first : at->second != first) {
        return true;
      }
    }
  }
  return false;
}

template <class T>
void run_case(const Case& c) {
  const auto storage = storage::make_memory();
  exec::LocalOptions local;
  local.ranks_per_node = c.node;
  const std::uint64_t steps = c.steps ? 2 : 1;
  const auto write = [&](exec::Transport& transport) {
    File out(detail::open_on(transport, storage, "r.zarr", Mode::write, c.options));
    const Variable v = out.define<T>("g/v", c.shape, {.steps = c.steps, .compress = c.compress});
    for (std::uint64_t s = 0; s < steps; ++s) {
      Giver<T> giver;
      Step step = out.begin_step();
      for (const Box& box : c.blocks[static_cast<std::size_t>(transport.rank())]) {
        giver.put(step, v, c.seed + s, c.shape, box);
      }
      step.end();
    }
    out.close();
  };
  exec::run_local(static_cast<int>(c.blocks.size()), c.seed, write, local);
  exec::run_local(c.readers, c.seed + 1, [&](exec::Transport& transport) {
    File in(detail::open_on(transport, storage, "r.zarr", Mode::read, {}));
    Random random(c.seed * 1000 + static_cast<std::uint64_t>(transport.rank()));
    for (std::uint64_t s = 0; s < steps; ++s) {
      for (int i = 0; i < 3; ++i) {
        const Box box = random_box(random, whole_box(c.shape), true);
        expect_values<T>(in, "g/v", c.seed + s, c.shape, box, s);
      }
      expect_values<T>(in, "g/v", c.seed + s, c.shape, whole_box(c.shape), s);
    }
  });
  const auto bytes = storage->contents("r.zarr/g/v/zarr.json");
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (c.is_dealt_singly) {
    EXPECT_EQ(text.find("rectilinear") != std::string::npos, is_unequal(c)) << text;
  }
}

TEST(Rectilinear, RandomGridsAreReadBack) {
  const char* only = std::getenv("SLUICE_SEED");
  const int count = case_count(100, 40, 1000);
  std::map<std::string, int> by_strategy;
  int unequal = 0;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t seed =
        only != nullptr ? std::strtoull(only, nullptr, 10) : 300000 + static_cast<std::uint64_t>(i);
    const Case c = draw(seed);
    SCOPED_TRACE("again with: SLUICE_SEED=" + std::to_string(seed));
    ++by_strategy[c.options.strategy];
    unequal += is_unequal(c) ? 1 : 0;
    if (seed % 2 == 0) {
      run_case<float>(c);
    } else {
      run_case<std::int64_t>(c);
    }
    if (HasFailure() || only != nullptr) {
      return;
    }
  }
  for (const auto& [strategy, cases] : by_strategy) {
    std::printf("%-12s %4d cases\n", strategy.c_str(), cases);
  }
  EXPECT_EQ(by_strategy.size(), strategies.size());
  EXPECT_GT(unequal, count / 2);
}

}  // namespace
}  // namespace sluice::test
