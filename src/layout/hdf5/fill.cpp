#include "layout/hdf5/fill.hpp"

#include <vector>

#include "layout/hdf5/types.hpp"

namespace sluice::layout::hdf5 {

namespace {

bool is_number(const Type& type) {
  return type.kind != Kind::string && type.kind != Kind::boolean && type.kind != Kind::c64 &&
         type.kind != Kind::c128;
}

}  // namespace

void set_fill(hid_t creation_list, const model::Definition& definition, hid_t type) {
  if (is_number(definition.type)) {
    check(H5Pset_fill_value(creation_list, H5T_NATIVE_DOUBLE, &definition.fill), definition.name);
    return;
  }
  const std::vector<std::byte> zeros(definition.type.bytes);
  check(H5Pset_fill_value(creation_list, type, zeros.data()), definition.name);
}

void write_fill_attribute(hid_t dataset, const model::Definition& definition) {
  if (!is_number(definition.type)) {
    return;
  }
  const Handle type = file_type(definition.type);
  const Handle space = dataspace({1});
  const Handle attribute =
      own(H5Acreate2(dataset, "_FillValue", type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
          definition.name);
  check(H5Awrite(attribute.get(), H5T_NATIVE_DOUBLE, &definition.fill), definition.name);
}

}  // namespace sluice::layout::hdf5
