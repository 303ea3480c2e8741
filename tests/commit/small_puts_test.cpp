// Small puts: in any order, the blocks made from them contain every element once, in its place; in
// the variable's order they are few; memory stays within the budget and is reused.
#include "commit/output/small_puts.hpp"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <vector>

#include "sluice/error.hpp"

namespace sluice::test {
namespace {

using commit::SmallPuts;
using model::Block;
using model::Box;
using model::Dims;

constexpr Type f64{Kind::f64, 8};
constexpr std::uint64_t roomy_bytes = 64ULL << 20;

std::uint64_t index_of(const Dims& at, const Dims& shape) {
  std::uint64_t index = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    index = index * shape[d] + at[d];
  }
  return index;
}

/// The nth element of a box in row-major order.
Dims element_of(const Box& box, std::uint64_t number) {
  Dims at = box.start;
  for (int d = box.start.rank() - 1; d >= 0; --d) {
    at[d] += number % box.count[d];
    number /= box.count[d];
  }
  return at;
}

/// What an element of a variable holds.
double value_of(std::uint32_t variable, std::uint64_t index) {
  return static_cast<double>(variable) * 1e9 + static_cast<double>(index) + 1;
}

/// Puts boxes as an Output does: by the fast path if possible, else in full. Counts the fast ones.
class Putter {
 public:
  Putter(std::vector<Dims> shapes, std::uint64_t budget_bytes)
      : shapes_(std::move(shapes)), puts_(budget_bytes) {}

  void put(std::uint32_t variable, const Box& box) {
    const Dims& shape = shapes_[variable];
    std::vector<double> data;
    for (std::uint64_t n = 0; n < box.volume(); ++n) {
      data.push_back(value_of(variable, index_of(element_of(box, n), shape)));
    }
    const bool is_single = box.volume() == 1;
    if (puts_.next(variable, f64, false, data.data(), shape.rank(), box.start.data(),
                   is_single ? nullptr : box.count.data())) {
      ++quick_;
      return;
    }
    Block block;
    block.variable = variable;
    block.box = box;
    block.memory = {reinterpret_cast<const std::byte*>(data.data()), f64, box.count,
                    Dims::filled(shape.rank(), 0)};
    ASSERT_TRUE(puts_.add(block, shape, blocks_));
  }

  /// Every element of the blocks, by variable and index; each must be correct and occur once.
  std::map<std::uint32_t, std::vector<std::uint64_t>> take() {
    puts_.finish(blocks_);
    std::map<std::uint32_t, std::vector<std::uint64_t>> found;
    for (const Block& block : blocks_) {
      EXPECT_EQ(block.memory.shape, block.box.count);
      for (std::uint64_t n = 0; n < block.box.volume(); ++n) {
        double value = 0;
        std::memcpy(&value, block.memory.data + n * sizeof value, sizeof value);
        const Dims at = element_of(block.box, n);
        const std::uint64_t index = index_of(at, shapes_[block.variable]);
        EXPECT_EQ(value, value_of(block.variable, index)) << at.text();
        found[block.variable].push_back(index);
      }
    }
    for (auto& [variable, indices] : found) {
      std::sort(indices.begin(), indices.end());
      EXPECT_EQ(std::adjacent_find(indices.begin(), indices.end()), indices.end());
    }
    return found;
  }
  void forget() {
    blocks_.clear();
    puts_.forget();
  }

  std::size_t blocks() const { return blocks_.size(); }
  std::size_t quick() const { return quick_; }
  SmallPuts& puts() { return puts_; }

