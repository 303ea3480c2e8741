// One plain file of a set.
#include "commit/tools/merge.hpp"

#include "commit/tools/verify.hpp"
#include "layout/hdf5/catalog.hpp"
#include "parts/sets.hpp"
#include "support/recording_storage.hpp"

namespace sluice::test {
namespace {

Options plain() {
  Options options;
  options.strategy = "shared";
  options.durability = Durability::none;
  options.timeout_s = 60;
  return options;
}

commit::Merged merge(int ranks, std::shared_ptr<storage::Storage> storage) {
  commit::Merged answer;
  on_ranks(ranks, [&](exec::Transport& transport) {
    const auto mine = commit::merge(transport, *storage, "out.h5", "plain.h5", plain(),
                                    [](auto done, auto total) { EXPECT_LE(done, total); });
    if (transport.rank() == 0) {
      answer = mine;
    }
  });
  return answer;
}

TEST(Merge, TheSameValuesInOneFile) {
  for (const int ranks : {1, 2, 5}) {
    for (const bool fixed_deal : {true, false}) {
      const auto storage = storage::make_memory();
      const Steps steps{.shape = {12, 5}, .fixed_deal = fixed_deal};
      write_set(4, storage, "out.h5", SetKind{"file-per-node", 3, 0}.options(), steps);
      const auto done = merge(ranks, storage);
      EXPECT_EQ(done.parts, 3u);
      EXPECT_EQ(done.steps, 4u);
      EXPECT_EQ(done.bytes, 12 * 5 * 8 * 4u);
      for (const std::string& path : storage->paths()) {
        if (path.find("out.h5.parts") == 0) {
          storage->remove(path);
        }
      }
      expect_set(3, storage, "plain.h5", steps);
      on_ranks(2, [&](exec::Transport& transport) {
        const auto verdict = commit::verify(transport, *storage, "plain.h5");
        EXPECT_EQ(verdict.state, commit::State::ok);
        EXPECT_EQ(verdict.bytes, done.bytes);
      });
    }
  }
}

void expect_everything(File in) {
  const Shape shape{10};
  EXPECT_EQ(in.steps(), 3u);
  EXPECT_EQ(in.time(2), 2.0);
  expect_values<double>(in, "group/fixed", 1, shape, whole_box(shape));
  expect_values<double>(in, "late", 1, shape, whole_box(shape), 1);
  expect_values<double>(in, "late", 2, shape, whole_box(shape), 2);
  std::int64_t scalar = 0;
  in.get(in.find("scalar"), &scalar);
  EXPECT_EQ(scalar, 11);
  std::vector<float> partial(4);
  in.get(in.find("partial"), partial.data(), {}, 1);
  EXPECT_EQ(partial, (std::vector<float>{-1, 7, -1, -1}));
  std::vector<float> never(2);
  in.get(in.find("never"), never.data(), {}, 0);
  EXPECT_EQ(never, (std::vector<float>{3, 3}));
  EXPECT_EQ(in.info(in.find("empty")).shape, (Shape{0, 4}));
  EXPECT_EQ(std::get<std::string>(in.attribute("", "title")), "a title");
  EXPECT_EQ(std::get<std::int32_t>(in.attribute("group", "note")), 5);
  EXPECT_EQ(std::get<std::string>(in.attribute("late", "units")), "kg");
  EXPECT_EQ(std::get<std::string>(in.attribute("time", "units")), "ps");
}

TEST(Merge, EverythingElseOfTheSetToo) {
  const auto storage = storage::make_memory();
  const Shape shape{10};
  on_ranks(3, [&](exec::Transport& transport) {
    File out = open_file(transport, storage, "out.h5", Mode::write, SetKind{}.options());
    const Variable fixed = out.define<double>("group/fixed", shape, {.unit = "m"});
    const Variable scalar = out.define<std::int64_t>("scalar", {});
    const Variable partial =
        out.define<float>("partial", {4}, {.steps = true, .partial = true, .fill = -1});
    out.define<float>("never", {2}, {.steps = true, .partial = true, .fill = 3});
    out.define<float>("empty", {0, 4}, {.steps = true});
    out.set_attribute("", "title", std::string("a title"));
    out.set_attribute("group", "note", 5);
    out.set_attribute("time", "units", std::string("ps"));
    const model::Box mine = slab(shape, transport.rank(), 3);
    Variable late;
    for (std::uint64_t s = 0; s < 3; ++s) {
      Giver<double> giver;
      if (s == 1) {
        late = out.define<double>("late", shape, {.steps = true, .unit = "kg"});
      }
      Step step = out.begin_step({.time = static_cast<double>(s)});
      const std::int64_t one = 11;
      const float value = 7;
      if (s == 0) {
        giver.put(step, fixed, 1, shape, mine);
      }
      if (s == 2 && transport.rank() == 1) {
        step.put(scalar, &one);
      }
      if (transport.rank() == 2) {
        step.put(partial, &value, {.start = {s}, .count = {1}});
      }
      if (s >= 1) {
        giver.put(step, late, s, shape, mine);
      }
      step.end();
    }
    out.close();
  });
  merge(2, storage);
  on_ranks(2, [&](exec::Transport& transport) {
    expect_everything(open_file(transport, storage, "plain.h5", Mode::read, {}));
  });
}

TEST(Merge, KeepsTheCompression) {
  const auto storage = storage::make_memory();
  const Shape shape{64, 50};
  on_ranks(2, [&](exec::Transport& transport) {
    File out = open_file(transport, storage, "out.h5", Mode::write, SetKind{}.options());
    const Variable packed =
        out.define<double>("packed", shape, {.steps = true, .compress = "digits:4+deflate:6"});
    const Variable plain = out.define<double>("plain", shape, {.steps = true});
    Giver<double> giver;
    Step step = out.begin_step();
    for (const Variable v : {packed, plain}) {
      giver.put(step, v, 1, shape, slab(shape, transport.rank(), 2));
    }
    step.end();
    out.close();
  });
  merge(2, storage);
  const auto file = storage->open("plain.h5", storage::Access::read);
  const auto catalog = layout::hdf5::Catalog::open(*file);
  for (const layout::StoredVariable& v : catalog->variables()) {
    EXPECT_EQ(v.definition.compress.find("deflate:6") != std::string::npos,
              v.definition.name == "packed")
        << v.definition.name << " " << v.definition.compress;
    EXPECT_EQ(v.filters.empty(), v.definition.name != "packed") << v.definition.name;
  }
}

/// Of the merge of a set of so many steps, with the durability that is the default.
std::uint64_t syncs_of_merge(std::uint64_t steps) {
  const auto storage = storage::make_memory();
  write_set(2, storage, "out.h5", SetKind{}.options(), {.steps = steps});
  const auto log = std::make_shared<storage::Log>();
  on_ranks(2, [&](exec::Transport& transport) {
    storage::RecordingStorage recording(storage, log, transport.rank());
    Options options = plain();
    options.durability = Durability::automatic;
    commit::merge(transport, recording, "out.h5", "plain.h5", options, {});
  });
  return log->totals().syncs;
}

TEST(Merge, SyncsAtTheEndNotAtEachStep) {
  const std::uint64_t few = syncs_of_merge(2);
  EXPECT_GT(few, 0u);
  EXPECT_EQ(syncs_of_merge(12), few);
}

TEST(Merge, GroupsOfASetWithoutSteps) {
  const auto storage = storage::make_memory();
  const Shape shape{10};
  on_ranks(2, [&](exec::Transport& transport) {
    File out = open_file(transport, storage, "out.h5", Mode::write, SetKind{}.options());
    const Variable fixed = out.define<double>("group/fixed", shape, {.unit = "m"});
    out.set_attribute("group", "note", 5);
    const std::vector<double> values(5, 2.5);
    out.put(fixed, values.data(),
            {.start = {static_cast<std::uint64_t>(transport.rank()) * 5}, .count = {5}});
    out.close();
  });
  merge(2, storage);
  on_ranks(1, [&](exec::Transport& transport) {
    File in = open_file(transport, storage, "plain.h5", Mode::read, {});
    EXPECT_EQ(std::get<std::int32_t>(in.attribute("group", "note")), 5);
    EXPECT_EQ(std::get<std::string>(in.attribute("group/fixed", "units")), "m");
  });
}

/// Its variables are there, also one that has as many rows as each step says.
TEST(Merge, OfASetWithoutSteps) {
  const auto storage = storage::make_memory();
  on_ranks(2, [&](exec::Transport& transport) {
    File out = open_file(transport, storage, "out.h5", Mode::write, SetKind{}.options());
    out.define<double>("rows", {8}, {.steps = true, .varying = true});
    const Variable fixed = out.define<double>("fixed", {2});
    const double value = transport.rank();
    out.put(fixed, &value, {.start = {static_cast<std::uint64_t>(transport.rank())}, .count = {1}});
    out.close();
  });
  merge(2, storage);
  on_ranks(1, [&](exec::Transport& transport) {
    File in = open_file(transport, storage, "plain.h5", Mode::read, {});
    EXPECT_EQ(in.steps(), 0U);
    EXPECT_TRUE(in.info(in.find("rows")).varying);
    std::vector<double> got(2);
    in.get(in.find("fixed"), got.data());
    EXPECT_EQ(got, (std::vector<double>{0, 1}));
  });
}

TEST(Merge, OnlyOfASetAndNotOverAFile) {
  const auto storage = storage::make_memory();
  write_set(2, storage, "out.h5", plain(), {});
  auto errors = [&] {
    return errors_on_ranks(2, [&](exec::Transport& transport) {
      commit::merge(transport, *storage, "out.h5", "plain.h5", plain());
    });
  };
  expect_everywhere(errors(), Code::unsupported, {"out.h5", "plain file already"});
  write_set(2, storage, "out.h5", SetKind{}.options(), {});
  write_set(2, storage, "plain.h5", plain(), {.shape = {3}});
  expect_everywhere(errors(), Code::exists, {"plain.h5"});
  expect_set(1, storage, "plain.h5", {.shape = {3}});
}

TEST(Merge, ADamagedPartIsNotPassedOn) {
  const auto storage = storage::make_memory();
  write_set(2, storage, "out.h5", SetKind{}.options(), {.slabs = true});
  flip_bit_of(*storage, part_paths(*storage, "out.h5")[1], value_at<double>(101, 40));
  const auto errors = errors_on_ranks(3, [&](exec::Transport& transport) {
    commit::merge(transport, *storage, "out.h5", "plain.h5", plain());
  });
  expect_everywhere(errors, Code::damaged, {"v, step 1", "000001.h5", "checksum"});
}

}  // namespace
}  // namespace sluice::test
