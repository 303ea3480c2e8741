// The HDF5 planner, commit by commit: data is placed only in unused space and never over metadata;
// after every commit the file is a valid HDF5 file of all steps so far.
#include "layout/hdf5/planner.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "layout/chunking.hpp"
#include "model/random_boxes.hpp"
#include "support/memory_storage.hpp"

namespace sluice::layout::hdf5 {
namespace {

using model::Dims;
using test::Random;

/// A file in memory, changed only by the updates of a planner.
class Ground {
 public:
  Ground() : file_(storage_->open("f.h5", storage::Access::create)) {}
  storage::File& file() { return *file_; }
  std::vector<std::byte> bytes() const { return storage_->contents("f.h5"); }
  void write(const MetadataUpdate& update) {
    for (const auto* runs : {&update.fresh, &update.in_place, &update.root}) {
      for (const MetadataRun& run : *runs) {
        file_->write(run.offset, run.bytes);
      }
    }
    if (file_->size() < update.end) {
      file_->resize(update.end);
    }
  }

 private:
  std::shared_ptr<storage::MemoryStorage> storage_ = storage::make_memory();
  std::unique_ptr<storage::File> file_;
};

std::vector<Extent> tiles_of(const Placement& placement) {
  std::vector<Extent> tiles;
  for (std::uint64_t i = 0; i < placement.tiles(); ++i) {
    tiles.push_back({placement.address(i), placement.tile_bytes()});
  }
  return tiles;
}

std::vector<Extent> raw_extents(const CommitPlan& plan) {
  std::vector<Extent> all;
  for (const Placement& placement : plan.placements) {
    const auto tiles = tiles_of(placement);
    all.insert(all.end(), tiles.begin(), tiles.end());
  }
  if (plan.checksums) {
    const auto tiles = tiles_of(*plan.checksums);
    all.insert(all.end(), tiles.begin(), tiles.end());
  }
  return all;
}

/// Raw data beyond the frontier, apart from itself and from all metadata of the commit.
void check_space(const CommitPlan& plan, const MetadataUpdate& update, std::uint64_t frontier) {
  std::map<std::uint64_t, std::uint64_t> ends;
  for (const Extent& extent : raw_extents(plan)) {
    ASSERT_GE(extent.offset, frontier) << "raw data below the frontier";
    ASSERT_TRUE(ends.emplace(extent.offset, extent.offset + extent.length).second);
  }
  for (const auto* runs : {&update.fresh, &update.in_place, &update.root}) {
    for (const MetadataRun& run : *runs) {
      if (!run.bytes.empty()) {
        ASSERT_TRUE(ends.emplace(run.offset, run.offset + run.bytes.size()).second);
      }
    }
  }
  std::uint64_t end = 0;
  for (const auto& [first, last] : ends) {
    ASSERT_GE(first, end) << "two uses of byte " << first;
    end = last;
  }
  ASSERT_LE(end, update.end);
  for (const MetadataRun& run : update.fresh) {
    ASSERT_GE(run.offset, frontier);
  }
  for (const MetadataRun& run : update.in_place) {
    ASSERT_LE(run.offset + run.bytes.size(), std::max<std::uint64_t>(48, frontier));
  }
}

/// Opens a copy of the bytes with HDF5's own driver for images in memory.
class Image {
 public:
  explicit Image(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, 1 << 16, false);
    H5Pset_file_image(access, bytes_.data(), bytes_.size());
    file_ = H5Fopen("image", H5F_ACC_RDONLY, access);
    H5Pclose(access);
  }
  ~Image() {
    if (file_ >= 0) {
      H5Fclose(file_);
    }
  }
  hid_t file() const { return file_; }
  /// All elements of a dataset as bytes, as `type`.
  std::vector<std::byte> read(const std::string& name, hid_t type, std::size_t element_bytes) {
    const hid_t dataset = H5Dopen2(file_, name.c_str(), H5P_DEFAULT);
    const hid_t space = H5Dget_space(dataset);
    std::vector<std::byte> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)) *
                                  element_bytes);
    EXPECT_GE(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0) << name;
    H5Sclose(space);
    H5Dclose(dataset);
    return values;
  }

 private:
  std::vector<std::byte> bytes_;
  hid_t file_ = -1;
};