 private:
  std::vector<Dims> shapes_;
  SmallPuts puts_;
  std::vector<Block> blocks_;
  std::size_t quick_ = 0;
};

/// Every element of `part`, one by one in row-major order.
void put_elements(Putter& putter, std::uint32_t variable, const Box& part) {
  for (std::uint64_t n = 0; n < part.volume(); ++n) {
    putter.put(variable, {element_of(part, n), Dims::filled(part.start.rank(), 1)});
  }
}

TEST(SmallPuts, SingleElementsInOrderBecomeOneBlockAPieceOfMemory) {
  Putter putter({Dims{200000}}, roomy_bytes);
  put_elements(putter, 0, {{1000}, {150000}});
  const auto found = putter.take();
  EXPECT_EQ(found.at(0).size(), 150000U);
  EXPECT_LE(putter.blocks(), 5U);  // 16 KiB, 64 KiB, 256 KiB, 1 MiB
  EXPECT_GE(putter.quick(), 150000U - 10);
}

TEST(SmallPuts, RowsAndPlanesJoinToo) {
  for (const Dims& shape : {Dims{500, 3}, Dims{40, 5, 7}, Dims{6, 5, 4, 3}, Dims{300, 1}}) {
    Putter putter({shape}, roomy_bytes);
    put_elements(putter, 0, model::whole(shape));
    EXPECT_EQ(putter.take().at(0).size(), shape.volume()) << shape.text();
    EXPECT_LE(putter.blocks(), 2U) << shape.text();
  }
}

TEST(SmallPuts, PartsOfRowsJoinWhereTheBoxIsNarrowerThanTheVariable) {
  const Box part{{10, 4, 2}, {20, 3, 5}};
  Putter putter({Dims{50, 10, 9}}, roomy_bytes);
  put_elements(putter, 0, part);
  EXPECT_EQ(putter.take().at(0).size(), part.volume());
  EXPECT_LE(putter.blocks(), 1U);
}

TEST(SmallPuts, RowsOfAVariableInTurnWithAnother) {
  Putter putter({Dims{3000, 3}, Dims{3000}}, roomy_bytes);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    putter.put(0, {{i, 0}, {1, 3}});
    putter.put(1, {{i}, {1}});
  }
  const auto found = putter.take();
  EXPECT_EQ(found.at(0).size(), 9000U);
  EXPECT_EQ(found.at(1).size(), 3000U);
  EXPECT_LE(putter.blocks(), 5U);
  EXPECT_GE(putter.quick(), 5990U);
}

// Traversals in order, backwards, by rows and by columns, interrupted at random.
TEST(SmallPuts, AnyOrderHoldsEveryElementOnce) {
  std::mt19937_64 random(20);
  const std::vector<Dims> shapes = {{97}, {13, 11}, {5, 7, 6}, {3, 4, 2, 5}, {1, 17}, {17, 1}};
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t budget_bytes = round % 3 == 0 ? 256U << 10 : roomy_bytes;
    Putter putter(shapes, budget_bytes);
    for (int step = 0; step < 2; ++step) {
      std::map<std::uint32_t, std::uint64_t> expected;
      for (std::uint32_t v = 0; v < shapes.size(); ++v) {
        std::vector<Box> parts;
        const Dims& shape = shapes[v];
        // pieces of a random width along the last dimension
        const int last = shape.rank() - 1;
        const std::uint64_t width = 1 + random() % shape[last];
        for (std::uint64_t n = 0; n < shape.volume(); n += shape[last]) {
          for (std::uint64_t from = 0; from < shape[last]; from += width) {
            Box part{element_of(model::whole(shape), n), Dims::filled(shape.rank(), 1)};
            part.start[last] = from;
            part.count[last] = std::min(width, shape[last] - from);
            parts.push_back(part);
          }
        }
        if (random() % 4 == 0) {
          std::shuffle(parts.begin(), parts.end(), random);
        } else if (random() % 4 == 0) {
          std::reverse(parts.begin(), parts.end());
        } else if (random() % 2 == 0) {  // two that are swapped
          std::swap(parts[random() % parts.size()], parts[random() % parts.size()]);
        }
        for (const Box& part : parts) {
          putter.put(v, part);
        }
        expected[v] = shape.volume();
      }
      const auto found = putter.take();
      for (const auto& [v, volume] : expected) {
        EXPECT_EQ(found.at(v).size(), volume) << round << " " << v;
      }
      putter.forget();
    }
  }
}

