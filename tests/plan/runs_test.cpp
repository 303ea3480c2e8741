// The computed runs of a piece, against an enumeration of all runs.
#include "layout/runs.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "model/random_boxes.hpp"

namespace sluice::layout {
namespace {

using test::pick;
using test::Random;

struct OneRun {
  std::uint64_t offset, packed, length;
};

/// A shape, a tile, addresses and a box at random, and one piece of it.
struct Case {
  Placement placement;
  Piece piece;
  std::vector<OneRun> runs;
};

Case random_case(Random& random) {
  const int rank = static_cast<int>(pick(random, 0, 4));
  const model::Dims shape = test::random_shape(random, rank, 9);
  model::Dims tile;
  for (int d = 0; d < rank; ++d) {
    tile.push_back(pick(random, 1, shape[d]));
  }
  const auto element = static_cast<std::uint32_t>(pick(random, 1, 9));
  std::vector<std::uint64_t> addresses;
  std::uint64_t next = pick(random, 0, 99);
  for (std::uint64_t i = 0; i < grid_of(shape, tile).volume(); ++i) {
    addresses.push_back(next);
    next += tile.volume() * element + pick(random, 0, 20);
  }
  Case made{{0, element, shape, tile, addresses}, {}, {}};
  const auto pieces = cut(made.placement, test::random_box(random, model::whole(shape)));
  made.piece = pieces[pick(random, 0, pieces.size() - 1)];
  for_each_run(made.placement, made.piece, made.piece.box,
               [&](std::uint64_t offset, std::uint64_t packed, std::uint64_t length) {
                 made.runs.push_back({offset, packed, length});
               });
  return made;
}

TEST(runs, are_those_that_visiting_finds) {
  Random random(1);
  for (int i = 0; i < 500; ++i) {
    const Case made = random_case(random);
    const RunList runs(made.placement, made.piece);
    ASSERT_EQ(runs.count(), made.runs.size());
    for (std::uint64_t k = 0; k < runs.count(); ++k) {
      ASSERT_EQ(runs.offset(k), made.runs[k].offset);
      ASSERT_EQ(runs.run_bytes(), made.runs[k].length);
      ASSERT_EQ(k * runs.run_bytes(), made.runs[k].packed);
    }
    ASSERT_EQ(runs.begin(), made.runs.front().offset);
    ASSERT_EQ(runs.end(), made.runs.back().offset + made.runs.back().length);
  }
}

TEST(runs, answer_for_every_offset) {
  Random random(2);
  for (int i = 0; i < 300; ++i) {
    const Case made = random_case(random);
    const RunList runs(made.placement, made.piece);
    const std::uint64_t first = runs.begin() > 3 ? runs.begin() - 3 : 0;
    for (std::uint64_t at = first; at < runs.end() + 3; ++at) {
      std::uint64_t packed = 0;
      std::uint64_t beyond = runs.count();
      std::uint64_t next = runs.end();
      for (std::uint64_t k = made.runs.size(); k-- > 0;) {
        const OneRun& run = made.runs[k];
        packed += at <= run.offset ? 0 : std::min(run.length, at - run.offset);
        if (run.offset + run.length > at) {
          beyond = k;
          next = std::max(at, run.offset);
        }
      }
      ASSERT_EQ(runs.packed_before(at), packed) << at;
      ASSERT_EQ(runs.first_beyond(at), beyond) << at;
      ASSERT_EQ(runs.next_byte(at), next) << at;
    }
    for (std::uint64_t p = 0; p < runs.bytes(); ++p) {
      ASSERT_EQ(runs.packed_before(runs.offset_of_packed(p)), p);
    }
  }
}

TEST(runs, cut_at_a_range) {
  Random random(3);
  for (int i = 0; i < 500; ++i) {
    const Case made = random_case(random);
    const RunList runs(made.placement, made.piece);
    const std::uint64_t first = pick(random, 0, runs.end());
    const std::uint64_t last = pick(random, first, runs.end() + 5);
    std::uint64_t packed = runs.packed_before(first);
    runs.for_each_within(
        first, last, [&](std::uint64_t offset, std::uint64_t at, std::uint64_t length) {
          ASSERT_GE(offset, first);
          ASSERT_LE(offset + length, last);
          ASSERT_GT(length, 0u);
          ASSERT_EQ(at, packed) << "what lies between two offsets is one packed range";
          ASSERT_EQ(runs.offset_of_packed(at), offset);
          packed += length;
        });
    ASSERT_EQ(packed, std::max(runs.packed_before(first), runs.packed_before(last)));
  }
}

}  // namespace
}  // namespace sluice::layout
