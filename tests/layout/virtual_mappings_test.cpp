// The mappings of an index, written without libhdf5's calls: the file is byte for byte the one that
// libhdf5 makes with them.
#include "layout/hdf5/virtual_mappings.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "layout/hdf5/index.hpp"
#include "model/random_boxes.hpp"
#include "support/memory_storage.hpp"

namespace sluice::layout::hdf5 {
namespace {

using model::Dims;
using test::Random;

constexpr std::uint64_t wide = 1ULL << 32;

std::uint64_t below(Random& random, std::uint64_t limit) {
  return test::pick(random, 0, limit - 1);
}

/// What an index is made of.
struct Given {
  PartSet set;
  std::vector<model::Definition> definitions;
  std::vector<CommitRow> rows;
  std::vector<model::Attribute> attributes;
  Profile profile = Profile::stacked;

  std::vector<std::byte> index(MappedBy by) const {
    const auto memory = storage::make_memory();
    const std::map<std::uint32_t, std::vector<std::byte>> scalars;
    const auto file = memory->open("out.h5", storage::Access::create);
    write_index(*file, {definitions, &set, attributes, rows, &scalars, profile}, by);
    return memory->contents("out.h5");
  }
  void add_steps(std::uint64_t steps) {
    for (std::uint64_t s = 0; s < steps; ++s) {
      rows.push_back({s, 0.5 * static_cast<double>(s), 0, 0, 1});
    }
  }
};

/// A set of a few parts; the names of some are not ASCII, that of one is as short as they get.
Given parts_of(std::uint32_t count) {
  Given given;
  given.set.id = 0x5ca1ab1e0ddba11;
  given.set.strategy = "file-per-process";
  for (std::uint32_t p = 0; p < count; ++p) {
    const std::string name = p == 0       ? "p"
                             : p % 2 == 0 ? "out.h5.parts/" + std::to_string(p)
                                          : "größe.h5.parts/部分";
    given.set.parts.push_back({name, p, 1, 1, 1});
  }
  return given;
}

/// Boxes of a variable of random shape. `first`: the least index in the first dimension.
void add_variable(Given& given, Random& random, std::uint32_t number, int rank,
                  std::uint64_t first) {
  model::Definition definition;
  definition.name =
      number % 2 == 0 ? "v" + std::to_string(number) : "group/maß" + std::to_string(number);
  definition.stepped = below(random, 2) == 0 && rank < model::max_rank;
  definition.partial = below(random, 3) == 0;
  if (below(random, 3) == 0 && !definition.partial && rank < model::max_rank - 1) {
    definition.type = string_type(3);
  }
  const std::uint32_t dataset = given.set.dataset_number(definition.name);
  const std::uint64_t rows = 1 + below(random, 20);
  Mapping mapping;
  mapping.variable = number;
  mapping.dataset = dataset;
  for (int d = 0; d < rank; ++d) {
    definition.shape.push_back(d == 0 ? first + 20 * rows : 1 + below(random, 9));
    mapping.box.start.push_back(0);
    mapping.box.count.push_back(definition.shape[d]);
  }
  const std::uint64_t boxes = below(random, 20);
  for (std::uint64_t b = 0; b < boxes; ++b) {
    mapping.part = static_cast<std::uint32_t>(below(random, given.set.parts.size()));
    mapping.box.start[0] = first + b * rows;
    mapping.box.count[0] = below(random, 8) == 0 ? 0 : rows;  // or nothing
    mapping.listed = below(random, 2) == 0;
    mapping.offset = mapping.listed ? below(random, 100) + (first != 0 ? wide : 0) : 0;
    if (definition.stepped) {
      mapping.steps = 1 + below(random, given.rows.size());
      mapping.first_step = below(random, given.rows.size() - mapping.steps + 1);
      mapping.first_row = below(random, 9);
    }
    given.set.mappings.push_back(mapping);
  }
  given.set.variables.push_back({definition.name, definition.stepped});
  given.definitions.push_back(definition);
}

/// Clears the times of groups, at which libhdf5 made them, and the checksums of their headers.
std::vector<std::byte> without_times(std::vector<std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (std::size_t at = 0; (at = text.find("OHDR\2", at)) != std::string_view::npos; at += 5) {
    const auto flags = std::to_integer<unsigned>(bytes[at + 5]);
    if ((flags & 0x20) == 0) {
      continue;  // without times
    }
    std::memset(&bytes[at + 6], 0, 16);
    const std::size_t size_at = at + 22 + ((flags & 0x10) != 0 ? 4 : 0);
    const std::size_t size_bytes = std::size_t{1} << (flags & 3);
    std::uint64_t size = 0;
    std::memcpy(&size, &bytes[size_at], size_bytes);
    const std::size_t sum_at = size_at + size_bytes + size;
    if (sum_at + 4 <= bytes.size()) {
      std::memset(&bytes[sum_at], 0, 4);
    }
  }
  return bytes;
}

void expect_same(const Given& given, const std::string& what) {
  const std::vector<std::byte> expected = without_times(given.index(MappedBy::library));
  const std::vector<std::byte> made = without_times(given.index(MappedBy::blocks));
  ASSERT_EQ(made.size(), expected.size()) << what;
  const auto [at, other] = std::mismatch(made.begin(), made.end(), expected.begin());
  EXPECT_TRUE(at == made.end()) << what << ": byte " << at - made.begin();
}

class Ranks : public ::testing::TestWithParam<int> {};

TEST_P(Ranks, TheFileIsTheOneThatLibhdf5Makes) {
  Random random(static_cast<std::uint64_t>(GetParam()));
  for (const Profile profile : {Profile::stacked, Profile::netcdf4}) {
    for (const std::uint64_t first : {std::uint64_t{0}, wide - 30, wide + 5}) {
      for (int round = 0; round < 10; ++round) {
        Given given = parts_of(5);
        given.profile = profile;
        given.add_steps(4);
        for (std::uint32_t v = 0; v < 4; ++v) {
          add_variable(given, random, v, GetParam(), first);
        }
        given.attributes.push_back({"", "title", std::string("map 05ca1ab1e0ddba1100000000")});
        expect_same(given, "first " + std::to_string(first) + ", round " + std::to_string(round));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Ranks, ::testing::Values(1, 2, 3, 4, 5, 7));

/// Slabs of a variable, one in each part.
Given slabs(std::uint32_t count) {
  Given given = parts_of(0);
  given.add_steps(3);
  given.set.variables = {{"v", true}};
  given.set.datasets = {"v"};
  for (std::uint32_t p = 0; p < count; ++p) {
    char name[64];
    std::snprintf(name, sizeof name, "out.h5.parts/%06u.h5", p);
    given.set.parts.push_back({name, p, 3, 1, 1});
    Mapping mapping;
    mapping.part = p;
    mapping.steps = 3;
    mapping.box = {{100ULL * p, 0}, {100, 3}};
    given.set.mappings.push_back(mapping);
  }
  model::Definition definition;
  definition.name = "v";
  definition.shape = {100ULL * count, 3};
  definition.stepped = true;
  given.definitions.push_back(definition);
  return given;
}

/// Beyond 64 KiB, the largest heap that libhdf5 extends.
TEST(Blocks, LargeOnesAreTheSame) {
  for (const std::uint32_t count : {30u, 600u, 1000u, 3000u}) {
    expect_same(slabs(count), std::to_string(count));
  }
}

TEST(Blocks, MappingsOfNothingAreTheSame) {
  for (const std::uint64_t rows : {0, 300}) {
    Given given = slabs(3);
    given.definitions[0].shape[0] = rows;
    for (Mapping& mapping : given.set.mappings) {
      mapping.box.count[0] = 0;
    }
    expect_same(given, "short names");  // libhdf5's own way: no place for a placeholder
    for (Part& part : given.set.parts) {
      part.path += std::string(100, 'n');
    }
    expect_same(given, "long names");
  }
}

double seconds_of(const Given& given, MappedBy by) {
  const std::clock_t began = std::clock();
  given.index(by);
  return static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
}

TEST(Blocks, AMappingCostsAFractionOfLibhdf5s) {
  constexpr std::uint32_t count = 5000;
  const Given given = slabs(count);
  double blocks_s = 1e9;
  for (int round = 0; round < 3; ++round) {
    blocks_s = std::min(blocks_s, seconds_of(given, MappedBy::blocks));
  }
  const double library_s = seconds_of(given, MappedBy::library);
  std::printf("%u mappings: %.3f us each, libhdf5 %.3f us\n", count, blocks_s / count * 1e6,
              library_s / count * 1e6);
  EXPECT_LT(4 * blocks_s, library_s);
}

Code code_of(const Given& given, MappedBy by) {
  try {
    given.index(by);
  } catch (const Error& error) {
    return error.code();
  }
  return Code::ok;
}

TEST(Blocks, WhatIsNoMappingOfTheVariableIsRefused) {
  for (const MappedBy by : {MappedBy::blocks, MappedBy::library}) {
    Given given = slabs(3);
    EXPECT_EQ(code_of(given, by), Code::ok);
    given.set.mappings[2].box.start[0] += 1;  // beyond the end
    EXPECT_EQ(code_of(given, by), Code::damaged);
    given.set.mappings[2].box.start[0] = ~std::uint64_t{0} - 50;  // beyond 64 bits
    EXPECT_EQ(code_of(given, by), Code::damaged);
    given.set.mappings[2].box = {{0}, {1}};  // another rank
    EXPECT_EQ(code_of(given, by), Code::damaged);
    given.set.mappings[2].box = {{0, 0}, {1, 1}};
    given.set.mappings[2].steps = 4;  // more than there are
    EXPECT_EQ(code_of(given, by), Code::damaged);
  }
}

/// libhdf5 would read %b as the number of a block, and refuses other signs.
TEST(Blocks, NamesThatLibhdf5DoesNotTakeLiterallyAreLeftToIt) {
  for (const char* name : {"50%.h5", "%b.h5", "%%.h5"}) {
    Given given = slabs(3);
    given.set.parts[1].path = name;
    EXPECT_EQ(code_of(given, MappedBy::blocks), code_of(given, MappedBy::library)) << name;
  }
  Given given = slabs(3);
  given.set.parts[1].path = "%%.h5";
  expect_same(given, "%%");
}

TEST(Blocks, AreAsLargeAsAnnouncedAndFull) {
  const std::string name = "n";
  const VirtualMapping mapping{name, name, {{0}, {5}}, {{3}, {5}}};
  const std::uint64_t bytes = empty_block_bytes + bytes_in_block(mapping);
  for (const std::uint64_t size : {bytes - 1, bytes, bytes + 1}) {
    std::vector<std::byte> block(size);
    Code code = Code::ok;
    try {
      BlockWriter writer(block, 1);
      writer.put(mapping);
      writer.finish();
    } catch (const Error& error) {
      code = error.code();
    }
    EXPECT_EQ(code, size == bytes ? Code::ok : Code::internal);
  }
}

}  // namespace
}  // namespace sluice::layout::hdf5
