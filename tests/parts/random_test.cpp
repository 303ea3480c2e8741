// Random shapes, decompositions and groups: what was written is read, by any number of readers, in
// any selection.
#include <cstdlib>

#include "parts/sets.hpp"

namespace sluice::test {
namespace {

struct Case {
  int ranks;
  int readers;
  SetKind kind;
  Shape shape;
  std::uint64_t steps;
  bool fixed_deal;
};

Case draw(std::uint64_t seed) {
  Random random(seed);
  Case one;
  one.ranks = static_cast<int>(pick(random, 1, 8));
  one.readers = static_cast<int>(pick(random, 1, 5));
  const auto kinds = all_kinds(one.ranks);
  one.kind = kinds[pick(random, 0, kinds.size() - 1)];
  const std::uint64_t rank = pick(random, 1, 4);
  for (std::uint64_t d = 0; d < rank; ++d) {
    one.shape.push_back(pick(random, 1, rank == 1 ? 300 : 12));
  }
  one.steps = pick(random, 1, 4);
  one.fixed_deal = pick(random, 0, 1) == 0;
  return one;
}

std::string text(const Case& one) {
  return std::to_string(one.ranks) + " ranks, " + std::to_string(one.readers) + " readers, " +
         one.kind.text() + ", " + dims_of(one.shape).text() +
         (one.fixed_deal ? "" : ", dealt anew at every step");
}

model::Box random_box(Random& random, const Shape& shape) {
  model::Box box;
  for (const std::uint64_t extent : shape) {
    const std::uint64_t start = pick(random, 0, extent - 1);
    box.start.push_back(start);
    box.count.push_back(pick(random, 0, extent - start));
  }
  return box;
}

void run(std::uint64_t seed) {
  const Case one = draw(seed);
  SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text(one));
  const auto storage = storage::make_memory();
  const Steps steps{.shape = one.shape, .steps = one.steps, .fixed_deal = one.fixed_deal};
  write_set(one.ranks, storage, "out.h5", one.kind.options(), steps);
  on_ranks(one.readers, [&](exec::Transport& transport) {
    File in = open_file(transport, storage, "out.h5", Mode::read, {});
    steps.expect(in, transport);
    Random random(seed * 100 + static_cast<std::uint64_t>(transport.rank()));
    for (int i = 0; i < 3; ++i) {
      const std::uint64_t step = static_cast<std::uint64_t>(i) % one.steps;
      expect_values<double>(in, steps.name, 100 + step, one.shape, random_box(random, one.shape),
                            step);
    }
  });
}

TEST(Random, WhatIsWrittenIsRead) {
  const char* text = std::getenv("SLUICE_LONG");
  const bool is_long = text != nullptr && std::string(text) == "1";
  const int cases = is_long ? 1000 : 60;
  for (int seed = 1; seed <= cases && !HasFailure(); ++seed) {
    run(static_cast<std::uint64_t>(seed));
  }
}

TEST(Random, SixtyFourRanks) {
  for (const SetKind& kind : {SetKind{}, SetKind{"file-per-node", 7, 0}}) {
    const auto storage = storage::make_memory();
    const Steps steps{.shape = {200, 3}, .steps = 3, .fixed_deal = false};
    write_set(64, storage, "out.h5", kind.options(), steps);
    expect_set(5, storage, "out.h5", steps);
  }
}

}  // namespace
}  // namespace sluice::test
