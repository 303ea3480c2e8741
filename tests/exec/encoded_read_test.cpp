// Reading compressed tiles: the right values for any boxes, readers and budgets, every tile decoded
// by one rank, and nothing on a rank that grows with the number of ranks.
#include "exec/read/encoded_read.hpp"

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>

#include "layout/tile_block.hpp"
#include "support/counted_heap.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

using Element = std::uint32_t;
using model::Box;
using model::Dims;

constexpr const char* path = "tiles";
constexpr std::uint64_t key = 3;

Element element_of(std::uint64_t index) { return value_at<Element>(key, index); }

/// A variable whose tiles are shuffled, every `absent_every`-th of them missing (0: all exist).
struct Stored {
  codec::Pipeline pipeline{{codec::shuffle_id, {sizeof(Element)}}};
  std::shared_ptr<storage::MemoryStorage> storage = storage::make_memory();
  layout::EncodedTiles tiles;

  Stored(const Dims& shape, const Dims& tile, std::uint64_t absent_every) {
    const std::uint64_t count = layout::grid_of(shape, tile).volume();
    codec::Coder coder(pipeline);
    std::vector<std::byte> content(100);
    std::vector<std::uint64_t> addresses;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (absent_every != 0 && i % absent_every == absent_every - 1) {
        addresses.push_back(layout::absent);
        tiles.sizes.push_back(0);
        tiles.masks.push_back(0);
        continue;
      }
      std::vector<Element> dense(tile.volume());
      const Box box = layout::tile_box(shape, tile, i);
      for_each_element(shape, box, [&](std::uint64_t index, std::uint64_t k) {
        std::uint64_t in_tile = 0;
        std::uint64_t stride = 1;
        for (int d = shape.rank() - 1; d >= 0; --d) {
          in_tile += k % box.count[d] * stride;
          k /= box.count[d];
          stride *= tile[d];
        }
        dense[in_tile] = element_of(index);
      });
      const auto encoded = coder.encode(std::as_bytes(std::span(dense)));
      addresses.push_back(content.size());
      tiles.sizes.push_back(encoded.bytes.size());
      tiles.masks.push_back(encoded.mask);
      content.insert(content.end(), encoded.bytes.begin(), encoded.bytes.end());
    }
    tiles.placement = layout::Placement(0, sizeof(Element), shape, tile, addresses);
    storage->put(path, content);
  }
};

Box hull_of(const std::vector<Box>& boxes) {
  Box hull = boxes.front();
  for (const Box& box : boxes) {
    if (box.empty()) {
      continue;
    }
    for (int d = 0; d < hull.start.rank() && !hull.empty(); ++d) {
      const std::uint64_t end = std::max(hull.end(d), box.end(d));
      hull.start[d] = std::min(hull.start[d], box.start[d]);
      hull.count[d] = end - hull.start[d];
    }
    hull = hull.empty() ? box : hull;
  }
  return hull;
}

/// Reads boxes[rank] on every rank; `decoded[tile]` counts. What comes must be right, and each
/// element come once.
void read_and_check(exec::Transport& transport, const Stored& stored, const std::vector<Box>& boxes,
                    exec::EncodedReading reading, std::vector<std::atomic<int>>* decoded) {
  const Box& box = boxes[static_cast<std::size_t>(transport.rank())];
  const layout::Placement& placement = stored.tiles.placement;
  const auto file = stored.storage->open(path, storage::Access::read);
  reading.tiles = &stored.tiles;
  reading.pipeline = stored.pipeline;
  reading.name = "v";
  reading.file = [&]() -> storage::File& { return *file; };
  if (decoded != nullptr) {
    reading.inspect = [&](std::uint64_t tile, std::span<const std::byte>) { ++(*decoded)[tile]; };
  }
  std::uint64_t elements = 0;
  exec::read_encoded(
      transport, reading, box, [&](const Box& part, std::span<const std::byte> bytes) {
        ASSERT_TRUE(model::contains(box, part));
        ASSERT_EQ(bytes.size(), part.volume() * sizeof(Element));
        elements += part.volume();
        for_each_element(placement.shape(), part, [&](std::uint64_t index, std::uint64_t k) {
          Element got = 0;
          std::memcpy(&got, &bytes[k * sizeof got], sizeof got);
          ASSERT_EQ(got, element_of(index));
        });
      });
  std::uint64_t expected = 0;
  for (const layout::Piece& piece : layout::cut(placement, box)) {
    expected += placement.address(piece.tile_index) == layout::absent ? 0 : piece.box.volume();
  }
  EXPECT_EQ(elements, expected);
}

