// Variables that were defined with a tile, and never put: they have that tile in every format.
#include <map>

#include "layout/formats.hpp"
#include "layout/local_files.hpp"
#include "layout/stores.hpp"

namespace sluice::test {
namespace {

using model::Dims;

class Untouched : public testing::TestWithParam<const char*> {};

TEST_P(Untouched, HaveTheTileThatWasAskedFor) {
  LocalFiles files;
  const layout::Format& format = layout::format_named(GetParam());
  const std::string path = std::string("file.") + format.name;
  files.run(2, [&](exec::Transport& transport) {
    Options options;
    options.format = format.option;
    File out = files.open(transport, path, Mode::write, options);
    out.define<double>("v", {6, 10}, {.steps = true, .chunk = {3, 5}});
    out.define<double>("wide", {6, 10}, {.steps = true, .chunk = {30, 5}});
    out.define<double>("tight", {6, 10}, {.steps = true, .chunk = {3, 5}, .compress = "deflate:1"});
    out.close();
  });
  const auto file = layout::open_data(*files.storage(), path, storage::Access::read);
  const auto catalog = layout::open_catalog(layout::format_in(*file, "auto"), *file);
  std::map<std::string, std::string> tiles;
  for (const layout::StoredVariable& variable : catalog->variables()) {
    tiles[variable.definition.name] = variable.tile.text();
  }
  tiles.erase(layout::time_name);
  const std::string chosen = Dims{3, 5}.text();
  const std::string bounded = Dims{6, 5}.text();
  const std::map<std::string, std::string> expected{
      {"v", chosen}, {"wide", bounded}, {"tight", chosen}};
  EXPECT_EQ(tiles, expected);
}

INSTANTIATE_TEST_SUITE_P(Formats, Untouched,
                         testing::Values("hdf5", "netcdf4", "vtkhdf", "zarr", "icechunk"));

}  // namespace
}  // namespace sluice::test
