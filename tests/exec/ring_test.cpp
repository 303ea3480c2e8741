// The windows of a node's writers, with a thread for every rank and one for every writer.
#include "exec/write/ring.hpp"

#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

#include "storage/scratch.hpp"

namespace sluice::exec {
namespace {

using layout::Placement;

constexpr std::uint64_t element_bytes = 8;

/// The data of a rank of `ranks`: every Nth element of a file, in blocks of its own.
class Blocks final : public RoundSource {
 public:
  Blocks(const Placement& placement, std::uint64_t block, std::size_t rank, std::size_t ranks,
         std::uint64_t key)
      : key_(key) {
    const std::uint64_t elements = placement.shape()[0];
    for (std::uint64_t at = rank * block; at < elements; at += ranks * block) {
      const model::Box box{{at}, {std::min(block, elements - at)}};
      const layout::Piece piece = layout::cut(placement, box).front();
      items_.push_back({0, piece, layout::RunList(placement, piece)});
    }
  }
  static std::uint64_t value(std::uint64_t element, std::uint64_t key) {
    return element * 1000003 + key;
  }
  Bytes bytes(std::size_t item, std::uint64_t from, std::uint64_t to) override {
    if (fails_at_ != 0 && ++asked_ == fails_at_) {
      throw Error(Code::overflow, "cannot be packed");
    }
    const std::uint64_t first = items_[item].piece.box.start[0] + from / element_bytes;
    room_.resize((to - from) / element_bytes);
    for (std::uint64_t i = 0; i < room_.size(); ++i) {
      room_[i] = value(first + i, key_);
    }
    return {std::as_bytes(std::span(room_)), false};
  }
  void fail_at(std::uint64_t call) { fails_at_ = call; }

 private:
  std::uint64_t key_;
  std::uint64_t asked_ = 0;
  std::uint64_t fails_at_ = 0;
  std::vector<std::uint64_t> room_;
};

struct Node {
  std::size_t ranks = 4;
  std::vector<int> writers = {0, 2};
  std::uint64_t elements = 100000;
  std::uint64_t block = 777;
  std::uint64_t passes = 3;
  std::uint64_t slots = 3;
  std::uint64_t window_bytes = 64 << 10;
  bool cyclic = false;
  bool gathers = true;
};

std::shared_ptr<storage::SharedMemory> shared(const RingShape& shape) {
  std::shared_ptr<storage::SharedMemory> memory =
      storage::SharedMemory::make(Ring::memory_bytes(shape));
  memory->reserve(
      0, storage::SharedMemory::makes_room_in_parts() ? Ring::head_bytes(shape) : memory->bytes());
  return memory;
}

/// Every pass goes to a file of its own: the elements lie from byte 4096 on.
class RingOf {
 public:
  explicit RingOf(const Node& node) : node_(node) {
    for (std::uint64_t pass = 0; pass < node_.passes; ++pass) {
      storage::make_posix()->open(path(pass), storage::Access::create);
    }
    shape_ = {node_.ranks, node_.writers.size(), node_.window_bytes, node_.slots};
    memory_ = shared(shape_);
  }

  /// `visit(rank, source)` before a rank puts its data.
  void run(const std::function<void(std::size_t, Blocks&)>& visit = {}) {
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < node_.ranks; ++rank) {
      threads.emplace_back([this, rank, &visit] { be(rank, visit); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }

  void expect_written(std::uint64_t pass) {
    std::vector<std::uint64_t> got(node_.elements);
    std::ifstream file(path(pass), std::ios::binary);
    file.seekg(address);
    file.read(reinterpret_cast<char*>(got.data()),
              static_cast<std::streamsize>(got.size() * element_bytes));
    ASSERT_TRUE(file.good());
    for (std::uint64_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i], Blocks::value(i, pass)) << "element " << i << " of pass " << pass;
    }
  }
  std::atomic<int> failures = 0;

 private:
  static constexpr std::uint64_t address = 4096;

  std::string path(std::uint64_t pass) const { return folder_ / std::to_string(pass); }

