// Another run, with another number of ranks, continues a set.
#include <set>

#include "layout/hdf5/catalog.hpp"
#include "parts/sets.hpp"

namespace sluice::test {
namespace {

TEST(Append, OtherRanksAddStepsInPartsOfTheirOwn) {
  for (const SetKind& later : {SetKind{}, SetKind{"file-per-node", 2, 0}}) {
    const auto storage = storage::make_memory();
    write_set(3, storage, "out.h5", SetKind{}.options(), {.steps = 2, .slabs = true});
    const std::string part = part_paths(*storage, "out.h5")[1];
    const auto before = storage->contents(part);
    on_ranks(5, [&](exec::Transport& transport) {
      File out = open_file(transport, storage, "out.h5", Mode::append, later.options());
      EXPECT_EQ(out.steps(), 2u);
      Steps{.first = 2, .steps = 3, .slabs = true}.write(out, transport);
      out.close();
    });
    EXPECT_EQ(storage->paths().size(), static_cast<std::size_t>(1 + 3 + later.groups(5)));
    EXPECT_EQ(storage->contents(part), before);
    expect_set(2, storage, "out.h5", {.steps = 5});
  }
}

TEST(Append, AutoGoesOnAsItBegan) {
  const auto storage = storage::make_memory();
  write_set(2, storage, "out.h5", SetKind{}.options(), {.steps = 1, .slabs = true});
  on_ranks(2, [&](exec::Transport& transport) {
    Options options = SetKind{}.options();
    options.strategy = "auto";
    File out = open_file(transport, storage, "out.h5", Mode::append, options);
    Steps{.first = 1, .steps = 1, .slabs = true}.write(out, transport);
    out.close();
  });
  EXPECT_EQ(storage->paths().size(), 5u);
  expect_set(1, storage, "out.h5", {.steps = 2});
}

/// The compression of a variable in each part, oldest first.
std::vector<std::string> compressions(std::shared_ptr<storage::Storage> storage,
                                      const std::string& index, const std::string& variable) {
  std::vector<std::string> found;
  for (const std::string& part : part_paths(*storage, index)) {
    const auto file = storage->open(part, storage::Access::read);
    const auto catalog = layout::hdf5::Catalog::open(*file);
    for (const layout::StoredVariable& stored : catalog->variables()) {
      if (stored.definition.name == variable) {
        found.push_back(stored.definition.compress);
      }
    }
  }
  return found;
}

TEST(Append, NewPartsAreCompressedAsTheOthers) {
  for (const std::string path : {"out.h5", "out.nc"}) {
    for (const std::string strategy : {"file-per-process", "shared"}) {
      SCOPED_TRACE(path + " " + strategy);
      const auto storage = storage::make_memory();
      Options options = SetKind{strategy}.options();
      options.split_steps = 2;
      const Shape shape{64, 50};
      const auto write = [&](Mode mode, bool defines) {
        on_ranks(2, [&](exec::Transport& transport) {
          File out = open_file(transport, storage, path, mode, options);
          const Variable v =
              defines
                  ? out.define<double>(
                        "v", shape,
                        {.steps = true, .dimensions = {"y", "x"}, .compress = "digits:4+deflate:6"})
                  : out.find("v");
          for (int s = 0; s < 3; ++s) {
            Giver<double> giver;
            Step step = out.begin_step();
            giver.put(step, v, 1, shape, slab(shape, transport.rank(), 2));
            step.end();
          }
          out.close();
        });
      };
      write(Mode::write, true);
      write(Mode::append, false);
      write(Mode::append, true);
      const auto found = compressions(storage, path, "v");
      EXPECT_EQ(found.size(), strategy == "shared" ? 6u : 12u);
      EXPECT_EQ(std::set<std::string>(found.begin(), found.end()),
                std::set<std::string>{"deflate:6"});
      const auto index = storage->open(path, storage::Access::read);
      const auto catalog = layout::hdf5::Catalog::open(*index);
      for (const layout::StoredVariable& stored : catalog->variables()) {
        EXPECT_EQ(stored.definition.compress,
                  stored.definition.name == "v" ? "digits:4+deflate:6" : "");
      }
    }
  }
}

TEST(Append, FixedVariablesScalarsAndAttributesStay) {
  const auto storage = storage::make_memory();
  const Shape shape{9};
  auto write = [&](int ranks, Mode mode, std::uint64_t first) {
    on_ranks(ranks, [&](exec::Transport& transport) {
      File out = open_file(transport, storage, "out.h5", mode, SetKind{}.options());
      if (mode == Mode::write) {
        const Variable fixed = out.define<double>("group/fixed", shape, {.unit = "m"});
        const Variable scalar = out.define<float>("scalar", {});
        out.set_attribute("", "title", std::string("a title"));
        out.set_attribute("group", "note", std::vector<std::int32_t>{1, 2, 3});
        Giver<double> giver;
        giver.put(out, fixed, 9, shape, slab(shape, transport.rank(), ranks));
        const float value = 1.5F;
        if (transport.rank() == ranks - 1) {
          out.put(scalar, &value);
        }
        out.flush();
      } else {
        out.set_attribute("", "again", true);
        out.define<std::int16_t>("p", {4}, {.steps = true, .partial = true, .fill = -3});
      }
      Steps{.first = first, .steps = 1}.write(out, transport);
      out.close();
    });
  };
  write(3, Mode::write, 0);
  write(2, Mode::append, 1);
  write(4, Mode::append, 2);
  on_ranks(2, [&](exec::Transport& transport) {
    File in = open_file(transport, storage, "out.h5", Mode::read, {});
    Steps{.steps = 3}.expect(in, transport);
    expect_values<double>(in, "group/fixed", 9, shape, whole_box(shape));
    float scalar = 0;
    in.get(in.find("scalar"), &scalar);
    EXPECT_EQ(scalar, 1.5F);
    EXPECT_EQ(std::get<std::string>(in.attribute("", "title")), "a title");
    EXPECT_EQ(std::get<std::vector<std::int32_t>>(in.attribute("group", "note")),
              (std::vector<std::int32_t>{1, 2, 3}));
    EXPECT_EQ(std::get<std::string>(in.attribute("group/fixed", "units")), "m");
    EXPECT_TRUE(in.has_attribute("", "again"));
    std::vector<std::int16_t> p(4);
    in.get(in.find("p"), p.data(), {}, 2);
    EXPECT_EQ(p, std::vector<std::int16_t>(4, -3));
  });
}

TEST(Append, AReaderRefreshesToVariablesThatComeBeforeItsOwn) {
  const auto storage = storage::make_memory();
  const Shape shape{12};
  on_ranks(2, [&](exec::Transport& transport) {
    const auto write = [&](Mode mode, const std::vector<std::string>& names, std::uint64_t step) {
      File out = open_file(transport, storage, "out.h5", mode, SetKind{}.options());
      Giver<double> giver;
      std::vector<Variable> variables;
      for (const std::string& name : names) {
        const VariableOptions options{.steps = true, .partial = true};
        const auto known = out.variables();
        const bool is_known =
            std::any_of(known.begin(), known.end(), [&](const auto& v) { return v.name == name; });
        variables.push_back(is_known ? out.find(name) : out.define<double>(name, shape, options));
      }
      Step now = out.begin_step();
      for (std::size_t i = 0; i < names.size(); ++i) {
        const auto key = static_cast<std::uint64_t>(names[i][0]) + step;
        giver.put(now, variables[i], key, shape, slab(shape, transport.rank(), 2));
      }
      now.end();
      out.close();
    };
    write(Mode::write, {"m", "z"}, 0);
    File in = open_file(transport, storage, "out.h5", Mode::read, {});
    const Variable m = in.find("m");
    write(Mode::append, {"a", "m", "z"}, 1);
    in.refresh();
    EXPECT_EQ(in.find("m").index(), m.index());
    for (const std::string name : {"a", "m", "z"}) {
      expect_values<double>(in, name, static_cast<std::uint64_t>(name[0]) + 1, shape,
                            whole_box(shape), 1);
    }
  });
}

TEST(Append, CommittedFixedVariablesAreNotWrittenAgain) {
  const auto storage = storage::make_memory();
  const double value = 1;
  on_ranks(1, [&](exec::Transport& transport) {
    File out = open_file(transport, storage, "out.h5", Mode::write, SetKind{}.options());
    out.put(out.define<double>("fixed", {1}), &value);
    out.close();
  });
  expect_everywhere(errors_on_ranks(2,
                                    [&](exec::Transport& transport) {
                                      File out = open_file(transport, storage, "out.h5",
                                                           Mode::append, SetKind{}.options());
                                      const Variable v = out.define<double>("fixed", {1});
                                      if (transport.rank() == 0) {
                                        out.put(v, &value);
                                      }
                                      out.close();
                                    }),
                    Code::unsupported, {"out.h5", "fixed", "earlier commit"});
}

TEST(Append, APlainFileAndASetAreNotMixed) {
  const auto storage = storage::make_memory();
  Options plain;
  plain.strategy = "shared";
  plain.durability = Durability::none;
  write_set(2, storage, "plain.h5", plain, {});
  write_set(2, storage, "set.h5", SetKind{}.options(), {});
  auto append = [&](const std::string& path, const Options& options) {
    return errors_on_ranks(2, [&](exec::Transport& transport) {
      open_file(transport, storage, path, Mode::append, options).close();
    });
  };
  expect_everywhere(append("plain.h5", SetKind{}.options()), Code::format,
                    {"plain.h5", "one plain file"});
  expect_everywhere(append("set.h5", plain), Code::unsupported, {"set.h5", "file-per-process"});
}

TEST(Append, PartsMayLieInSeveralFolders) {
  const storage::Scratch scratch;
  const auto storage = storage::make("posix");
  std::uint64_t first = 0;
  for (const char* folder : {"a", "b", ""}) {
    Options options = SetKind{}.options();
    options.parts_dir = *folder == '\0' ? "" : scratch / folder;
    on_ranks(2, [&](exec::Transport& transport) {
      File out = open_file(transport, storage, scratch / "out.h5",
                           first == 0 ? Mode::write : Mode::append, options);
      Steps{.first = first, .steps = 1, .slabs = true}.write(out, transport);
      out.close();
    });
    ++first;
  }
  const auto paths = part_paths(*storage, scratch / "out.h5");
  ASSERT_EQ(paths.size(), 6u);
  std::size_t number = 0;
  for (const char* folder : {"a/", "b/", ""}) {
    EXPECT_TRUE(paths[number].starts_with(scratch / folder + "out.h5.parts/")) << paths[number];
    number += 2;
  }
  expect_set(3, storage, scratch / "out.h5", {.steps = 3});
}

}  // namespace
}  // namespace sluice::test
