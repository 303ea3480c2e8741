// HDF5 files number their variables in the order in which they were defined.
#include "layout/local_files.hpp"

namespace sluice::test {
namespace {

struct Form {
  std::string path;
  std::string layout;
  std::uint64_t split_steps = 0;
};

class Order : public testing::TestWithParam<Form> {
 public:
  using Names = std::vector<std::string>;

  void write(Mode mode, const Names& names) {
    files.run(2, [&](exec::Transport& transport) {
      Options options;
      options.hdf5_layout = GetParam().layout;
      options.split_steps = GetParam().split_steps;
      File out = files.open(transport, GetParam().path, mode, options);
      std::vector<Variable> variables;
      for (const std::string& name : names) {
        variables.push_back(out.define<double>(name, {4}, {.steps = true, .partial = true}));
      }
      Step step = out.begin_step({.time = 1.5});
      for (std::size_t v = 0; v < names.size(); ++v) {
        const double value = static_cast<double>(names[v].size() + v);
        const auto at = static_cast<std::uint64_t>(transport.rank());
        step.put(variables[v], &value, {.start = {at}, .count = {1}});
      }
      step.end();
      out.close();
    });
  }

  void expect(const Names& names) {
    files.run(1, [&](exec::Transport& transport) {
      File in = files.open(transport, GetParam().path, Mode::read);
      Names found;
      for (const VariableInfo& info : in.variables()) {
        found.push_back(info.name);
        EXPECT_EQ(in.find(info.name).index(), found.size() - 1);
      }
      if (found.size() > names.size()) {  // what the writer has no number for
        EXPECT_EQ(found.back(), "time");
        found.pop_back();
      }
      EXPECT_EQ(found, names);
    });
  }

  LocalFiles files;
};

// More names than a group keeps in its header, where their order is that of the hashes.
TEST_P(Order, IsThatOfDefinitionAlsoOfWhatIsAppended) {
  const Names names{"zeta", "u", "alpha", "m", "b", "k", "y", "c", "x", "d", "w", "e"};
  write(Mode::write, names);
  expect(names);
  Names more = names;
  more.insert(more.end(), {"t", "a"});
  write(Mode::append, more);
  expect(more);
}

TEST_P(Order, IsThatOfDefinitionWithinAGroup) {
  const Names names{"g/z", "g/b", "g/y", "b", "a"};
  write(Mode::write, names);
  expect(names);
}

INSTANTIATE_TEST_SUITE_P(Forms, Order,
                         testing::Values(Form{"o.h5", "stacked"}, Form{"o.h5", "grouped"},
                                         Form{"o.nc", "stacked"}, Form{"o.h5", "stacked", 1},
                                         Form{"o.nc", "stacked", 1}));

}  // namespace
}  // namespace sluice::test
