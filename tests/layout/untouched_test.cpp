// Variables that were defined and never put: they have the tile that was asked for in every format,
// or else that of a variable which one rank puts.
#include <map>

#include "layout/formats/formats.hpp"
#include "layout/formats/stores.hpp"
#include "layout/local_files.hpp"

namespace sluice::test {
namespace {

using model::Dims;

class Untouched : public testing::TestWithParam<const char*> {
 protected:
  /// The tiles of all variables of a file, as text.
  std::map<std::string, std::string> tiles(const std::string& path) {
    const auto file = layout::open_data(*files_.storage(), path, storage::Access::read);
    const auto catalog = layout::open_catalog(layout::format_in(*file, "auto"), *file);
    std::map<std::string, std::string> found;
    for (const layout::StoredVariable& variable : catalog->variables()) {
      found[variable.definition.name] = variable.tile.text();
    }
    found.erase(layout::time_name);
    return found;
  }

  const layout::Format& format_ = layout::format_named(GetParam());
  const std::string path_ = std::string("file.") + format_.name;
  LocalFiles files_;
};

TEST_P(Untouched, HaveTheTileThatWasAskedFor) {
  files_.run(2, [&](exec::Transport& transport) {
    Options options;
    options.format = format_.option;
    File out = files_.open(transport, path_, Mode::write, options);
    out.define<double>("v", {6, 10}, {.steps = true, .chunk = {3, 5}});
    out.define<double>("wide", {6, 10}, {.steps = true, .chunk = {30, 5}});
    out.define<double>("tight", {6, 10}, {.steps = true, .chunk = {3, 5}, .compress = "deflate:1"});
    out.close();
  });
  const std::string chosen = Dims{3, 5}.text();
  const std::string bounded = Dims{6, 5}.text();
  const std::map<std::string, std::string> expected{
      {"v", chosen}, {"wide", bounded}, {"tight", chosen}};
  EXPECT_EQ(tiles(path_), expected);
}

TEST_P(Untouched, HaveNoLargerTileThanThoseThatArePut) {
  const Shape shape{4096, 1024};  // 32 MiB, more than the tiles of some formats may have
  const std::vector<double> values(4096 * 1024, 1.5);
  files_.run(1, [&](exec::Transport& transport) {
    Options options;
    options.format = format_.option;
    File out = files_.open(transport, path_, Mode::write, options);
    const Variable fixed = out.define<double>("fixed", shape);
    out.define<double>("fixed_never", shape, {.partial = true});
    const Variable stepped = out.define<double>("stepped", shape, {.steps = true});
    out.define<double>("stepped_never", shape, {.steps = true, .partial = true});
    const Variable varying = out.define<double>("varying", shape, {.steps = true, .varying = true});
    out.define<double>("varying_never", shape, {.steps = true, .partial = true, .varying = true});
    out.put(fixed, values.data());
    Step step = out.begin_step();
    step.put(stepped, values.data());
    step.put(varying, values.data());
    step.end();
    out.close();
  });
  std::map<std::string, std::string> found = tiles(path_);
  for (const std::string name : {"fixed", "stepped", "varying"}) {
    EXPECT_FALSE(found[name].empty()) << name;
    EXPECT_EQ(found[name + "_never"], found[name]) << name;
  }
}

TEST_P(Untouched, HaveTilesOfFewRowsWhereRowsVary) {
  files_.run(1, [&](exec::Transport& transport) {
    Options options;
    options.format = format_.option;
    File out = files_.open(transport, path_, Mode::write, options);
    out.define<double>("v", {4096, 1024}, {.steps = true, .varying = true});
    out.close();
  });
  EXPECT_EQ(tiles(path_)["v"], (Dims{512, 1024}.text()));  // 4 MiB
}

INSTANTIATE_TEST_SUITE_P(Formats, Untouched,
                         testing::Values("hdf5", "netcdf4", "vtkhdf", "zarr", "icechunk"));

}  // namespace
}  // namespace sluice::test
