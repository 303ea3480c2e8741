// T6, T7: no flipped bit, cut or swapped sector goes unnoticed.
//
// SLUICE_LONG=1: many bits of a file, every one of its log, and every length; otherwise some. What
// libhdf5 keeps in global heaps (text attributes) has no checksum and is left out: RELIABILITY.md
// says so.
#include <cstdio>
#include <gtest/gtest.h>
#include <random>

#include "commit/verify.hpp"
#include "crash/snapshot.hpp"
#include "fuzz/harness.hpp"
#include "layout/hdf5/catalog.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

/// What became of damaged files.
struct Tally {
  std::size_t tried = 0;
  std::size_t refused = 0;   ///< the reader throws
  std::size_t verified = 0;  ///< it does not, but verify finds it
  std::size_t harmless = 0;  ///< every value, attribute and time is as it was

  void print(const char* what) const {
    std::printf(
        "%s: %zu tried, %zu refused by the reader, %zu found by verify, %zu without effect, "
        "0 unnoticed\n",
        what, tried, refused, verified, harmless);
  }
};

commit::State verified_state(const std::shared_ptr<storage::MemoryStorage>& storage) {
  commit::State state = commit::State::ok;
  exec::run_local(1, 1, [&](exec::Transport& transport) {
    state = commit::verify(transport, *storage, "out.h5").state;
  });
  return state;
}

/// Puts a damaged file to the reader and to verify. `true`: noticed, or nothing is wrong with it.
bool look(const FuzzBytes& bytes, const Snapshot& golden, Tally& tally) {
  const auto storage = storage::make_memory();
  storage->put("out.h5", bytes);
  ++tally.tried;
  try {
    if (sluice_snapshot(storage, "out.h5") == golden) {
      ++tally.harmless;
      return true;
    }
  } catch (const Error&) {
    ++tally.refused;
    return true;
  }
  ++tally.verified;
  return verified_state(storage) != commit::State::ok;
}

Snapshot snapshot_of(const FuzzBytes& bytes) {
  const auto storage = storage::make_memory();
  storage->put("out.h5", bytes);
  return sluice_snapshot(storage, "out.h5");
}

TEST(Damage, FlippedBitsOfAFile) {
  const std::vector<FuzzBytes> files = hdf5_files();
  const std::size_t stride =
      is_long() ? 11 : 1777;  // bits; primes, so that all bits of a byte come
  for (const FuzzBytes& whole : files) {
    const Snapshot golden = snapshot_of(whole);
    Tally tally;
    for (std::size_t bit = 0; bit < whole.size() * 8 && !HasFailure(); bit += stride) {
      FuzzBytes bytes = whole;
      bytes[bit / 8] ^= std::byte(1U << bit % 8);
      EXPECT_TRUE(look(with_heaps_of(whole, bytes), golden, tally)) << "bit " << bit;
    }
    tally.print("T6 flipped bits");
  }
}

/// The rows of the log, with the times and the places of the checksums, have a checksum each.
TEST(Damage, FlippedBitsOfTheLog) {
  Tally tally;
  for (const FuzzBytes& whole : hdf5_files()) {
    const Snapshot golden = snapshot_of(whole);
    const auto storage = storage::make_memory();
    storage->put("out.h5", whole);
    const auto file = storage->open("out.h5", storage::Access::read);
    const auto catalog = layout::hdf5::Catalog::open(*file);
    ASSERT_GE(catalog->commits().size(), 3U);
    for (const layout::CommitRow& row : catalog->commits()) {
      EXPECT_TRUE(row.is_intact);
      const auto words = row.pack();
      const auto raw = std::as_bytes(std::span(words));
      const auto at = std::search(whole.begin(), whole.end(), raw.begin(), raw.end());
      ASSERT_NE(at, whole.end());
      const auto offset = static_cast<std::size_t>(at - whole.begin());
      for (std::size_t bit = 0; bit < raw.size() * 8; bit += is_long() ? 1 : 29) {
        FuzzBytes bytes = whole;
        bytes[offset + bit / 8] ^= std::byte(1U << bit % 8);
        const auto damaged = storage::make_memory();
        damaged->put("out.h5", bytes);
        EXPECT_NE(verified_state(damaged), commit::State::ok) << "bit " << bit << " of a row";
        EXPECT_TRUE(look(bytes, golden, tally)) << "bit " << bit << " of a row";
      }
    }
  }
  EXPECT_EQ(tally.refused, tally.tried);
  tally.print("T6 flipped bits of the log of commits");
}

/// Rows of a Sluice that kept no checksum of them are read as they are.
TEST(Damage, RowsWithoutAChecksumAreRead) {
  const FuzzBytes whole = hdf5_files()[0];
  const auto storage = storage::make_memory();
  storage->put("out.h5", whole);
  const auto file = storage->open("out.h5", storage::Access::read);
  const auto catalog = layout::hdf5::Catalog::open(*file);
  FuzzBytes bytes = whole;
  for (const layout::CommitRow& row : catalog->commits()) {
    const auto words = row.pack();
    const auto raw = std::as_bytes(std::span(words));
    const auto at = std::search(bytes.begin(), bytes.end(), raw.begin(), raw.end());
    ASSERT_NE(at, bytes.end());
    std::fill_n(at + 56, 8, std::byte{0});
  }
  storage->put("out.h5", bytes);
  EXPECT_EQ(snapshot_of(bytes), snapshot_of(whole));
  EXPECT_EQ(verified_state(storage), commit::State::ok);
}

TEST(Damage, SwappedSectors) {
  constexpr std::size_t sector = 512;
  std::mt19937_64 random(20261122);
  const int cases = case_count(34, 10, 34);
  for (const FuzzBytes& whole : hdf5_files()) {
    const Snapshot golden = snapshot_of(whole);
    Tally tally;
    for (int i = 0; i < cases && !HasFailure(); ++i) {
      const std::size_t sectors = whole.size() / sector;
      const std::size_t a = random() % sectors;
      const std::size_t b = random() % sectors;
      FuzzBytes bytes = whole;
      const auto at = [&](std::size_t s) {
        return bytes.begin() + static_cast<std::ptrdiff_t>(s * sector);
      };
      std::swap_ranges(at(a), at(a) + sector, at(b));
      EXPECT_TRUE(look(with_heaps_of(whole, bytes), golden, tally)) << a << " and " << b;
    }
    tally.print("T7 swapped sectors");
  }
}

/// T7: no cut file is taken for a whole one.
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
