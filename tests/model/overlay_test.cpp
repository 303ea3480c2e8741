// The overlay against an array of bytes.
#include "model/overlay.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <new>
#include <optional>
#include <vector>

#include "model/random_boxes.hpp"
#include "support/counted_heap.hpp"

namespace sluice::model {
namespace {

constexpr std::uint64_t space = 400;

using Model = std::vector<std::optional<std::byte>>;

void expect_same(const Overlay& overlay, const Model& model) {
  std::vector<std::byte> got(space, std::byte{0xee});
  overlay.read_over(0, got);
  std::uint64_t held = 0;
  for (std::uint64_t i = 0; i < space; ++i) {
    ASSERT_EQ(got[i], model[i].value_or(std::byte{0xee})) << i;
    ASSERT_EQ(overlay.touches(i, 1), model[i].has_value()) << i;
    held += model[i].has_value() ? 1 : 0;
  }
  // Runs ascend and do not overlap.
  std::uint64_t end = 0;
  std::uint64_t in_runs = 0;
  for (const auto& [offset, bytes] : overlay.runs()) {
    ASSERT_GE(offset, end);
    ASSERT_FALSE(bytes.empty());
    end = offset + bytes.size();
    in_runs += bytes.size();
  }
  ASSERT_EQ(in_runs, held);
}

TEST(Overlay, AWriteForWhichMemoryIsMissingChangesNothing) {
  constexpr std::uint64_t lengths[] = {30, 200};  // beside a run, and over several
  for (const std::uint64_t length : lengths) {
    Overlay overlay;
    Model model(space);
    for (const std::uint64_t offset : {50, 90, 130}) {
      const std::vector<std::byte> run(20, std::byte{1});
      overlay.write(offset, run);
      std::fill_n(model.begin() + static_cast<std::ptrdiff_t>(offset), run.size(), run[0]);
    }
    const std::vector<std::byte> bytes(length, std::byte{2});
    const std::uint64_t at = length == lengths[0] ? 5 : 60;
    std::int64_t failures = 0;
    for (bool has_failed = true; has_failed;) {
      test::allocations_left = failures;
      try {
        overlay.write(at, bytes);
        has_failed = false;
      } catch (const std::bad_alloc&) {
        ++failures;
      }
      test::allocations_left = -1;
      if (!has_failed) {
        std::fill_n(model.begin() + static_cast<std::ptrdiff_t>(at), length, bytes[0]);
      }
      expect_same(overlay, model);
    }
    EXPECT_NE(failures, 0);
    EXPECT_EQ(overlay.held_bytes(), static_cast<std::uint64_t>(std::ranges::count_if(
                                        model, [](const auto& byte) { return byte.has_value(); })));
  }
}

TEST(Overlay, IsWhatWasWrittenLast) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::Random random(seed);
    Overlay overlay;
    Model model(space);
    for (int write = 0; write < 40; ++write) {
      const std::uint64_t offset = test::pick(random, 0, space - 1);
      const std::uint64_t most = std::min<std::uint64_t>(space - offset, write % 5 == 0 ? 120 : 20);
      std::vector<std::byte> bytes(test::pick(random, 0, most));
      for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(test::pick(random, 0, 255));
      }
      overlay.write(offset, bytes);
      std::copy(bytes.begin(), bytes.end(), model.begin() + static_cast<std::ptrdiff_t>(offset));
    }
    expect_same(overlay, model);
    for (int probe = 0; probe < 20; ++probe) {
      const std::uint64_t from = test::pick(random, 0, space - 1);
      const std::uint64_t count = test::pick(random, 0, space - from);
      bool any = false;
      std::vector<std::byte> got(count, std::byte{1});
      overlay.read_over(from, got);
      for (std::uint64_t i = 0; i < count; ++i) {
        any = any || model[from + i].has_value();
        ASSERT_EQ(got[i], model[from + i].value_or(std::byte{1}));
      }
      ASSERT_EQ(overlay.touches(from, count), any);
    }
    overlay.clear();
    expect_same(overlay, Model(space));
  }
}

TEST(Overlay, ReadsBesideItsRunsChangeNothing) {
  Overlay overlay;
  const std::vector<std::byte> bytes(10, std::byte{5});
  overlay.write(1ULL << 40, bytes);
  std::vector<std::byte> got(10, std::byte{9});
  overlay.read_over((1ULL << 40) - 10, got);
  overlay.read_over((1ULL << 40) + 10, got);
  EXPECT_EQ(got, std::vector<std::byte>(10, std::byte{9}));
  EXPECT_FALSE(overlay.touches((1ULL << 40) - 10, 10));
  EXPECT_TRUE(overlay.touches((1ULL << 40) - 10, 11));
  EXPECT_FALSE(overlay.touches(0, 0));
}

}  // namespace
}  // namespace sluice::model
