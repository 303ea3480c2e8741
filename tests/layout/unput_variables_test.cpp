// Variables that are defined and not put yet: the file is whole for readers beside the writer.
#include "commit/tools/verify.hpp"
#include "layout/local_files.hpp"

namespace sluice::test {
namespace {

struct Form {
  const char* name;
  const char* format;
  const char* arrangement;
};

class UnputVariables : public testing::TestWithParam<Form> {
 public:
  Options options() const {
    Options chosen;
    chosen.format = GetParam().format;
    if (chosen.format == "hdf5") {
      chosen.hdf5_layout = GetParam().arrangement;
    }
    return chosen;
  }

  static void put_step(File& out, double value) {
    const std::vector<double> values(4, value);
    Step step = out.begin_step({.time = value});
    step.put(out.find("y"), values.data());
    step.end();
  }

  /// All steps are there, and nothing is damaged.
  void expect_whole(exec::Transport& transport, std::uint64_t steps) {
    EXPECT_EQ(commit::verify(transport, *files.storage(), "f").finding_count, 0U);
    File in = files.open(transport, "f", Mode::read);
    ASSERT_EQ(in.steps(), steps);
    for (std::uint64_t s = 0; s < steps; ++s) {
      std::vector<double> got(4);
      in.get(in.find("y"), got.data(), {}, s);
      EXPECT_EQ(got, std::vector<double>(4, static_cast<double>(s)));
    }
  }

  LocalFiles files;
};

TEST_P(UnputVariables, LeaveTheFileWhole) {
  files.run(1, [&](exec::Transport& transport) {
    File out = files.open(transport, "f", Mode::write, options());
    const Variable mask = out.define<std::int16_t>("mask", {3}, {.fill = -1});
    out.define<std::int16_t>("none", {0}, {.steps = true, .fill = 7});
    out.define<double>("y", {4}, {.steps = true});
    put_step(out, 0);
    expect_whole(transport, 1);
    put_step(out, 1);
    expect_whole(transport, 2);
    const std::vector<std::int16_t> values(3, 5);
    out.put(mask, values.data());
    out.flush();
    expect_whole(transport, 2);
    out.close();
    expect_whole(transport, 2);
  });
}

INSTANTIATE_TEST_SUITE_P(Formats, UnputVariables,
                         testing::Values(Form{"stacked", "hdf5", "stacked"},
                                         Form{"grouped", "hdf5", "grouped"},
                                         Form{"netcdf4", "netcdf4", ""},
                                         Form{"openpmd", "openpmd", ""},
                                         Form{"vtkhdf", "vtkhdf", ""}, Form{"zarr", "zarr", ""}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace sluice::test
