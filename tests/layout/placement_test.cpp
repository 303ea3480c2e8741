// Pieces and runs of a placement against brute force: every element of a box is in exactly one
// piece, at the address that follows from row-major order.
#include "layout/placement.hpp"

#include <algorithm>
#include <bit>
#include <gtest/gtest.h>
#include <map>
#include <vector>

#include "model/random_boxes.hpp"

namespace sluice::layout {
namespace {

using model::Box;
using model::Dims;
using test::Random;

constexpr std::uint32_t element_bytes = 4;

enum class Addresses { regular, irregular, with_absent };

/// Tile addresses in ascending steps of at least one tile.
std::vector<std::uint64_t> make_addresses(Random& random, std::uint64_t tiles,
                                          std::uint64_t tile_bytes, Addresses kind) {
  std::vector<std::uint64_t> addresses;
  std::uint64_t at = 4096;
  for (std::uint64_t i = 0; i < tiles; ++i) {
    const bool is_absent = kind == Addresses::with_absent && test::pick(random, 0, 2) == 0;
    addresses.push_back(is_absent ? absent : at);
    at += tile_bytes + (kind == Addresses::regular ? 64 : test::pick(random, 0, 9) * 8);
  }
  return addresses;
}

/// The address of element `at`, from the definition of a tile.
std::uint64_t expected_offset(const Dims& shape, const Dims& tile,
                              const std::vector<std::uint64_t>& addresses, const Dims& at) {
  std::uint64_t tile_index = 0;
  std::uint64_t in_tile = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    const std::uint64_t grid = (shape[d] + tile[d] - 1) / tile[d];
    tile_index = tile_index * grid + at[d] / tile[d];
    in_tile = in_tile * tile[d] + at[d] % tile[d];
  }
  return addresses[tile_index] + in_tile * element_bytes;
}

/// Checks one box of one placement, element by element.
void check_box(const Placement& placement, const std::vector<std::uint64_t>& addresses,
               const Box& box) {
  std::map<std::uint64_t, std::uint64_t> by_packed;  // packed offset of an element, its file offset
  std::uint64_t last_tile = 0;
  for (const Piece& piece : cut(placement, box)) {
    ASSERT_TRUE(by_packed.empty() || piece.tile_index > last_tile) << "tiles out of order";
    last_tile = piece.tile_index;
    ASSERT_TRUE(model::contains(placement.tile_box(piece.tile_index), piece.box));
    if (placement.address(piece.tile_index) == absent) {
      for (const Dims& at : test::elements_of(piece.box)) {
        ASSERT_TRUE(by_packed.emplace(test::place_of(at, box) * element_bytes, absent).second);
      }
      continue;
    }
    std::uint64_t runs = 0;
    std::uint64_t last_end = 0;
    for_each_run(placement, piece, box,
                 [&](std::uint64_t offset, std::uint64_t packed, std::uint64_t bytes) {
                   ++runs;
                   ASSERT_GE(offset, last_end) << "runs descend or overlap";
                   last_end = offset + bytes;
                   ASSERT_EQ(bytes % element_bytes, 0u);
                   for (std::uint64_t i = 0; i < bytes; i += element_bytes) {
                     ASSERT_TRUE(by_packed.emplace(packed + i, offset + i).second) << "twice";
                   }
                 });
    ASSERT_EQ(runs, run_count(placement, piece, box));
  }
  ASSERT_EQ(by_packed.size(), box.volume());
  for (const Dims& at : test::elements_of(box)) {
    const std::uint64_t packed = test::place_of(at, box) * element_bytes;
    const std::uint64_t expected =
        expected_offset(placement.shape(), placement.tile(), addresses, at);
    const std::uint64_t found = by_packed.at(packed);
    ASSERT_TRUE(found == absent || found == expected) << at.text();
  }
}

class Random200 : public testing::TestWithParam<Addresses> {};

TEST_P(Random200, PiecesAndRunsCoverEveryElementOnce) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const int rank = static_cast<int>(test::pick(random, 0, 5));
    const Dims shape = test::random_shape(random, rank, rank > 3 ? 5 : 9);
    Dims tile;
    for (int d = 0; d < rank; ++d) {
      tile.push_back(test::pick(random, 1, shape[d] + 2));
    }
    const std::uint64_t tiles = grid_of(shape, tile).volume();
    const auto addresses = make_addresses(random, tiles, tile.volume() * element_bytes, GetParam());
    const Placement placement(3, element_bytes, shape, tile, addresses);
    model::ByteWriter writer;
    placement.write_to(writer);
    const auto message = writer.take();
    model::ByteReader reader(message);
    const Placement received = Placement::read_from(reader);
    for (std::uint64_t i = 0; i < tiles; ++i) {
      ASSERT_EQ(placement.address(i), addresses[i]);
      ASSERT_EQ(received.address(i), addresses[i]);
    }
    for (int i = 0; i < 4; ++i) {
      check_box(received, addresses, test::random_box(random, model::whole(shape), true));
    }
    check_box(placement, addresses, model::whole(shape));
  }
}

INSTANTIATE_TEST_SUITE_P(Placements, Random200,
                         testing::Values(Addresses::regular, Addresses::irregular,
                                         Addresses::with_absent));

