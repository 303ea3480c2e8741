// T8, T9: for any content of a file, its reader returns or throws Error; nothing else is thrown,
// nothing is read outside the bytes (sanitizers), and no allocation is larger than the file allows.
//
// Seeds are fixed. SLUICE_LONG=1: a hundred times as many mutants. SLUICE_FUZZ_SEED: others.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <string>

#include "api/config/settings.hpp"
#include "commit/publish/journal.hpp"
#include "commit/tools/verify.hpp"
#include "crash/snapshot.hpp"
#include "dialect/vampire/meta.hpp"
#include "exec/transport/solo_transport.hpp"
#include "fuzz/harness.hpp"
#include "layout/npy/header.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

std::uint64_t base_seed() {
  const char* text = std::getenv("SLUICE_FUZZ_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 20261121;
}

using Reader = std::function<void(const FuzzBytes&)>;

/// Passes mutants of the samples to a reader.
void fuzz(const char* name, const std::vector<FuzzBytes>& samples, int mutants,
          const Reader& reader, bool in_place = false) {
  for (const FuzzBytes& sample : samples) {
    EXPECT_NO_THROW(reader(sample)) << name << ": a sample itself is refused";
  }
  Mutator mutator(base_seed(), in_place);
  int refused = 0;
  for (int i = 0; i < mutants && !testing::Test::HasFailure(); ++i) {
    const FuzzBytes bytes = mutator.mutate(samples[static_cast<std::size_t>(i) % samples.size()]);
    largest_bytes = 0;
    try {
      reader(bytes);
    } catch (const Error&) {
      ++refused;
    } catch (const std::exception& e) {
      ADD_FAILURE() << name << ", mutant " << i << ": " << e.what();
    }
    EXPECT_LE(largest_bytes.load(), own_bytes + copies * bytes.size()) << name << ", mutant " << i;
  }
  std::printf("T8 %s: %d mutants, %d refused, seed %llu\n", name, mutants, refused,
              static_cast<unsigned long long>(base_seed()));
}

std::string text_of(const FuzzBytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
TEST(Fuzz, Journal) {
  commit::Journal journal;
  journal.commit = 3;
  journal.end = 4096;
  journal.runs.push_back({10, FuzzBytes(8, std::byte{1}), FuzzBytes(8, std::byte{2})});
  journal.runs.push_back({300, FuzzBytes(50, std::byte{3}), FuzzBytes(50, std::byte{4})});
  const FuzzBytes whole = journal.to_bytes();
  fuzz("journal", {whole}, case_count(20000, 2000, 2000000), [&](const FuzzBytes& bytes) {
    const auto parsed = commit::parse_journal(bytes);
    const bool is_same =
        bytes.size() >= whole.size() && std::equal(whole.begin(), whole.end(), bytes.begin());
    EXPECT_EQ(parsed.has_value(), is_same) << "a changed journal was taken for a complete one";
  });
}

TEST(Fuzz, WordsOfAPartSet) {
  const auto words = set_of_two().words();
  const auto raw = std::as_bytes(std::span(words));
  const FuzzBytes whole(raw.begin(), raw.end());
  fuzz("words of a set", {whole}, case_count(20000, 2000, 2000000), [&](const FuzzBytes& bytes) {
    std::vector<std::uint64_t> read(bytes.size() / 8);
    if (!read.empty()) {
      std::memcpy(read.data(), bytes.data(), read.size() * 8);
    }
    layout::PartSet::from_words(read, "out.h5");
  });
}

TEST(Fuzz, NumpyHeader) {
  layout::npy::Header header;
  header.type = type_of<double>();
  header.extents = {3, 4};
  FuzzBytes fixed = layout::npy::header_text(header);
  fixed.resize(fixed.size() + 96);
  header.growing = true;
  FuzzBytes growing = layout::npy::header_text(header);
  growing.resize(growing.size() + 96);
  fuzz("npy header", {fixed, growing}, case_count(20000, 2000, 2000000),
       [&](const FuzzBytes& bytes) {
         const auto storage = storage::make_memory();
         storage->put("a.npy", bytes);
         const auto file = storage->open("a.npy", storage::Access::read);
         layout::npy::read_header(*file);
       });
}

TEST(Fuzz, MetaOfVampire) {
  const std::string coordinates =
      "#----------\n# Atomistic coordinates configuration file for vampire v5+\n#----------\n"
      "# Date: Mon Nov 17 2025\n#----------\nFormat: binary\n#----------\nNumber of atoms: 8\n"
      "#----------\nNumber of materials: 1\n0\t1.72\tCo\tCo\n#----------\n"
      "Number of spin files: 2\natoms-coords-00000.data\natoms-coords-00001.data\n";
  auto parse = [](const FuzzBytes& bytes) {
    const std::string text = text_of(bytes);
    try {
      dialect::vampire::parse_coordinates_meta(text, "atoms-coords.meta");
    } catch (const Error&) {
    }
    try {
      dialect::vampire::parse_spins_meta(text, "spins-00000000.meta");
    } catch (const Error&) {
    }
  };
  fuzz("meta of vampire", {bytes_of(coordinates)}, case_count(20000, 2000, 2000000), parse);
}

TEST(Fuzz, Settings) {
  const std::string text =
      "budget_bytes = \"512 MiB\"\ndurability = \"close\"\n[spins]\nstrategy = \"collective\"\n"
      "writers = 4\nwriter_map = [0, 4, 8]\nhints = { cb_nodes = 1 }\n";
  fuzz("settings", {bytes_of(text)}, case_count(20000, 2000, 2000000), [](const FuzzBytes& bytes) {
    Options options;
    settings::override_with(settings::overrides_of_toml(text_of(bytes), "sluice.toml", "spins.h5"),
                            options);
  });
}

TEST(Fuzz, Hdf5Files) {
  const std::vector<FuzzBytes> samples = hdf5_files();
  std::size_t turn = 0;
  fuzz(
      "hdf5 files", samples, case_count(1500, 200, 300000),
      [&](const FuzzBytes& mutant) {
        const FuzzBytes bytes = with_heaps_of(samples[turn++ % samples.size()], mutant);
        const auto storage = storage::make_memory();
        storage->put("out.h5", bytes);
        sluice_snapshot(storage, "out.h5");
        const auto alone = exec::make_solo();
        commit::verify(*alone, *storage, "out.h5");
      },
      true);
}

}  // namespace
}  // namespace sluice::test