/// The superblock is of version 2 or 3 and does not say "open for write" (byte 11).
void expect_closed(const std::vector<std::byte>& bytes) {
  ASSERT_GT(bytes.size(), 48u);
  EXPECT_TRUE(bytes[8] == std::byte{2} || bytes[8] == std::byte{3});
  EXPECT_EQ(bytes[11], std::byte{0});
  EXPECT_GE(Image(bytes).file(), 0) << "libhdf5 does not open it";
}

struct Known {
  model::Definition definition;
  Dims tile;
  bool is_put = false;  // fixed: at most once
};

Known random_variable(Random& random, int number) {
  Known known;
  model::Definition& d = known.definition;
  d.name = (number % 3 == 0 ? "group/v" : "v") + std::to_string(number);
  d.type = type_of(number % 2 == 0 ? Kind::f64 : Kind::i32);
  d.shape = test::random_shape(random, static_cast<int>(test::pick(random, 0, 3)), 30);
  d.stepped = test::pick(random, 0, 3) != 0;
  for (const std::uint64_t extent : d.shape) {
    known.tile.push_back(d.stepped ? test::pick(random, 1, extent) : extent);
  }
  return known;
}

/// Some variables, some attributes, most of them touched.
CommitRequest random_commit(Random& random, Planner& planner, std::vector<Known>& variables) {
  CommitRequest request;
  request.is_step = test::pick(random, 0, 4) != 0;
  request.time = 0.5;
  request.checksum_words = test::pick(random, 0, 3) * 700;
  for (std::uint64_t n = test::pick(random, 0, 2); n > 0; --n) {
    variables.push_back(random_variable(random, static_cast<int>(variables.size())));
    planner.define(variables.back().definition);
    planner.set_attribute({variables.back().definition.name, "units", std::string(40, 'u')});
  }
  for (std::uint32_t v = 0; v < variables.size(); ++v) {
    Known& known = variables[v];
    const bool may = known.definition.stepped ? request.is_step : !known.is_put;
    if (may && test::pick(random, 0, 3) != 0) {
      Touched touched;
      touched.variable = v;
      touched.tiling = known.tile;
      touched.shape = known.definition.shape;
      request.touched.push_back(touched);
    }
  }
  return request;
}

/// Every tile filled with a byte that identifies its commit, as the writers would.
void write_raw(Ground& ground, const CommitPlan& plan, std::byte mark) {
  for (const Extent& extent : raw_extents(plan)) {
    ground.file().write(extent.offset, std::vector<std::byte>(extent.length, mark));
  }
}