TEST(SmallPuts, MemoryIsUsedAgainAndKeepsToTheBudget) {
  constexpr std::uint64_t budget_bytes = 1 << 20;
  Putter putter({Dims{1 << 20}}, budget_bytes);
  put_elements(putter, 0, {{0}, {80000}});
  putter.take();
  const std::uint64_t held = putter.puts().held_bytes();
  EXPECT_LE(held, budget_bytes);
  for (int step = 0; step < 5; ++step) {
    putter.forget();
    put_elements(putter, 0, {{0}, {80000}});
    putter.take();
  }
  EXPECT_LE(putter.puts().held_bytes(), budget_bytes);
}

TEST(SmallPuts, NoRoomIsSaidAndLeavesWhatThereIs) {
  const Dims shape{100000};
  SmallPuts puts(32 << 10);
  std::vector<Block> blocks;
  std::uint64_t taken = 0;
  for (std::uint64_t i = 0; i < shape[0]; ++i, ++taken) {
    const double value = value_of(0, i);
    if (puts.next(0, f64, false, &value, 1, &i, nullptr)) {
      continue;
    }
    Block block{0, {{i}, {1}}, {reinterpret_cast<const std::byte*>(&value), f64, {1}, {0}}, false};
    if (!puts.add(block, shape, blocks)) {
      break;
    }
  }
  EXPECT_GE(taken, (16U << 10) / sizeof(double));
  EXPECT_LE(taken, (32U << 10) / sizeof(double));
  EXPECT_LE(puts.held_bytes(), 32U << 10);
  puts.finish(blocks);
  std::uint64_t held = 0;
  for (const Block& block : blocks) {
    held += block.box.volume();
  }
  EXPECT_EQ(held, taken);
}

TEST(SmallPuts, ScatteredElementsWithoutEndAreAnErrorThatSaysWhatToDo) {
  const Dims shape{1 << 30};
  SmallPuts puts(1 << 20);
  std::vector<Block> blocks;
  const double value = 1;
  try {
    for (std::uint64_t i = 0; i < 1 << 20; ++i) {
      const std::uint64_t at = 3 * i;
      Block block{
          0, {{at}, {1}}, {reinterpret_cast<const std::byte*>(&value), f64, {1}, {0}}, false};
      ASSERT_TRUE(puts.add(block, shape, blocks));
    }
    FAIL() << "the list of blocks has no bound";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::over_budget);
    EXPECT_NE(std::string(error.what()).find("put_rows"), std::string::npos);
  }
  EXPECT_LE(blocks.size() * sizeof(Block), (1U << 20) + 16 * sizeof(Block));
}

TEST(SmallPuts, AnotherTypeBeginsAnotherBlock) {
  const Dims shape{10};
  SmallPuts puts(roomy_bytes);
  std::vector<Block> blocks;
  const float narrow = 1;
  const double wide = 2;
  Block block{0,
              {{0}, {1}},
              {reinterpret_cast<const std::byte*>(&narrow), {Kind::f32, 4}, {1}, {0}},
              false};
  ASSERT_TRUE(puts.add(block, shape, blocks));
  const std::uint64_t at = 1;
  EXPECT_FALSE(puts.next(0, f64, false, &wide, 1, &at, nullptr));
  EXPECT_FALSE(puts.next(0, {Kind::f32, 4}, true, &narrow, 1, &at, nullptr));
  block.box.start[0] = 1;
  block.memory.type = f64;
  block.memory.data = reinterpret_cast<const std::byte*>(&wide);
  ASSERT_TRUE(puts.add(block, shape, blocks));
  puts.finish(blocks);
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks[1].memory.data) % alignof(double), 0U);
}

}  // namespace
}  // namespace sluice::test
