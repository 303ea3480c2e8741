// Files that VTK reads, as Sluice sees them: what is read back, appended, dropped and refused. What
// VTK itself reads is in tests/python/test_vtkhdf.py.
#include <map>

#include "commit/tools/verify.hpp"
#include "layout/hdf5/catalog.hpp"
#include "layout/local_files.hpp"
#include "layout/vtkhdf/steps.hpp"

namespace sluice::test {
namespace {

namespace vtkhdf = layout::vtkhdf;

constexpr std::uint64_t most = 40;
constexpr VariableOptions rows{.steps = true, .varying = true};

class VtkHdf : public testing::Test {
 protected:
  static std::uint64_t count_of(std::uint64_t step, int rank) {
    return (step + static_cast<std::uint64_t>(rank)) % 3 == 2 ? 0 : step + 2;
  }

  /// Points of three ranks, whose numbers change.
  void write(Mode mode, std::uint64_t first, std::uint64_t steps, const Options& options = {},
             const std::string& compress = "none") {
    files_.run(3, [&](exec::Transport& transport) {
      File out = files_.open(transport, "p.vtkhdf", mode, options);
      VariableOptions how = rows;
      how.compress = compress;
      const Variable points = out.define<double>("VTKHDF/Points", {most, 3}, how);
      const Variable id = out.define<std::int32_t>("VTKHDF/PointData/id", {most}, how);
      const Variable other = out.define<float>("other/v", {4}, {.steps = true});
      if (mode == Mode::write) {
        out.set_attribute("VTKHDF", "Type", std::string("UnstructuredGrid"));
      }
      for (std::uint64_t s = first; s < first + steps; ++s) {
        const std::uint64_t count = count_of(s, transport.rank());
        const std::vector<double> places(3 * count + 1, value(s, transport.rank()));
        const std::vector<std::int32_t> ids(count + 1, transport.rank());
        Giver<float> giver;
        Step step = out.begin_step({.time = 0.5 * static_cast<double>(s)});
        step.put_joined(points, places.data(), count);
        step.put_joined(id, ids.data(), count);
        giver.put(step, other, s, {4}, slab({4}, transport.rank(), 3));
        step.end();
      }
      out.close();
    });
  }
  static double value(std::uint64_t step, int rank) {
    return 10.0 * static_cast<double>(step) + rank;
  }

  void expect_steps(std::uint64_t steps) {
    files_.run(2, [&](exec::Transport& transport) {
      File in = files_.open(transport, "p.vtkhdf", Mode::read);
      ASSERT_EQ(in.steps(), steps);
      const Variable points = in.find("VTKHDF/Points");
      EXPECT_EQ(in.info(points).shape, (Shape{most, 3}));
      EXPECT_TRUE(in.info(points).varying);
      for (std::uint64_t s = 0; s < steps; ++s) {
        std::vector<double> expected;
        for (int r = 0; r < 3; ++r) {
          expected.insert(expected.end(), 3 * count_of(s, r), value(s, r));
        }
        ASSERT_EQ(in.shape(points, s), (Shape{expected.size() / 3, 3}));
        std::vector<double> got(expected.size());
        in.get(points, got.data(), {}, s);
        EXPECT_EQ(got, expected) << "step " << s;
        expect_values<float>(in, "other/v", s, {4}, whole_box({4}), s);
      }
      for (const VariableInfo& info : in.variables()) {
        EXPECT_EQ(info.name.find("Steps"), std::string::npos) << info.name;
        EXPECT_EQ(info.name.find("NumberOf"), std::string::npos) << info.name;
      }
    });
  }

