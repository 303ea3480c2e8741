// What the driver holds, beside plain memory: long and short writes over each other, in memory, in
// the spill file, and in memory that is used again.
#include "plugin/held_writes.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <vector>

#include "support/memory_storage.hpp"

namespace sluice::plugin {
namespace {

constexpr std::uint64_t file_bytes = 2 << 20;

class Model {
 public:
  Model(std::uint64_t budget_bytes, std::uint64_t seed)
      : held_(*storage_, "held", budget_bytes), random_(seed) {}

  void write() {
    // Often of the same length, as the chunks of a dataset are.
    constexpr std::uint64_t lengths[] = {1, 900, 128 << 10, 128 << 10, 300 << 10, 200 << 10};
    const std::uint64_t length = lengths[random_() % std::size(lengths)];
    const std::uint64_t offset = random_() % (file_bytes - length);
    std::vector<std::byte> bytes(length);
    std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random_()); });
    held_.write(offset, bytes);
    std::copy(bytes.begin(), bytes.end(), content_.begin() + static_cast<std::ptrdiff_t>(offset));
    std::fill_n(is_held_.begin() + static_cast<std::ptrdiff_t>(offset), length, true);
  }

  void clear() {
    held_.clear();
    std::ranges::fill(content_, std::byte{0});
    std::fill(is_held_.begin(), is_held_.end(), false);
    EXPECT_TRUE(held_.is_empty());
    EXPECT_EQ(held_.memory_bytes(), 0);
  }

  void expect_same() const {
    std::vector<std::byte> found(file_bytes);
    held_.read_over(0, found);
    ASSERT_TRUE(found == content_);
    std::vector<bool> is_in_range(file_bytes);
    for (const HeldWrites::Range& range : held_.ranges(64 << 10)) {
      ASSERT_LE(range.length, 64 << 10);
      std::fill_n(is_in_range.begin() + static_cast<std::ptrdiff_t>(range.offset), range.length,
                  true);
    }
    ASSERT_TRUE(is_in_range == is_held_);
  }

  std::uint64_t random() { return random_(); }

 private:
  std::shared_ptr<storage::Storage> storage_ = storage::make_memory();
  HeldWrites held_;
  std::mt19937_64 random_;
  std::vector<std::byte> content_ = std::vector<std::byte>(file_bytes);
  std::vector<bool> is_held_ = std::vector<bool>(file_bytes);
};

void compare(std::uint64_t budget_bytes) {
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    Model model(budget_bytes, seed);
    for (int flush = 0; flush < 12; ++flush) {
      for (std::uint64_t writes = model.random() % 12; writes != 0; --writes) {
        model.write();
      }
      model.expect_same();
      model.clear();
      model.expect_same();
    }
  }
}

TEST(HeldWrites, InMemory) { compare(64 << 20); }

TEST(HeldWrites, MostInTheSpillFile) { compare(256 << 10); }

TEST(HeldWrites, AllInTheSpillFile) { compare(0); }

TEST(HeldWrites, LongRunsAreHeldInTheMemoryOfThoseBefore) {
  const auto storage = storage::make_memory();
  HeldWrites held(*storage, "held", 64 << 20);
  const std::vector<std::byte> bytes(512 << 10, std::byte{1});
  const std::vector<std::byte> others(400 << 10, std::byte{2});
  held.write(0, bytes);
  const std::byte* const place = held.view(0, bytes.size()).data();
  held.clear();
  // Where the memory had been given back, this would be put there.
  const std::vector<std::byte> between(bytes.size());
  held.write(1000, others);
  EXPECT_EQ(held.view(1000, others.size()).data(), place);
  EXPECT_TRUE(std::ranges::equal(held.view(1000, others.size()), others));
}

}  // namespace
}  // namespace sluice::plugin
