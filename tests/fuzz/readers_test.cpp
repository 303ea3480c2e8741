// T8, T9: whatever stands in a file, its reader returns or throws Error; nothing else is thrown,
// nothing is read outside the bytes (sanitizers), and no allocation is larger than the file allows.
//
// Seeds are fixed. SLUICE_LONG=1: a hundred times as many mutants. SLUICE_FUZZ_SEED: others.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <new>
#include <string>

#include "api/file_impl.hpp"
#include "api/settings.hpp"
#include "commit/journal.hpp"
#include "commit/verify.hpp"
#include "crash/snapshot.hpp"
#include "dialect/vampire/meta.hpp"
#include "exec/local_transport.hpp"
#include "fuzz/mutate.hpp"
#include "layout/npy/header.hpp"
#include "layout/part_set.hpp"
#include "storage/memory.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace {

std::atomic<std::size_t> largest_bytes{0};

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  std::size_t seen = largest_bytes.load(std::memory_order_relaxed);
  while (bytes > seen && !largest_bytes.compare_exchange_weak(seen, bytes)) {
  }
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) {
    return memory;
  }
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace sluice::test {
namespace {

/// A reader may hold its own buffers and some copies of what is there, not what a header claims.
constexpr std::size_t own_bytes = 48 << 20;
constexpr std::size_t copies = 64;

std::uint64_t base_seed() {
  const char* text = std::getenv("SLUICE_FUZZ_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 20261121;
}

using Reader = std::function<void(const FuzzBytes&)>;

/// Feeds mutants of the samples to a reader.
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
FuzzBytes bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
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
  layout::PartSet set;
  set.id = 7;
  set.strategy = "file-per-process";
  set.variables = {{"density", true}, {"x", false}};
  set.datasets = {"density", "x"};
  set.parts = {{"out.h5.parts/000000.h5", 1, 2, 3, 4}, {"out.h5.parts/000001.h5", 2, 2, 3, 4}};
  layout::Mapping mapping;
  mapping.box = {{0, 0}, {4, 4}};
  set.mappings = {mapping};
  const auto words = set.words();
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
      "budget = \"512 MiB\"\ndurability = \"close\"\n[spins]\nstrategy = \"collective\"\n"
      "writers = 4\nwriter_map = [0, 4, 8]\nhints = { cb_nodes = 1 }\n";
  fuzz("settings", {bytes_of(text)}, case_count(20000, 2000, 2000000), [](const FuzzBytes& bytes) {
    Options options;
    settings::override_with(settings::overrides_of_toml(text_of(bytes), "sluice.toml", "spins.h5"),
                            options);
  });
}

std::vector<FuzzBytes> hdf5_files() {
  std::vector<FuzzBytes> files;
  for (const auto& [format, form] : {std::pair{"hdf5", "stacked"}, std::pair{"netcdf4", "stacked"},
                                     std::pair{"hdf5", "grouped"}}) {
    const auto storage = storage::make_memory();
    exec::run_local(2, 1, [&](exec::Transport& transport) {
      Options options;
      options.strategy = "shared";
      options.format = format;
      options.form = form;
      File out(detail::open_on(transport, storage, "out.h5", Mode::write, options));
      const Variable v = out.define<double>("density", {6, 4}, {.steps = true, .unit = "1"});
      const Variable x = out.define<float>("grid/x", {6});
      out.set_attribute("", "title", std::string("a title"));
      Giver<float> once;
      once.put(out, x, 5, {6}, slab({6}, transport.rank(), 2));
      for (std::uint64_t s = 0; s < 3; ++s) {
        Giver<double> giver;
        Step step = out.begin_step({.time = 1});
        giver.put(step, v, s, {6, 4}, slab({6, 4}, transport.rank(), 2));
        step.end();
      }
      out.close();
    });
    files.push_back(storage->contents("out.h5"));
  }
  return files;
}

/// libhdf5 1.10 walks a damaged global heap (where text attributes are) for ever: the one thing of
/// a file that has no checksum of its own and is not tried. RELIABILITY.md says so.
FuzzBytes with_heaps_of(const FuzzBytes& sample, FuzzBytes bytes) {
  constexpr std::size_t heap_bytes = 4096;
  const FuzzBytes signature = bytes_of("GCOL");
  for (auto at = sample.begin();; ++at) {
    at = std::search(at, sample.end(), signature.begin(), signature.end());
    if (at == sample.end()) {
      return bytes;
    }
    const auto offset = static_cast<std::size_t>(at - sample.begin());
    const std::size_t length = std::min(heap_bytes, bytes.size() - offset);
    std::copy_n(at, length, bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  }
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
        exec::run_local(1, 1, [&](exec::Transport& transport) {
          commit::verify(transport, *storage, "out.h5");
        });
      },
      true);
}

/// T6: no flipped bit of a variable's values goes unnoticed.
TEST(Fuzz, FlippedBitsOfValues) {
  const FuzzBytes whole = hdf5_files()[0];
  std::size_t flips = 0;
  for (std::uint64_t s = 0; s < 3; ++s) {
    const auto first = value_at<double>(s, 0);
    const auto* raw = reinterpret_cast<const std::byte*>(&first);
    const auto at = std::search(whole.begin(), whole.end(), raw, raw + 8);
    ASSERT_NE(at, whole.end());
    const auto offset = static_cast<std::size_t>(at - whole.begin());
    for (std::size_t bit = 0; bit < 3 * 4 * 8 * 8; ++bit) {  // the first rank's half of the step
      FuzzBytes bytes = whole;
      bytes[offset + bit / 8] ^= std::byte(1U << bit % 8);
      const auto storage = storage::make_memory();
      storage->put("out.h5", bytes);
      EXPECT_THROW(sluice_snapshot(storage, "out.h5"), Error) << "step " << s << ", bit " << bit;
      ++flips;
    }
  }
  std::printf("T6 %zu flipped bits of values, each detected\n", flips);
}

/// T7: no cut file is taken for a whole one.
TEST(Fuzz, TruncatedAtEveryLength) {
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
