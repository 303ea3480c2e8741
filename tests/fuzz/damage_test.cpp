// T6, T7: no flipped bit, truncation or swapped sector goes unnoticed.
//
// SLUICE_LONG=1: many bits of a file, every one of its log, and every length; otherwise some.
#include <cstdio>
#include <gtest/gtest.h>
#include <optional>
#include <random>

#include "commit/tools/convert.hpp"
#include "fuzz/harness.hpp"
#include "fuzz/judge.hpp"
#include "layout/hdf5/catalog.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

void expect_noticed(Outcome outcome, const std::string& what) {
  const bool is_noticed = outcome == Outcome::harmless || outcome == Outcome::refused;
  EXPECT_TRUE(is_noticed) << what << ": " << outcome_name(outcome);
}

TEST(Damage, FlippedBitsOfAFile) {
  const std::size_t stride =
      is_long() ? 11 : 1777;  // bits; primes, so that all bits of a byte occur
  for (const FuzzBytes& whole : hdf5_files()) {
    const Sample sample = sample_of(whole);
    Tally tally;
    for (const auto& [bit, outcome] : judge_flips(sample, 0, whole.size() * 8, stride)) {
      expect_noticed(outcome, "bit " + std::to_string(bit));
      tally.add(outcome);
    }
    tally.print("T6 flipped bits");
  }
}

/// The positions of the words of each row of the log in the bytes of a file.
std::vector<std::size_t> rows_of_the_log(const FuzzBytes& whole) {
  const auto storage = storage_of(whole, 0);
  const auto file = storage->open("out.h5", storage::Access::read);
  const auto catalog = layout::hdf5::Catalog::open(*file);
  std::vector<std::size_t> offsets;
  for (const layout::CommitRow& row : catalog->commits()) {
    EXPECT_TRUE(row.is_intact);
    const auto words = row.pack();
    const auto raw = std::as_bytes(std::span(words));
    const auto at = std::search(whole.begin(), whole.end(), raw.begin(), raw.end());
    EXPECT_NE(at, whole.end());
    offsets.push_back(static_cast<std::size_t>(at - whole.begin()));
  }
  return offsets;
}

constexpr std::size_t row_bits = layout::CommitRow::words * 64;

/// The rows of the log, with the times and the places of the checksums, have a checksum each.
TEST(Damage, FlippedBitsOfTheLog) {
  Tally tally;
  for (const FuzzBytes& whole : hdf5_files()) {
    const Sample sample = sample_of(whole);
    const std::vector<std::size_t> rows = rows_of_the_log(whole);
    ASSERT_GE(rows.size(), 3U);
    for (const std::size_t row : rows) {
      for (std::size_t bit = 0; bit < row_bits; bit += is_long() ? 1 : 29) {
        const Outcome outcome = judge_flip(sample, row * 8 + bit);
        EXPECT_EQ(outcome, Outcome::refused) << "bit " << bit << ": " << outcome_name(outcome);
        tally.add(outcome);
      }
    }
  }
  tally.print("T6 flipped bits of the log of commits");
}

/// Every bit of text that libhdf5 keeps in global heaps, where it has no checksum of its own.
TEST(Damage, FlippedBitsOfGlobalHeaps) {
  constexpr std::size_t used_bytes = 256;  // the rest is free space
  const FuzzBytes signature = bytes_of("GCOL");
  Tally tally;
  for (const FuzzBytes& whole : hdf5_files()) {
    const Sample sample = sample_of(whole);
    for (auto at = whole.begin();; ++at) {
      at = std::search(at, whole.end(), signature.begin(), signature.end());
      if (at == whole.end()) {
        break;
      }
      const auto first = static_cast<std::size_t>(at - whole.begin()) * 8;
      const std::size_t stride = is_long() ? 1 : 29;
      for (const auto& [bit, outcome] :
           judge_flips(sample, first, first + used_bytes * 8, stride)) {
        expect_noticed(outcome, "bit " + std::to_string(bit - first) + " of a heap");
        tally.add(outcome);
      }
    }
  }
  EXPECT_NE(tally[Outcome::refused], 0U);
  tally.print("T6 flipped bits of global heaps");
}