  void be(std::size_t rank, const std::function<void(std::size_t, Blocks&)>& visit) {
    const std::vector<std::uint64_t> addresses{address};
    const Placement placement(0, element_bytes, {node_.elements}, model::Dims{node_.elements},
                              addresses);
    const auto tiles = node_.cyclic ? plan::TileMap::cyclic(node_.writers, 8192, placement.hull())
                                    : plan::TileMap::runs(node_.writers, 8192, placement.hull());
    Ring ring(std::make_unique<RingMemory>(memory_, node_.ranks), shape_, rank, 60);
    const std::int64_t own = tiles.index_of(static_cast<int>(rank));
    const bool writes = own >= 0;
    std::vector<std::unique_ptr<storage::File>> files;
    WriteBehind writer(0, 0, Pace::in_thread);
    for (std::uint64_t number = 0; number < node_.passes; ++number) {
      Pass pass = ring.pass(tiles, {0, tiles.own_bytes()}, element_bytes);
      pass.gathers = node_.gathers;
      if (writes) {
        files.push_back(storage::make_posix()->open(path(number), storage::Access::read_write));
        writer.submit([&ring, pass, file = files.back().get()](bool) { ring.take(pass, file); });
      }
      Blocks mine(placement, node_.block, rank, node_.ranks, number);
      if (visit) {
        visit(rank, mine);
      }
      try {
        ring.put(pass, mine);
      } catch (const Error&) {
        ++failures;
      }
    }
    writer.drain();
  }

  const Node node_;
  const storage::Scratch folder_;
  RingShape shape_;
  std::shared_ptr<storage::SharedMemory> memory_;
};

TEST(ring, brings_every_byte_to_its_place) {
  for (const bool cyclic : {false, true}) {
    for (const std::size_t writers : {1, 2, 4}) {
      Node node;
      node.cyclic = cyclic;
      node.writers.clear();
      for (std::size_t w = 0; w < writers; ++w) {
        node.writers.push_back(static_cast<int>(w * node.ranks / writers));
      }
      RingOf ring(node);
      ring.run();
      for (std::uint64_t pass = 0; pass < node.passes; ++pass) {
        ring.expect_written(pass);
      }
    }
  }
}

TEST(ring, writes_the_same_piece_by_piece) {
  for (const std::uint64_t slots : {1, 5}) {
    Node node;
    node.gathers = false;
    node.slots = slots;
    RingOf ring(node);
    ring.run([](std::size_t rank, Blocks&) {
      if (rank == 2) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the others' are written
      }
    });
    for (std::uint64_t pass = 0; pass < node.passes; ++pass) {
      ring.expect_written(pass);
    }
  }
}

TEST(ring, brings_every_byte_to_its_place_in_huge_pages) {
  Node node;
  node.window_bytes = 2 * storage::SharedMemory::huge_page_bytes;
  node.elements = 1 << 20;
  node.block = 1 << 16;
  RingOf ring(node);
  ring.run();
  for (std::uint64_t pass = 0; pass < node.passes; ++pass) {
    ring.expect_written(pass);
  }
}

TEST(ring, one_slot_is_enough) {
  Node node;
  node.slots = 1;
  RingOf ring(node);
  ring.run();
  ring.expect_written(0);
  ring.expect_written(2);
}

TEST(ring, a_rank_that_fails_holds_up_nobody) {
  Node node;
  node.passes = 2;
  RingOf ring(node);
  ring.run([](std::size_t rank, Blocks& mine) {
    if (rank == 1) {
      mine.fail_at(3);
    }
  });
  EXPECT_EQ(ring.failures, 2) << "one of each pass";
}

TEST(ring, a_late_rank_is_waited_for) {
  Node node;
  node.passes = 1;
  RingOf ring(node);
  ring.run([](std::size_t rank, Blocks&) {
    if (rank == 3) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  });
  ring.expect_written(0);
}

TEST(ring, who_waits_for_a_slot_in_vain_is_told) {
  RingShape shape{1, 1, 4096, 1};
  Ring ring(std::make_unique<RingMemory>(shared(shape), 1), shape, 0, 0.05);
  const std::vector<std::uint64_t> addresses{0};
  const Placement placement(0, element_bytes, {4096}, model::Dims{4096}, addresses);
  const auto tiles = plan::TileMap::runs({0}, 4096, placement.hull());
  Blocks mine(placement, 4096, 0, 1, 0);
  try {
    ring.put(ring.pass(tiles, {0, tiles.own_bytes()}, element_bytes), mine);  // nobody takes
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::timeout);
  }
  EXPECT_GT(ring.waited_s(), 0.04);
}

}  // namespace
}  // namespace sluice::exec
