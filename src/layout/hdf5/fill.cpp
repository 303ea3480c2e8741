#include "layout/hdf5/fill.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "layout/hdf5/types.hpp"
#include "model/fill.hpp"
#include "model/fill_attribute.hpp"
#include "model/kinds.hpp"

namespace sluice::layout::hdf5 {

namespace {

constexpr const char* attribute_name = model::fill_attribute_name;

/// One element as dense file bytes.
std::vector<std::byte> element_of(const model::Definition& definition) {
  std::vector<std::byte> element(definition.type.bytes);
  model::fill(element, definition.type, definition.fill);
  return element;
}

bool is_uint64(hid_t type) {
  const auto known = stored_type(type);
  return known && known->type.kind == Kind::u64;
}

/// What the attribute _FillValue says where it is one number of uint64.
std::optional<std::uint64_t> said_in_uint64(hid_t dataset) {
  const Handle held = own(H5Aopen(dataset, attribute_name, H5P_DEFAULT), attribute_name);
  const Handle space = own(H5Aget_space(held.get()), attribute_name);
  const Handle type = own(H5Aget_type(held.get()), attribute_name);
  if (!is_uint64(type.get()) ||
      checked(H5Sget_simple_extent_npoints(space.get()), attribute_name) != 1) {
    return std::nullopt;
  }
  std::uint64_t said = 0;
  check(H5Aread(held.get(), H5T_NATIVE_UINT64, &said), attribute_name);
  return said;
}

/// Is that above those of int64? Attributes hold none.
bool is_beyond_attributes(hid_t dataset) {
  return said_in_uint64(dataset).value_or(0) > std::numeric_limits<std::int64_t>::max();
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

void forget_unasked_fill(hid_t dataset, model::Definition& definition) {
  if (!definition.partial || !model::is_real(definition.type.kind)) {
    return;
  }
  const bool is_said = is_yes(H5Aexists(dataset, attribute_name), definition.name);
  const bool is_unasked =
      is_said ? is_beyond_attributes(dataset) && !is_large_fill(dataset, attribute_name)
              : definition.type.kind == Kind::u64 &&
                    definition.fill ==
                        *model::fill_bytes(model::netcdf_fill_of_uint64, definition.type);
  if (is_unasked) {
    definition.partial = false;  // its fill value stays what absent chunks read as
  }
}

bool is_large_fill(hid_t object, const std::string& attribute) {
  if (attribute != attribute_name || H5Iget_type(object) != H5I_DATASET) {
    return false;
  }
  const Handle list = own(H5Dget_create_plist(object), attribute);
  const Handle stored = own(H5Dget_type(object), attribute);
  H5D_fill_value_t state = H5D_FILL_VALUE_UNDEFINED;
  check(H5Pfill_value_defined(list.get(), &state), attribute);
  if (state != H5D_FILL_VALUE_USER_DEFINED || !is_uint64(stored.get())) {
    return false;
  }
  std::uint64_t fill = 0;
  check(H5Pget_fill_value(list.get(), H5T_NATIVE_UINT64, &fill), attribute);
  return said_in_uint64(object) == fill;
}

void write_fill_attribute(hid_t dataset, const model::Definition& definition) {
  if (!model::is_real(definition.type.kind)) {
    return;
  }
  const Handle type = file_type(definition.type);
  const Handle space = dataspace({1});
  const Handle attribute =
      own(H5Acreate2(dataset, attribute_name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
          definition.name);
  check(H5Awrite(attribute.get(), type.get(), element_of(definition).data()), definition.name);
}

}  // namespace sluice::layout::hdf5
