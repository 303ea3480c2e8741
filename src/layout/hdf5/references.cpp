#include "layout/hdf5/references.hpp"

#include <algorithm>
#include <cstring>

#include "layout/hdf5/elements.hpp"
#include "layout/hdf5/links.hpp"

namespace sluice::layout::hdf5 {

namespace {

constexpr const char* what = "reference";

bool is_null(const std::byte* element, std::size_t bytes) {
  return std::all_of(element, element + bytes, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

bool References::has_any(hid_t type) { return is_yes(H5Tdetect_class(type, H5T_REFERENCE), what); }

bool References::translate(hid_t type, std::byte* elements, std::size_t count) const {
  const std::size_t bytes = H5Tget_size(type);
  bool is_complete = true;
  for (std::size_t i = 0; i < count; ++i) {
    is_complete = translate_one(type, elements + i * bytes) && is_complete;
  }
  return is_complete;
}

bool References::translate_one(hid_t type, std::byte* element) const {
  if (!has_any(type)) {
    return true;
  }
  switch (H5Tget_class(type)) {
    case H5T_REFERENCE:
      return translate_reference(type, element);
    case H5T_COMPOUND: {
      bool is_complete = true;
      const auto members = static_cast<unsigned>(checked(H5Tget_nmembers(type), what));
      for (unsigned m = 0; m < members; ++m) {
        const Handle member = own(H5Tget_member_type(type, m), what);
        is_complete =
            translate(member.get(), element + H5Tget_member_offset(type, m), 1) && is_complete;
      }
      return is_complete;
    }
    case H5T_ARRAY: {
      const Handle item = own(H5Tget_super(type), what);
      return translate(item.get(), element, H5Tget_size(type) / H5Tget_size(item.get()));
    }
    case H5T_VLEN: {
      const Handle item = own(H5Tget_super(type), what);
      hvl_t list{};
      std::memcpy(&list, element, sizeof list);
      return translate(item.get(), static_cast<std::byte*>(list.p), list.len);
    }
    default:
      return true;
  }
}

bool References::translate_reference(hid_t type, std::byte* element) const {
  const bool is_object = is_yes(H5Tequal(type, H5T_STD_REF_OBJ), what);
  const bool is_region = !is_object && is_yes(H5Tequal(type, H5T_STD_REF_DSETREG), what);
  const std::size_t bytes = H5Tget_size(type);
  if (is_null(element, bytes)) {
    return true;
  }
  if (!is_object && !is_region) {
    std::memset(element, 0, bytes);
    return false;
  }
  const H5R_type_t kind = is_object ? H5R_OBJECT : H5R_DATASET_REGION;
  const Handle object(H5Rdereference2(from_, H5P_DEFAULT, kind, element));
  if (!object) {
    throw_storage_failure();  // else it leads nowhere
  }
  const std::string name = object ? name_of(object.get()) : "";
  if (name.empty()) {
    std::memset(element, 0, bytes);
    return false;
  }
  Handle region;
  if (is_region) {
    region = own(H5Rget_region(from_, kind, element), what);
  }
  check(H5Rcreate(element, into_, name.c_str(), kind, is_region ? region.get() : -1), what);
  return true;
}

bool References::translate_elements(const std::string& path) const {
  const Handle old_dataset = own(H5Dopen2(from_, path.c_str(), H5P_DEFAULT), path);
  const Handle new_dataset = own(H5Dopen2(into_, path.c_str(), H5P_DEFAULT), path);
  const Handle held = own(H5Dget_type(old_dataset.get()), path);
  if (!has_any(held.get()) || !holds_elements(new_dataset.get(), path)) {
    return true;
  }
  const Handle type = own(H5Tcopy(held.get()), path);
  const Handle space = own(H5Dget_space(old_dataset.get()), path);
  Elements elements(type.get(), space.get(), path);
  if (elements.count() == 0) {
    return true;
  }
  check(H5Dread(old_dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.data()),
        path);
  elements.is_read = true;
  const bool is_complete = translate(type.get(), elements.data(), elements.count());
  check(H5Dwrite(new_dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.data()),
        path);
  return is_complete;
}

std::string References::name_of(hid_t object) const {
  const auto found = names_.find(facts_of(object, ".").identity);
  if (found == names_.end() || (!found->second.empty() && !has_link(into_, found->second))) {
    return "";  // also what was left out
  }
  return "/" + found->second;
}

}  // namespace sluice::layout::hdf5
