// The form of a set of parts, and that it reads back as it was written.
#include <algorithm>

#include "layout/hdf5/catalog.hpp"
#include "parts/sets.hpp"
#include "support/in_folder.hpp"

namespace sluice::test {
namespace {

const layout::PartSet set_of(storage::Storage& storage, const std::string& path) {
  const auto file = storage.open(path, storage::Access::read);
  const auto catalog = layout::hdf5::Catalog::open(*file);
  return catalog->set() == nullptr ? layout::PartSet{} : *catalog->set();
}

std::vector<std::string> datasets_of(storage::Storage& storage, const std::string& path) {
  const auto file = storage.open(path, storage::Access::read);
  const auto catalog = layout::hdf5::Catalog::open(*file);
  std::vector<std::string> names;
  for (const auto& variable : catalog->variables()) {
    names.push_back(variable.definition.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Writing, EveryKindOnEveryNumberOfRanksReadsBack) {
  for (const int ranks : {1, 3, 4, 8}) {
    for (const SetKind& kind : all_kinds(ranks)) {
      for (const bool fixed_deal : {true, false}) {
        SCOPED_TRACE(std::to_string(ranks) + " ranks, " + kind.text());
        const auto storage = storage::make_memory();
        const Steps steps{.fixed_deal = fixed_deal};
        write_set(ranks, storage, "out.h5", kind.options(), steps);
        for (const int readers : {1, 2, ranks}) {
          expect_set(readers, storage, "out.h5", steps);
        }
      }
    }
  }
}

TEST(Writing, AGroupHasOnePartBesideTheIndex) {
  const auto storage = storage::make_memory();
  write_set(5, storage, "run/out.h5", SetKind{"file-per-node", 2}.options(), {.slabs = true});
  const layout::PartSet set = set_of(*storage, "run/out.h5");
  const std::string folder = "run/out.h5.parts";
  EXPECT_EQ(storage->paths(),
            (std::vector<std::string>{"run/out.h5", commit::part_file(folder, set.id, 0, "out.h5"),
                                      commit::part_file(folder, set.id, 1, "out.h5")}));
}

/// Each step begins a part, and so makes a file in the folder.
TEST(Writing, ARelativeFolderOfPartsStaysWhereItWasAtTheOpening) {
  const storage::Scratch scratch;
  std::filesystem::create_directory(scratch / "here");
  std::filesystem::create_directory(scratch / "elsewhere");
  Options options = SetKind{}.options();
  options.parts_dir = "./fast/disk";
  options.split_steps = 1;
  options.durability = Durability::step;
  const auto storage = storage::make("posix");
  const Steps steps;
  const InFolder here(scratch / "here");
  on_ranks(2, [&](exec::Transport& transport) {
    File out = open_file(transport, storage, "out.h5", Mode::write, options);
    transport.barrier();
    if (transport.rank() == 0) {
      std::filesystem::current_path(scratch / "elsewhere");
    }
    transport.barrier();
    steps.write(out, transport);
    out.close();
  });
  EXPECT_TRUE(std::filesystem::is_empty(scratch / "elsewhere"));
  const std::vector<std::string> parts = part_paths(*storage, scratch / "here/out.h5");
  ASSERT_EQ(parts.size(), 8u) << "4 steps of 2 ranks";
  for (const std::string& part : parts) {
    EXPECT_EQ(std::filesystem::path(part).parent_path(), scratch / "here/fast/disk/out.h5.parts");
  }
  expect_set(2, storage, scratch / "here/out.h5", steps);
}

TEST(Writing, PartsGoToTheirFolder) {
  const storage::Scratch scratch;
  Options options = SetKind{}.options();
  options.parts_dir = scratch / "fast/disk";
  const auto storage = storage::make("posix");
  std::filesystem::create_directory(scratch / "run");
  const Steps steps;
  write_set(2, storage, scratch / "run/out.h5", options, steps);
  const std::string part = part_paths(*storage, scratch / "run/out.h5")[1];
  EXPECT_TRUE(part.starts_with(scratch / "fast/disk/out.h5.parts/")) << part;
  EXPECT_FALSE(std::filesystem::exists(scratch / "run/out.h5.parts"));
  expect_set(3, storage, scratch / "run/out.h5", steps);
}

TEST(Writing, ARankWithoutDataMakesNoFile) {
  const auto storage = storage::make_memory();
  const Steps steps{.shape = {3, 2}, .slabs = true};  // 8 ranks, 3 rows
  write_set(8, storage, "out.h5", SetKind{}.options(), steps);
  EXPECT_EQ(storage->paths().size(), 4u);
  EXPECT_EQ(set_of(*storage, "out.h5").parts.size(), 3u);
  expect_set(2, storage, "out.h5", steps);
}

TEST(Writing, NothingPutIsAnIndexWithoutParts) {
  const auto storage = storage::make_memory();
  on_ranks(3, [&](exec::Transport& transport) {
    File out = open_file(transport, storage, "out.h5", Mode::write, SetKind{}.options());
    out.define<float>("never", {4, 4}, {.steps = true});
    out.set_attribute("", "title", std::string("empty"));
    out.close();
  });
  EXPECT_EQ(storage->paths(), std::vector<std::string>{"out.h5"});
  on_ranks(1, [&](exec::Transport& transport) {
    File in = open_file(transport, storage, "out.h5", Mode::read, {});
    EXPECT_EQ(in.steps(), 0u);
    EXPECT_EQ(in.info(in.find("never")).shape, (Shape{4, 4}));
    EXPECT_EQ(std::get<std::string>(in.attribute("", "title")), "empty");
  });
}

TEST(Writing, ADecompositionThatStaysIsOneMappingABlock) {
  const auto storage = storage::make_memory();
  write_set(4, storage, "out.h5", SetKind{}.options(), {.steps = 50, .slabs = true});
  const layout::PartSet set = set_of(*storage, "out.h5");
  ASSERT_EQ(set.mappings.size(), 4u);
  for (const layout::Mapping& mapping : set.mappings) {
    EXPECT_EQ(mapping.steps, 50u);
    EXPECT_FALSE(mapping.listed);
  }
  EXPECT_EQ(datasets_of(*storage, part_paths(*storage, "out.h5")[2]),
            (std::vector<std::string>{"time", "v"}));
}

TEST(Writing, BlocksThatAreNoBoxTogetherAreListed) {
  const auto storage = storage::make_memory();
  const Shape shape{4, 4};
  on_ranks(2, [&](exec::Transport& transport) {
    File out = open_file(transport, storage, "out.h5", Mode::write, SetKind{}.options());
    const Variable v = out.define<double>("v", shape, {.steps = true});
    Giver<double> giver;
    Step step = out.begin_step();
    const std::uint64_t r = static_cast<std::uint64_t>(transport.rank());
    giver.put(step, v, 1, shape, {{0, 2 * r}, {2, 2}});  // a chess board
    giver.put(step, v, 1, shape, {{2, 2 - 2 * r}, {2, 2}});
    step.end();
    out.close();
  });
  const layout::PartSet set = set_of(*storage, "out.h5");
  ASSERT_EQ(set.mappings.size(), 4u);
  for (const layout::Mapping& mapping : set.mappings) {
    EXPECT_TRUE(mapping.listed);
  }
  const auto file = storage->open(part_paths(*storage, "out.h5")[0], storage::Access::read);
  const auto catalog = layout::hdf5::Catalog::open(*file);
  EXPECT_EQ(catalog->variables()[0].definition.shape, (model::Dims{8}));
  on_ranks(1, [&](exec::Transport& transport) {
    File in = open_file(transport, storage, "out.h5", Mode::read, {});
    expect_values<double>(in, "v", 1, shape, whole_box(shape));
    expect_values<double>(in, "v", 1, shape, {{1, 1}, {2, 2}});
  });
}

TEST(Writing, RowsThatWanderNeedFewDatasets) {
  const auto storage = storage::make_memory();
  const Shape shape{1000, 3};
  constexpr std::uint64_t steps = 40;
  auto cut_at = [](std::uint64_t step) { return 500 + 37 * step % 101; };
  on_ranks(2, [&](exec::Transport& transport) {
    File out = open_file(transport, storage, "out.h5", Mode::write, SetKind{}.options());
    const Variable v = out.define<double>("v", shape, {.steps = true});
    for (std::uint64_t s = 0; s < steps; ++s) {
      Giver<double> giver;
      Step step = out.begin_step();
      const bool low = transport.rank() == 0;
      const std::uint64_t cut = cut_at(s);
      giver.put(step, v, s, shape,
                low ? model::Box{{0, 0}, {cut, 3}} : model::Box{{cut, 0}, {1000 - cut, 3}});
      step.end();
    }
    out.close();
  });
  EXPECT_LE(datasets_of(*storage, part_paths(*storage, "out.h5")[0]).size(), 3u);
  EXPECT_LE(datasets_of(*storage, part_paths(*storage, "out.h5")[1]).size(), 3u);
  on_ranks(3, [&](exec::Transport& transport) {
    File in = open_file(transport, storage, "out.h5", Mode::read, {});
    for (std::uint64_t s = 0; s < steps; ++s) {
      expect_values<double>(in, "v", s, shape, slab(shape, transport.rank(), 3), s);
    }
  });
}

TEST(Writing, GhostCellsConversionAndRowsInListedParts) {
  const auto storage = storage::make_memory();
  const Shape shape{6, 6};
  on_ranks(2, [&](exec::Transport& transport) {
    File out = open_file(transport, storage, "out.h5", Mode::write, SetKind{}.options());
    const Variable v = out.define<float>("v", shape, {.steps = true});
    const Variable w = out.define<std::int64_t>("w", {7, 2}, {.steps = true});
    Step step = out.begin_step();
    // Rank r has rows r, r + 2, r + 4, out of an array with ghost cells, as doubles.
    std::vector<double> memory(8 * 8);
    for (std::uint64_t row = static_cast<std::uint64_t>(transport.rank()); row < 6; row += 2) {
      for (std::uint64_t column = 0; column < 6; ++column) {
        memory[(row + 1) * 8 + column + 1] = static_cast<double>(row * 6 + column);
      }
      step.put(v, memory.data(),
               {.start = {row, 0},
                .count = {1, 6},
                .memory_shape = {8, 8},
                .memory_start = {row + 1, 1}});
    }
    std::vector<std::uint64_t> ids;
    std::vector<std::int64_t> rows;
    for (std::uint64_t id = static_cast<std::uint64_t>(transport.rank()); id < 7; id += 2) {
      ids.push_back(6 - id);
      rows.push_back(static_cast<std::int64_t>(2 * (6 - id)));
      rows.push_back(static_cast<std::int64_t>(2 * (6 - id) + 1));
    }
    step.put_rows(w, ids.data(), ids.size(), rows.data());
    step.end();
    out.close();
  });
  on_ranks(2, [&](exec::Transport& transport) {
    File in = open_file(transport, storage, "out.h5", Mode::read, {});
    std::vector<std::int32_t> none;
    std::vector<float> values(36);
    in.get(in.find("v"), values.data());
    for (std::size_t i = 0; i < 36; ++i) {
      ASSERT_EQ(values[i], static_cast<float>(i));
    }
    const std::vector<std::uint64_t> ids{6, 0, 3, 3};
    std::vector<std::int64_t> rows(8);
    in.get_rows(in.find("w"), ids.data(), ids.size(), rows.data());
    EXPECT_EQ(rows, (std::vector<std::int64_t>{12, 13, 0, 1, 6, 7, 6, 7}));
    // Into an array with ghost cells, narrower.
    std::vector<double> ghosts(16, -1);
    in.get(in.find("v"), ghosts.data(),
           {.start = {2, 3}, .count = {2, 2}, .memory_shape = {4, 4}, .memory_start = {1, 1}});
    EXPECT_EQ(ghosts, (std::vector<double>{-1, -1, -1, -1, -1, 15, 16, -1, -1, 21, 22, -1, -1, -1,
                                           -1, -1}));
    (void)transport;
  });
}

TEST(Writing, PartialVariablesReadAsFillWhereNobodyPut) {
  const auto storage = storage::make_memory();
  on_ranks(3, [&](exec::Transport& transport) {
    File out = open_file(transport, storage, "out.h5", Mode::write, SetKind{}.options());
    const Variable v =
        out.define<std::int16_t>("v", {3, 4}, {.steps = true, .partial = true, .fill = -7});
    for (int s = 0; s < 3; ++s) {
      const auto value = static_cast<std::int16_t>(10 * s + transport.rank());
      Step step = out.begin_step();
      if (transport.rank() == s) {  // another part has rows at every step
        step.put(v, &value, {.start = {static_cast<std::uint64_t>(s), 1}, .count = {1, 1}});
      }
      step.end();
    }
    out.close();
  });
  on_ranks(1, [&](exec::Transport& transport) {
    File in = open_file(transport, storage, "out.h5", Mode::read, {});
    for (std::uint64_t s = 0; s < 3; ++s) {
      std::vector<std::int16_t> got(12);
      in.get(in.find("v"), got.data(), {}, s);
      for (std::uint64_t i = 0; i < 12; ++i) {
        EXPECT_EQ(got[i], i == 4 * s + 1 ? 11 * static_cast<int>(s) : -7) << s << " " << i;
      }
    }
    (void)transport;
  });
}

TEST(Writing, VariablesThatComeLaterAndFixedOnesAndScalars) {
  const auto storage = storage::make_memory();
  on_ranks(4, [&](exec::Transport& transport) {
    File out = open_file(transport, storage, "out.h5", Mode::write, SetKind{}.options());
    const Shape shape{8};
    const Variable early = out.define<double>("early", shape, {.steps = true});
    const Variable fixed = out.define<double>("fixed", shape);
    const Variable scalar = out.define<std::int32_t>("scalar", {});
    Variable late;
    const std::int32_t answer = 42;
    for (std::uint64_t s = 0; s < 3; ++s) {
      Giver<double> giver;
      if (s == 2) {
        late = out.define<double>("late", shape, {.steps = true});
      }
      Step step = out.begin_step();
      const model::Box box = slab(shape, transport.rank(), 4);
      giver.put(step, early, s, shape, box);
      if (s == 1) {
        giver.put(step, fixed, 50, shape, box);
        if (transport.rank() == 3) {
          step.put(scalar, &answer);
        }
      }
      if (s == 2) {
        giver.put(step, late, 60, shape, box);
      }
      step.end();
    }
    out.close();
  });
  on_ranks(2, [&](exec::Transport& transport) {
    File in = open_file(transport, storage, "out.h5", Mode::read, {});
    const Shape shape{8};
    for (std::uint64_t s = 0; s < 3; ++s) {
      expect_values<double>(in, "early", s, shape, whole_box(shape), s);
    }
    expect_values<double>(in, "fixed", 50, shape, whole_box(shape));
    expect_values<double>(in, "late", 60, shape, whole_box(shape), 2);
    std::vector<double> before(8, -1);
    in.get(in.find("late"), before.data(), {}, 0);
    EXPECT_EQ(before, std::vector<double>(8, 0));
    std::int32_t scalar = 0;
    in.get(in.find("scalar"), &scalar);
    EXPECT_EQ(scalar, 42);
    (void)transport;
  });
}

TEST(Writing, OnlyFormatsWithAnIndex) {
  const auto storage = storage::make_memory();
  for (const auto& [format, form] : {std::pair("npy", "stacked"), std::pair("hdf5", "grouped")}) {
    Options options = SetKind{}.options();
    options.format = format;
    options.hdf5_layout = form;
    options.durability = Durability::automatic;
    expect_everywhere(errors_on_ranks(2,
                                      [&](exec::Transport& transport) {
                                        open_file(transport, storage, "out.h5", Mode::write,
                                                  options);
                                      }),
                      Code::unsupported, {"file-per-process", format});
  }
}

}  // namespace
}  // namespace sluice::test