TEST(Placement, TheHullSpansWhatIsThere) {
  const std::vector<std::uint64_t> some = {absent, 9000, absent, 5000};
  const Placement placement(0, 8, {4, 6}, Dims{2, 3}, some);
  EXPECT_EQ(placement.hull(), (Extent{5000, 9000 + 6 * 8 - 5000}));
  const std::vector<std::uint64_t> none(4, absent);
  EXPECT_EQ(Placement(0, 8, {4, 6}, Dims{2, 3}, none).hull(), Extent{});
  EXPECT_EQ(Placement(0, 8, {0, 6}, Dims{1, 3}, {}).hull(), Extent{});
}

TEST(Placement, AsManyAddressesAsTilesAreNeeded) {
  const std::vector<std::uint64_t> three = {1, 2, 3};
  EXPECT_THROW(Placement(0, 8, {4, 6}, Dims{2, 3}, three), Error);
}

TEST(Placement, AddressesBeyond32Bits) {
  const std::vector<std::uint64_t> addresses = {1ULL << 33, (1ULL << 33) + (5ULL << 32)};
  const Placement placement(0, 8, {2, 1ULL << 31}, Dims{1, 1ULL << 31}, addresses);
  const Box last{{1, (1ULL << 31) - 1}, {1, 1}};
  const auto pieces = cut(placement, last);
  ASSERT_EQ(pieces.size(), 1u);
  for_each_run(placement, pieces[0], last, [&](std::uint64_t offset, auto packed, auto bytes) {
    EXPECT_EQ(offset, addresses[1] + ((1ULL << 31) - 1) * 8);
    EXPECT_EQ(packed, 0u);
    EXPECT_EQ(bytes, 8u);
  });
}

TEST(Placement, RunsAreAsLongAsTheyCanBe) {
  const std::vector<std::uint64_t> one = {0};
  const Placement placement(0, 8, {10, 4, 6}, Dims{10, 4, 6}, one);
  auto runs_of = [&](const Box& box) {
    return run_count(placement, cut(placement, box).at(0), box);
  };
  EXPECT_EQ(runs_of({{0, 0, 0}, {10, 4, 6}}), 1u);
  EXPECT_EQ(runs_of({{3, 0, 0}, {5, 4, 6}}), 1u);
  EXPECT_EQ(runs_of({{3, 1, 0}, {5, 2, 6}}), 5u);
  EXPECT_EQ(runs_of({{3, 1, 2}, {5, 2, 1}}), 10u);
}

TEST(Placement, ItsHullAndAlignmentAreThoseOfItsAddresses) {
  const std::vector<std::vector<std::uint64_t>> lists{
      {4096, 8192, 12288}, {12288, 8192, 4096}, {4096}, {64, 4096, 96}, {absent, 4096, 8192}};
  for (const auto& addresses : lists) {
    const Dims shape{10 * addresses.size()};
    const Placement placement(0, 4, shape, Dims{10}, addresses);
    std::uint64_t first = absent;
    std::uint64_t last = 0;
    std::uint64_t bits = 0;
    for (const std::uint64_t at : addresses) {
      if (at != absent) {
        first = std::min(first, at);
        last = std::max(last, at + 40);
        bits |= at;
      }
    }
    EXPECT_EQ(placement.hull(), (Extent{first, last - first}));
    EXPECT_EQ(std::countr_zero(placement.address_bits()), std::countr_zero(bits));
  }
  EXPECT_EQ(Placement(0, 4, Dims{0}, Dims{10}, {}).hull(), Extent{});
}

/// The tiles that a file holds as a list say the same as a table of all tiles.
TEST(Placement, OfSomeTilesIsThatOfAllWithTheOthersAbsent) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    const Dims shape{test::pick(random, 1, 9), test::pick(random, 1, 9)};
    const Dims tile{test::pick(random, 1, 4), test::pick(random, 1, 4)};
    const std::uint64_t count = grid_of(shape, tile).volume();
    const std::uint64_t tile_bytes = tile.volume() * element_bytes;
    std::vector<std::uint64_t> addresses = make_addresses(
        random, count, tile_bytes, round % 4 == 0 ? Addresses::regular : Addresses::with_absent);
    if (round % 20 == 1) {
      addresses.assign(count, absent);
    }
    std::vector<std::uint64_t> numbers;
    std::vector<std::uint64_t> present;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (addresses[i] != absent) {
        numbers.push_back(i);
        present.push_back(addresses[i]);
      }
    }
    const Placement all(3, element_bytes, shape, tile, addresses);
    model::ByteWriter out;
    Placement::of_tiles(3, element_bytes, shape, tile, numbers, present).write_to(out);
    const std::vector<std::byte> bytes = out.take();
    model::ByteReader in(bytes);
    const Placement some = Placement::read_from(in);
    ASSERT_EQ(some.tiles(), count);
    ASSERT_EQ(some.entries(), numbers.size());
    ASSERT_EQ(some.hull(), all.hull());
    ASSERT_EQ(std::countr_zero(some.address_bits()), std::countr_zero(all.address_bits()));
    for (std::uint64_t i = 0; i < count; ++i) {
      ASSERT_EQ(some.address(i), addresses[i]) << i;
      ASSERT_EQ(some.entry_of(i) == absent, addresses[i] == absent) << i;
    }
    for (std::uint64_t entry = 0; entry < some.entries(); ++entry) {
      ASSERT_EQ(some.tile_at(entry), numbers[entry]);
      ASSERT_EQ(some.entry_of(numbers[entry]), entry);
    }
  }
}

}  // namespace
}  // namespace sluice::layout