void run_commits(std::uint64_t seed, const PlannerOptions& options) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  Ground ground;
  std::unique_ptr<Planner> planner = Hdf5Planner::create(ground.file(), options);
  std::vector<Known> variables;
  std::map<std::string, std::vector<std::byte>> marks;  // of each step; 0: not put
  std::uint64_t steps = 0;
  for (int commit = 1; commit <= 12; ++commit) {
    const std::uint64_t frontier = planner->committed_end();
    const CommitRequest request = random_commit(random, *planner, variables);
    const CommitPlan plan = planner->plan_commit(request);
    const MetadataUpdate update = planner->seal();
    check_space(plan, update, frontier);
    write_raw(ground, plan, static_cast<std::byte>(commit));
    if (commit > 1 && test::pick(random, 0, 3) == 0) {
      planner->abandon();
      ground.file().resize(planner->committed_end());
      ASSERT_EQ(planner->committed_end(), frontier);
      expect_closed(ground.bytes());
      continue;
    }
    ground.write(update);
    planner->planned();
    planner->committed();
    steps += request.is_step ? 1 : 0;
    ASSERT_EQ(planner->steps(), steps);
    for (const Touched& touched : request.touched) {
      Known& known = variables[touched.variable];
      known.is_put = true;
      auto& of = marks[known.definition.name];
      of.resize(known.definition.stepped ? steps : 1);
      of.back() = static_cast<std::byte>(commit);
    }
    expect_closed(ground.bytes());
  }
  planner.reset();
  Image image(ground.bytes());
  for (const Known& known : variables) {
    const auto found = marks.find(known.definition.name);
    if (found == marks.end()) {
      continue;
    }
    found->second.resize(known.definition.stepped ? steps : 1);
    const bool is_double = known.definition.type.kind == Kind::f64;
    const auto values = image.read(known.definition.name,
                                   is_double ? H5T_IEEE_F64LE : H5T_STD_I32LE, is_double ? 8 : 4);
    const std::size_t of_step = known.definition.bytes_per_step();
    ASSERT_EQ(values.size(), found->second.size() * of_step) << known.definition.name;
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(values[i], found->second[i / of_step]) << known.definition.name << " byte " << i;
    }
  }
}

TEST(Planner, DataGoesWhereNothingElseIs) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    run_commits(seed, {});
  }
}

TEST(Planner, AlsoWhereItIsAlignedToStripes) {
  for (std::uint64_t seed = 100; seed < 120; ++seed) {
    PlannerOptions options;
    options.alignment_bytes = 64 << 10;
    options.threshold_bytes = 8 << 10;
    run_commits(seed, options);
  }
}

TEST(Planner, RawDataOfAPageOrMoreIsAligned) {
  Ground ground;
  const auto planner = Hdf5Planner::create(ground.file(), {});
  model::Definition d;
  d.name = "v";
  d.shape = {1000, 3};
  d.stepped = true;
  planner->define(d);
  for (int s = 0; s < 5; ++s) {
    CommitRequest request;
    request.is_step = true;
    request.touched.resize(1);
    request.touched[0].tiling = Dims{100, 3};
    request.touched[0].shape = d.shape;
    request.checksum_words = 33;
    const CommitPlan plan = planner->plan_commit(request);
    const Placement small(0, 8, {10}, Dims{10}, std::vector<std::uint64_t>{0});
    for (std::uint64_t i = 0; i < plan.placements[0].tiles(); ++i) {
      // 2400 bytes are below a page: anywhere.
      EXPECT_NE(plan.placements[0].address(i), absent);
    }
    EXPECT_EQ(plan.checksums->address(0) % 4096, 0u);
    ground.write(planner->seal());
    planner->planned();
    planner->committed();
  }
}

TEST(Planner, AnAppendedFileGoesOnBehindItsEnd) {
  Ground ground;
  model::Definition d;
  d.name = "v";
  d.shape = {700};
  d.stepped = true;
  CommitRequest request;
  request.is_step = true;
  request.touched.resize(1);
  request.touched[0].tiling = d.shape;
  request.touched[0].shape = d.shape;
  for (int round = 0; round < 4; ++round) {
    const auto planner = round == 0 ? Hdf5Planner::create(ground.file(), {})
                                    : Hdf5Planner::append(ground.file(), {});
    if (round == 0) {
      planner->define(d);
    }
    ASSERT_EQ(planner->steps(), static_cast<std::uint64_t>(round));
    const std::uint64_t frontier = planner->committed_end();
    EXPECT_EQ(frontier, round == 0 ? 0 : ground.file().size());
    const CommitPlan plan = planner->plan_commit(request);
    const MetadataUpdate update = planner->seal();
    check_space(plan, update, frontier);
    write_raw(ground, plan, std::byte{1});
    ground.write(update);
    planner->planned();
    planner->committed();
    expect_closed(ground.bytes());
  }
}

}  // namespace
}  // namespace sluice::layout::hdf5
