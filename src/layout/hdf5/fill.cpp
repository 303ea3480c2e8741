#include "layout/hdf5/fill.hpp"

#include <algorithm>
#include <vector>

#include "layout/hdf5/types.hpp"
#include "model/fill.hpp"
#include "model/kinds.hpp"

namespace sluice::layout::hdf5 {

namespace {

/// One element as dense file bytes.
std::vector<std::byte> element_of(const model::Definition& definition) {
  std::vector<std::byte> element(definition.type.bytes);
  model::fill(element, definition.type, definition.fill);
  return element;
}

}  // namespace

void set_fill(hid_t creation_list, const model::Definition& definition, hid_t type) {
  // If `type` is a single character of text, all characters are the same (netcdf4/rules).
  check(H5Pset_fill_value(creation_list, type, element_of(definition).data()), definition.name);
}

void read_fill(hid_t creation_list, hid_t type, model::Definition& definition) {
  H5D_fill_value_t state = H5D_FILL_VALUE_UNDEFINED;
  check(H5Pfill_value_defined(creation_list, &state), definition.name);
  if (state != H5D_FILL_VALUE_USER_DEFINED) {
    return;
  }
  definition.partial = true;
  std::vector<std::byte> element(definition.type.bytes);
  check(H5Pget_fill_value(creation_list, type, element.data()), definition.name);
  const std::size_t bytes = H5Tget_size(type);
  if (bytes < element.size()) {
    std::fill(element.begin(), element.end(), element.front());  // of each character
  }
  if (definition.type.kind == Kind::boolean) {
    element.front() = element.front() == std::byte{0} ? std::byte{0} : std::byte{1};
  }
  definition.fill = model::fill_element(element);
}

void write_fill_attribute(hid_t dataset, const model::Definition& definition) {
  if (!model::is_real(definition.type.kind)) {
    return;
  }
  const Handle type = file_type(definition.type);
  const Handle space = dataspace({1});
  const Handle attribute =
      own(H5Acreate2(dataset, "_FillValue", type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
          definition.name);
  check(H5Awrite(attribute.get(), type.get(), element_of(definition).data()), definition.name);
}

}  // namespace sluice::layout::hdf5
