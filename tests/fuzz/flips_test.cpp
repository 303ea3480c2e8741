// T6: every bit of 64 KiB of what the library writes besides values: headers, indexes, the log of
// commits, checksums, attributes. Each flipped bit is detected, or has no effect, judged by
// variables, values, attributes, times and steps.
//
// SLUICE_LONG=1: all 524,288 bits; otherwise some of them. Eighths of them are tests of their own.
// SLUICE_FLIPS_FIRST, SLUICE_FLIPS_COUNT: only these of the bits of an eighth.
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>

#include "fuzz/harness.hpp"
#include "fuzz/judge.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

constexpr std::size_t all_bytes = 64 << 10;
constexpr std::size_t line_bytes = 64;
constexpr std::size_t eighths = 8;

/// A file of format records, of three steps.
FuzzBytes log_file() {
  const auto storage = storage::make_memory();
  exec::run_local(2, 1, [&](exec::Transport& transport) {
    Options options;
    options.strategy = "shared";
    options.format = "records";
    File out(detail::open_on(transport, storage, "out.h5", Mode::write, options));
    const Variable v = out.define<double>("density", {6, 4}, {.steps = true, .unit = "1"});
    out.set_attribute("", "title", std::string("a title"));
    for (std::uint64_t s = 0; s < 3; ++s) {
      Giver<double> giver;
      Step step = out.begin_step({.time = 1});
      giver.put(step, v, s, {6, 4}, slab({6, 4}, transport.rank(), 2));
      step.end();
    }
    out.close();
  });
  return storage->contents("out.h5");
}

struct Line {
  std::size_t sample = 0;
  std::size_t first_byte = 0;
};

struct Ground {
  std::vector<Sample> samples;
  std::vector<Line> lines;  ///< all_bytes of them together
};

/// Of each file the same share: lines that hold something, then empty ones.
Ground make_ground() {
  Ground ground;
  std::vector<FuzzBytes> files = hdf5_files();
  files.push_back(log_file());
  std::vector<Line> empty;
  for (const FuzzBytes& file : files) {
    for (std::size_t at = 0; at + line_bytes <= file.size(); at += line_bytes) {
      const auto begin = file.begin() + static_cast<std::ptrdiff_t>(at);
      const bool holds = std::any_of(begin, begin + line_bytes,
                                     [](std::byte value) { return value != std::byte{0}; });
      (holds ? ground.lines : empty).push_back({ground.samples.size(), at});
    }
    ground.samples.push_back(sample_of(file));
  }
  constexpr std::size_t lines = all_bytes / line_bytes;
  for (std::size_t i = 0; ground.lines.size() < lines && i < empty.size(); ++i) {
    // One in so many, so that they are of all files.
    ground.lines.push_back(empty[i * 7919 % empty.size()]);
  }
  ground.lines.resize(std::min(lines, ground.lines.size()));
  return ground;
}

std::size_t told(const char* variable, std::size_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

class Flips : public testing::TestWithParam<const char*> {};

TEST_P(Flips, AreNoticedOrWithoutEffect) {
  const Ground ground = make_ground();
  ASSERT_EQ(ground.lines.size() * line_bytes, all_bytes);
  const std::size_t eighth = std::string(GetParam()).back() - '1';
  const std::size_t bits = all_bytes * 8 / eighths;
  const auto wanted = static_cast<std::size_t>(case_count(255, 31, static_cast<int>(bits)));
  const std::size_t stride = bits / wanted | 1;  // odd, so that all bits of a byte come
  const std::size_t first = told("SLUICE_FLIPS_FIRST", 0);
  const std::size_t end = std::min(bits, first + told("SLUICE_FLIPS_COUNT", bits));
  std::vector<std::pair<std::size_t, std::size_t>> cases;  // sample, bit of it
  for (std::size_t bit = first; bit < end; bit += stride) {
    const std::size_t at = eighth * bits + bit;
    const Line& line = ground.lines[at / 8 / line_bytes];
    cases.emplace_back(line.sample, (line.first_byte + at / 8 % line_bytes) * 8 + at % 8);
  }
  const auto all = judge_in_children(
      cases.size(),
      [&](std::size_t i) { return judge_flip(ground.samples[cases[i].first], cases[i].second); },
      std::chrono::seconds(5));
  Tally tally;
  for (std::size_t i = 0; i < all.size(); ++i) {
    // Crashes and endless loops of libhdf5 are detected, and contained in the command's child.
    const bool is_wrong = all[i] == Outcome::wrong || all[i] == Outcome::unproven;
    EXPECT_FALSE(is_wrong) << "file " << cases[i].first << ", bit " << cases[i].second << ": "
                           << outcome_name(all[i]);
    tally.add(all[i]);
  }
  tally.print("T6 each bit of 64 KiB");
}

// tests/fuzz/CMakeLists.txt has the same list.
INSTANTIATE_TEST_SUITE_P(Eighths, Flips,
                         testing::Values("eighth_1", "eighth_2", "eighth_3", "eighth_4", "eighth_5",
                                         "eighth_6", "eighth_7", "eighth_8"),
                         [](const auto& named) { return std::string(named.param); });

}  // namespace
}  // namespace sluice::test