/// Rows of a Sluice that kept no checksum of them are read unchecked.
TEST(Damage, RowsWithoutAChecksumAreRead) {
  const Sample sample = sample_of(hdf5_files()[0]);
  FuzzBytes bytes = sample.bytes;
  for (const std::size_t row : rows_of_the_log(bytes)) {
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(row + row_bits / 8 - 8), 8,
                std::byte{0});
  }
  EXPECT_EQ(judge(sample, bytes), Outcome::harmless);
  EXPECT_EQ(verdict_of(*storage_of(bytes, sample.modified_ns)).state, commit::State::ok);
}

TEST(Damage, SwappedSectors) {
  constexpr std::size_t sector = 512;
  std::mt19937_64 random(20261122);
  const int cases = case_count(34, 10, 34);
  for (const FuzzBytes& whole : hdf5_files()) {
    const Sample sample = sample_of(whole);
    std::vector<FuzzBytes> damaged;
    for (int i = 0; i < cases; ++i) {
      const std::size_t sectors = whole.size() / sector;
      const std::size_t a = random() % sectors;
      const std::size_t b = random() % sectors;
      FuzzBytes& bytes = damaged.emplace_back(whole);
      const auto at = [&](std::size_t s) {
        return bytes.begin() + static_cast<std::ptrdiff_t>(s * sector);
      };
      std::swap_ranges(at(a), at(a) + sector, at(b));
    }
    Tally tally;
    const auto all =
        judge_in_children(damaged.size(), [&](std::size_t i) { return judge(sample, damaged[i]); });
    for (std::size_t i = 0; i < all.size(); ++i) {
      expect_noticed(all[i], "swap " + std::to_string(i));
      tally.add(all[i]);
    }
    tally.print("T7 swapped sectors");
  }
}

/// What cannot be verified is not converted: the copy would have fresh checksums. A converted file
/// has been read unchanged.
TEST(Damage, ConvertStampsNoChecksumsOnDamage) {
  const std::size_t stride = is_long() ? 1777 : 19997;
  for (const FuzzBytes& whole : hdf5_files()) {
    const Sample sample = sample_of(whole);
    const auto convert = [&](const FuzzBytes& bytes) {
      const auto storage = storage_of(bytes, sample.modified_ns);
      const auto alone = exec::make_solo();
      commit::convert(*alone, *storage, {"out.h5", "copy.h5"});
      return sluice_snapshot(storage, "copy.h5");
    };
    const Snapshot copied = convert(whole);
    const std::size_t count = whole.size() * 8 / stride;
    const auto all = judge_in_children(count, [&](std::size_t i) {
      FuzzBytes bytes = whole;
      bytes[i * stride / 8] ^= std::byte(1U << i * stride % 8);
      try {
        return convert(bytes) == copied ? Outcome::harmless : Outcome::wrong;
      } catch (const Error&) {
        return Outcome::refused;
      }
    });
    Tally tally;
    for (std::size_t i = 0; i < all.size(); ++i) {
      expect_noticed(all[i], "bit " + std::to_string(i * stride));
      tally.add(all[i]);
    }
    tally.print("T6 flipped bits of what is converted");
  }
}

/// T7: no truncated file is accepted as a whole one.
TEST(Damage, TruncatedAtEveryLength) {
  const FuzzBytes whole = hdf5_files()[0];
  const std::size_t stride = is_long() ? 1 : 37;
  std::size_t cuts = 0;
  for (std::size_t length = 0; length < whole.size(); length += stride) {
    const auto storage = storage::make_memory();
    storage->put("out.h5", std::span(whole).first(length));
    EXPECT_THROW(sluice_snapshot(storage, "out.h5"), Error) << length << " bytes";
    ++cuts;
  }
  std::printf("T7 %zu lengths of %zu bytes, each refused\n", cuts, whole.size());
}

}  // namespace
}  // namespace sluice::test