TEST(encoded_read, any_boxes_readers_and_budgets) {
  const int cases = case_count(120, 30, 2000);
  for (int seed = 0; seed < cases; ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    const int dimensions = static_cast<int>(pick(random, 1, 4));
    const Dims shape = random_shape(random, dimensions, dimensions < 3 ? 40 : 12);
    Dims tile;
    for (const std::uint64_t extent : shape) {
      tile.push_back(pick(random, 1, std::max<std::uint64_t>(1, extent)));
    }
    const Stored stored(shape, tile, pick(random, 0, 1) * pick(random, 1, 4));
    const int ranks = static_cast<int>(pick(random, 1, 8));
    std::vector<Box> boxes;
    for (int rank = 0; rank < ranks; ++rank) {
      boxes.push_back(random_box(random, model::whole(shape), true));
    }
    exec::EncodedReading reading;
    reading.region = hull_of(boxes);
    const int readers = static_cast<int>(pick(random, 1, static_cast<std::uint64_t>(ranks)));
    reading.readers = plan::RankList::spaced(ranks % readers, ranks / readers, readers);
    reading.budget_bytes =
        stored.tiles.placement.tile_bytes() * std::vector{2, 8, 100}[pick(random, 0, 2)];
    std::vector<std::atomic<int>> decoded(stored.tiles.sizes.size());
    exec::run_local(ranks, static_cast<std::uint64_t>(seed), [&](exec::Transport& transport) {
      read_and_check(transport, stored, boxes, reading, &decoded);
    });
    for (std::uint64_t t = 0; t < decoded.size(); ++t) {
      const bool is_wanted =
          stored.tiles.placement.address(t) != layout::absent &&
          std::any_of(boxes.begin(), boxes.end(), [&](const Box& box) {
            return model::intersect(stored.tiles.placement.tile_box(t), box).has_value();
          });
      ASSERT_EQ(decoded[t], is_wanted ? 1 : 0) << "seed " << seed << " tile " << t;
    }
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

/// For a collective call its result is counted, not what the virtual world holds for all ranks
/// meanwhile, which the first rank to arrive allocates.
class BringingOnly final : public exec::Transport {
 public:
  explicit BringingOnly(exec::Transport& inner) : inner_(inner) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  int node() const override { return inner_.node(); }
  int nodes() const override { return inner_.nodes(); }
  bool runs_at_once() const override { return inner_.runs_at_once(); }
  void let_others_run() override { inner_.let_others_run(); }
  void barrier() override {
    const Inside inside;
    inner_.barrier();
  }
  void allreduce(std::span<std::int64_t> values, exec::Op op) override {
    const Inside inside;
    inner_.allreduce(values, op);
  }
  void reduce(std::span<std::int64_t> values, exec::Op op, int root) override {
    const Inside inside;
    inner_.reduce(values, op, root);
  }
  exec::PrefixSum prefix_sum(std::int64_t value) override {
    const Inside inside;
    return inner_.prefix_sum(value);
  }
  void broadcast(std::vector<std::byte>& bytes, int root) override {
    inner_.broadcast(bytes, root);
  }
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes, int root) override {
    return inner_.gather(bytes, root);
  }
  std::vector<std::vector<std::byte>> allgather(std::span<const std::byte> bytes) override {
    return inner_.allgather(bytes);
  }
  std::vector<exec::Parcel> exchange(std::vector<exec::Parcel> parcels) override {
    Inside inside;
    inside.add(-1, parcels);
    std::vector<exec::Parcel> brought = inner_.exchange(std::move(parcels));
    inside.add(1, brought);
    return brought;
  }
  std::unique_ptr<exec::Pending> start_send(int to, int tag,
                                            std::span<const std::byte> bytes) override {
    return inner_.start_send(to, tag, bytes);
  }
  std::unique_ptr<exec::Pending> start_receive(int from, int tag,
                                               std::span<std::byte> into) override {
    return inner_.start_receive(from, tag, into);
  }
  std::optional<exec::Arriving> start_receive_any(int tag) override {
    return inner_.start_receive_any(tag);
  }
  std::unique_ptr<exec::Transport> split(int color) override { return inner_.split(color); }

 private:
  class Inside {
   public:
    ~Inside() {
      held_bytes = before_ + brought_bytes_;
      most_bytes = std::max(most_before_, held_bytes);
    }
    void add(int sign, const std::vector<exec::Parcel>& parcels) {
      for (const exec::Parcel& parcel : parcels) {
        brought_bytes_ += sign * static_cast<std::int64_t>(sizeof parcel + parcel.bytes.size());
      }
    }

   private:
    const std::int64_t before_ = held_bytes;
    const std::int64_t most_before_ = most_bytes;
    std::int64_t brought_bytes_ = 0;
  };
  exec::Transport& inner_;
};

/// The most memory that any of so many ranks takes to read 16 rows beginning in the middle of a
/// tile, all of what is stored being read.
std::int64_t most_of_a_rank(int ranks, int readers) {
  const auto count = static_cast<std::uint64_t>(ranks);
  const Stored stored({16 * count, 64}, {8, 64}, 0);
  std::vector<Box> boxes;
  for (std::uint64_t rank = 0; rank < count; ++rank) {
    const std::uint64_t first = rank == 0 ? 0 : 16 * rank + 3;
    const std::uint64_t end = rank + 1 == count ? 16 * count : 16 * rank + 19;
    boxes.push_back({{first, 0}, {end - first, 64}});
  }
  exec::EncodedReading reading;
  reading.region = model::whole(stored.tiles.placement.shape());
  reading.readers = plan::RankList::spaced(0, ranks / readers, readers);
  reading.budget_bytes = 256 << 10;
  std::atomic<std::int64_t> most{0};
  exec::run_local(ranks, 7, [&](exec::Transport& transport) {
    BringingOnly bringing(transport);
    const std::int64_t before = held_bytes;
    most_bytes = before;
    read_and_check(bringing, stored, boxes, reading, nullptr);
    const std::int64_t bytes = most_bytes - before;
    for (std::int64_t now = most; now < bytes && !most.compare_exchange_weak(now, bytes);) {
    }
  });
  return most;
}

TEST(encoded_read, memory_of_a_rank_does_not_grow_with_the_ranks) {
  const std::int64_t of_few = most_of_a_rank(16, 16);
  const std::int64_t of_many = most_of_a_rank(512, 512);
  std::printf("16 ranks: %ld bytes, 512: %ld\n", static_cast<long>(of_few),
              static_cast<long>(of_many));
  EXPECT_LE(of_many, of_few + 2048);
  // Fewer readers have more tiles each, in more rounds, and hear from those who ask them.
  const std::int64_t by_few = most_of_a_rank(512, 32);
  std::printf("512 ranks, 32 readers: %ld bytes\n", static_cast<long>(by_few));
  EXPECT_LE(by_few, 256 << 10);
}

TEST(encoded_read, blocks_of_tiles_are_arithmetic) {
  Random random(5);
  for (int i = 0; i < 300; ++i) {
    const Dims shape = random_shape(random, static_cast<int>(pick(random, 1, 4)), 12);
    Dims tile;
    for (const std::uint64_t extent : shape) {
      tile.push_back(pick(random, 1, std::max<std::uint64_t>(1, extent)));
    }
    const std::vector<std::uint64_t> addresses(layout::grid_of(shape, tile).volume());
    const layout::Placement placement(0, 1, shape, tile, addresses);
    const Box region = random_box(random, model::whole(shape), true);
    const Box part = region.empty() ? region : random_box(random, region, true);
    const layout::TileBlock block(placement, region);
    const layout::TileBlock inner(placement, part);
    std::vector<std::uint64_t> tiles;
    for (std::uint64_t n = 0; n < block.size(); ++n) {
      tiles.push_back(block.tile(n));
    }
    std::vector<std::uint64_t> expected;
    for (const layout::Piece& piece : layout::cut(placement, region)) {
      expected.push_back(piece.tile_index);
    }
    ASSERT_EQ(tiles, expected);
    std::uint64_t next = block.size();
    for (std::uint64_t n = block.size(); n-- > 0;) {
      const Box here = placement.tile_box(block.tile(n));
      next = !part.empty() && model::intersect(here, part) ? n : next;
      ASSERT_EQ(block.next(inner, n), next) << region.text() << part.text() << n;
    }
    ASSERT_EQ(block.next(inner, block.size()), block.size());
  }
}

}  // namespace
}  // namespace sluice::test
