// What another program added to a file and Sluice cannot read: it is listed, and what is beside it
// is read as if it were not there.
#include <algorithm>
#include <gtest/gtest.h>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/catalog.hpp"
#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/driver.hpp"
#include "layout/hdf5/types.hpp"
#include "layout/local_files.hpp"

namespace sluice::layout::hdf5 {
namespace {

const std::vector<double> numbers{1, 2, 3, 4, 5, 6};

/// Text as netCDF stores it, with a list of dimensions that is none; then numbers that only libhdf5
/// reads.
void add_text_and_numbers(storage::File& file) {
  DriverState state;
  state.file = &file;
  state.writable = true;
  state.is_direct = true;
  const Handle access = access_list(state);
  const Handle hdf5 = own(H5Fopen(file.path().c_str(), H5F_ACC_RDWR, access.get()), file.path());
  const Handle character = file_type(string_type(1));
  const Handle text =
      create_dataset(hdf5.get(), "a_text", character.get(), dataspace({3, 5}).get(), H5P_DEFAULT);
  write_attribute(text.get(), text_attribute, std::string(text_encoding));
  write_attribute(text.get(), "DIMENSION_LIST", std::int32_t{1});
  const Handle list = own(H5Pcreate(H5P_DATASET_CREATE), "list");
  check(H5Pset_layout(list.get(), H5D_COMPACT), "list");
  const Handle dataset =
      create_dataset(hdf5.get(), "b_numbers", H5T_IEEE_F64LE, dataspace({3, 2}).get(), list.get());
  check(H5Dwrite(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()),
        "b_numbers");
}

TEST(Unreadable, TextDoesNotChangeTheVariableAfterIt) {
  test::LocalFiles files;
  files.run(1, [&](exec::Transport& transport) {
    File out = files.open(transport, "f.nc", Mode::write);
    const Variable x = out.define<double>("x", {2}, {.steps = true});
    const std::vector<double> values(2, 1.0);
    Step step = out.begin_step();
    step.put(x, values.data(), {.start = {0}, .count = {2}});
    step.end();
    out.close();
  });
  const auto file = files.storage()->open("f.nc", storage::Access::read_write);
  add_text_and_numbers(*file);
  const auto catalog = Catalog::open(*file);
  ASSERT_EQ(catalog->profile(), Profile::netcdf4);
  ASSERT_EQ(catalog->unreadable().size(), 1U);
  EXPECT_EQ(catalog->unreadable()[0].name, "a_text");
  const auto& variables = catalog->variables();
  const auto found = std::find_if(variables.begin(), variables.end(), [](const auto& variable) {
    return variable.definition.name == "b_numbers";
  });
  ASSERT_NE(found, variables.end());
  std::vector<double> read(numbers.size());
  catalog->read(static_cast<std::uint32_t>(found - variables.begin()), 0,
                {model::Dims{0, 0}, model::Dims{3, 2}}, std::as_writable_bytes(std::span(read)));
  EXPECT_EQ(read, numbers);
}

}  // namespace
}  // namespace sluice::layout::hdf5