  LocalFiles files_;
};

TEST_F(VtkHdf, IsReadBackAsWrittenByEveryStrategy) {
  for (const char* strategy : {"serial", "shared", "collective", "forward", "auto"}) {
    for (const char* compress : {"none", "deflate:1"}) {
      SCOPED_TRACE(std::string(strategy) + ", " + compress);
      files_ = LocalFiles();
      Options options;
      options.strategy = strategy;
      options.log = Log::off;
      write(Mode::write, 0, 4, options, compress);
      expect_steps(4);
      write(Mode::append, 4, 3, options, compress);
      expect_steps(7);
      files_.run(2, [&](exec::Transport& transport) {
        const auto verdict = commit::verify(transport, *files_.storage(), "p.vtkhdf");
        EXPECT_EQ(verdict.state, commit::State::ok);
        EXPECT_EQ(verdict.finding_count + verdict.uncovered_count, 0u)
            << (verdict.uncovered.empty() ? "" : verdict.uncovered[0]);
      });
    }
  }
}

TEST_F(VtkHdf, GoesOnFromAnEarlierStep) {
  write(Mode::write, 0, 5);
  Options options;
  options.restart_after = 1;
  write(Mode::append, 2, 3, options);
  expect_steps(5);
}

TEST_F(VtkHdf, AFailedStepLeavesNothing) {
  files_.run(2, [&](exec::Transport& transport) {
    File out = files_.open(transport, "p.vtkhdf", Mode::write);
    out.set_attribute("VTKHDF", "Type", std::string("UnstructuredGrid"));
    const Variable points = out.define<double>("VTKHDF/Points", {most, 3}, rows);
    const Variable u = out.define<double>("VTKHDF/PointData/u", {most}, rows);
    const std::vector<double> values(30, 7);
    for (const std::uint64_t count : {3, 4, 5}) {
      Step step = out.begin_step();
      step.put_joined(points, values.data(), 3);
      step.put_joined(u, values.data(), count);
      if (count == 3) {
        step.end();
      } else {
        EXPECT_THROW(step.end(), Error);
      }
    }
    Step last = out.begin_step();
    last.put_joined(points, values.data(), 5);
    last.put_joined(u, values.data(), 5);
    last.end();
    out.close();
  });
  files_.run(1, [&](exec::Transport& transport) {
    File in = files_.open(transport, "p.vtkhdf", Mode::read);
    ASSERT_EQ(in.steps(), 2u);
    EXPECT_EQ(in.shape(in.find("VTKHDF/Points"), 1), (Shape{10, 3}));
  });
}

TEST_F(VtkHdf, PartsOfManyStepsAreFound) {
  // The counts of a step begin 1e5 after those of the step before: all of them are 160 MB.
  constexpr std::uint64_t steps = 200;
  constexpr std::uint64_t most_offsets = 100'000;
  files_.run(2, [&](exec::Transport& transport) {
    Options options;
    options.durability = Durability::none;
    options.log = Log::off;
    File out = files_.open(transport, "m.vtkhdf", Mode::write, options);
    out.set_attribute("VTKHDF", "Type", std::string("UnstructuredGrid"));
    VariableOptions in_pieces = rows;
    in_pieces.chunk = {1000};
    const Variable points = out.define<double>("VTKHDF/Points", {8, 3}, rows);
    const Variable ids = out.define<std::int64_t>("VTKHDF/Connectivity", {8}, rows);
    const Variable offsets = out.define<std::int64_t>("VTKHDF/Offsets", {most_offsets}, in_pieces);
    const Variable types = out.define<std::uint8_t>("VTKHDF/Types", {4}, rows);
    const std::uint64_t cells = transport.rank() == 0 ? 1 : 2;
    const std::vector<double> places(3 * 4, 1);
    const std::vector<std::int64_t> numbers{0, 1, 2};
    const std::vector<std::uint8_t> vertices(2, 1);
    for (std::uint64_t s = 0; s < steps; ++s) {
      Step step = out.begin_step();
      step.put_joined(points, places.data(), cells + 1);
      step.put_joined(ids, numbers.data(), cells);
      step.put_joined(offsets, numbers.data(), cells + 1);
      step.put_joined(types, vertices.data(), cells);
      step.end();
    }
    out.close();
  });
  const auto file = files_.storage()->open("m.vtkhdf", storage::Access::read);
  const auto catalog = layout::hdf5::Catalog::open(*file);
  using Parts = std::vector<std::uint64_t>;
  std::map<std::string, std::uint32_t> numbers;
  for (std::uint32_t v = 0; v < catalog->variables().size(); ++v) {
    numbers[catalog->variables()[v].definition.name] = v;
  }
  for (const std::uint64_t step : {std::uint64_t{0}, std::uint64_t{7}, steps - 1}) {
    EXPECT_EQ(catalog->parts(numbers.at("VTKHDF/Points"), step), (Parts{2, 3})) << step;
    EXPECT_EQ(catalog->parts(numbers.at("VTKHDF/Offsets"), step), (Parts{2, 3})) << step;
    EXPECT_EQ(catalog->parts(numbers.at("VTKHDF/Types"), step), (Parts{1, 2})) << step;
    EXPECT_EQ(catalog->parts(numbers.at("VTKHDF/Connectivity"), step), (Parts{1, 2})) << step;
  }
  EXPECT_EQ(catalog->parts(numbers.at("VTKHDF/Points"), steps), Parts{});
}

TEST_F(VtkHdf, WhatIsNoArrayOfVtksIsRefused) {
  files_.run(1, [&](exec::Transport& transport) {
    File out = files_.open(transport, "r.vtkhdf", Mode::write);
    const auto refused = [&](const char* name, const Shape& shape, const std::string& why) {
      expect_error(thrown_by([&] { out.define<double>(name, shape, {.steps = true}); }),
                   Code::unsupported, {name, why});
    };
    refused("VTKHDF/Steps/Values", {1}, "by itself");
    refused("VTKHDF/NumberOfPoints", {1}, "by itself");
    refused("VTKHDF/mine", {1}, "another group");
    refused("VTKHDF/Points", {3, 2}, "three coordinates");
    refused("VTKHDF/Types", {3}, "uint8");
    refused("VTKHDF/Lines/Offsets", {3}, "int64");
    EXPECT_THROW(out.set_attribute("VTKHDF", "Type", std::string("Mesh")), Error);
    EXPECT_THROW(out.close(), Error);
  });
}

TEST(VtkHdfSteps, OffsetsFollowFromTheSlots) {
  // Two parts of 3 and 1 cells in the third step.
  const std::vector<vtkhdf::Array> arrays{{"Points", true, true, 64, 9, {5, 4}},
                                          {"Connectivity", true, true, 128, 8, {6, 2}},
                                          {"Offsets", true, true, 96, 6, {4, 2}},
                                          {"Types", true, true, 64, 4, {3, 1}},
                                          {"PointData/u", true, true, 32, 9, {}}};
  std::map<std::string, std::pair<std::uint64_t, std::vector<std::int64_t>>> found;
  for (const vtkhdf::Numbers& n :
       vtkhdf::numbers_of_step(vtkhdf::Kind::unstructured, arrays, {2, 34, 5})) {
    found[n.path] = {n.first, n.values};
  }
  using Values = std::pair<std::uint64_t, std::vector<std::int64_t>>;
  EXPECT_EQ(found.at("VTKHDF/NumberOfPoints"), (Values{64, {5, 4}}));
  EXPECT_EQ(found.at("VTKHDF/NumberOfCells"), (Values{64, {3, 1}}));
  EXPECT_EQ(found.at("VTKHDF/NumberOfConnectivityIds"), (Values{64, {6, 2}}));
  EXPECT_EQ(found.at("VTKHDF/Steps/PartOffsets"), (Values{2, {64}}));
  EXPECT_EQ(found.at("VTKHDF/Steps/NumberOfParts"), (Values{2, {2}}));
  EXPECT_EQ(found.at("VTKHDF/Steps/PointOffsets"), (Values{2, {128}}));
  EXPECT_EQ(found.at("VTKHDF/Steps/CellOffsets"), (Values{2, {128}}));
  EXPECT_EQ(found.at("VTKHDF/Steps/ConnectivityIdOffsets"), (Values{2, {256}}));
  EXPECT_EQ(found.at("VTKHDF/Steps/PointDataOffsets/u"), (Values{2, {64}}));
  // VTK finds the offsets of a step at its cells' place and the parts before: 128 + 64 = 2 * 96.
}

TEST(VtkHdfSteps, SlotsAreWholeTilesAndMoreThanTheMost) {
  EXPECT_EQ(vtkhdf::slot_of(10, 4), 12u);
  EXPECT_EQ(vtkhdf::slot_of(12, 4), 16u);
  EXPECT_EQ(vtkhdf::slot_of(0, 1), 1u);
  EXPECT_EQ(vtkhdf::slot_of(10, 4, 17), 20u);
}

}  // namespace
}  // namespace sluice::test
