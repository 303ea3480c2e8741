#include "layout/hdf5/elements.hpp"

#include <algorithm>

#include "model/dims.hpp"

namespace sluice::layout::hdf5 {

namespace {

/// What is read into memory as a whole: an attribute, a dataset of references.
constexpr std::uint64_t most_whole_bytes = 256 << 20;
/// What is read at a time of a dataset that is copied by its elements.
constexpr std::uint64_t rows_bytes = 1 << 20;

}  // namespace

Elements::Elements(hid_t type, hid_t space, const std::string& what) : type_(type), space_(space) {
  const hssize_t count = checked(H5Sget_simple_extent_npoints(space), what);
  count_ = static_cast<std::size_t>(count);
  const std::uint64_t bytes = model::checked_product(count_, H5Tget_size(type), "size of elements");
  if (bytes > most_whole_bytes) {
    throw Error(Code::unsupported, what + ": has " + std::to_string(bytes) + " bytes, more than " +
                                       std::to_string(most_whole_bytes));
  }
  bytes_.resize(bytes);
}

Elements::~Elements() {
  if (is_read) {
    H5Dvlen_reclaim(type_, space_, H5P_DEFAULT, bytes_.data());
  }
}

bool holds_elements(hid_t dataset, const std::string& path) {
  const Handle list = own(H5Dget_create_plist(dataset), path);
  const H5D_layout_t layout = H5Pget_layout(list.get());
  checked(layout, path);
  return layout != H5D_VIRTUAL && checked(H5Pget_external_count(list.get()), path) == 0;
}

bool has_text(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_STRING:
      return is_yes(H5Tis_variable_str(type), "type");
    case H5T_COMPOUND:
      for (int m = 0; m < H5Tget_nmembers(type); ++m) {
        const Handle member = own(H5Tget_member_type(type, static_cast<unsigned>(m)), "type");
        if (has_text(member.get())) {
          return true;
        }
      }
      return false;
    case H5T_ARRAY:
    case H5T_VLEN:
      return has_text(own(H5Tget_super(type), "type").get());
    default:
      return false;
  }
}

bool has_lists_in_array(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_COMPOUND:
      for (int m = 0; m < H5Tget_nmembers(type); ++m) {
        const Handle member = own(H5Tget_member_type(type, static_cast<unsigned>(m)), "type");
        if (has_lists_in_array(member.get())) {
          return true;
        }
      }
      return false;
    case H5T_ARRAY:
    case H5T_VLEN: {
      const Handle element = own(H5Tget_super(type), "type");
      const bool is_fault = H5Tget_class(type) == H5T_ARRAY &&
                            H5Tget_class(element.get()) == H5T_COMPOUND &&
                            is_yes(H5Tdetect_class(element.get(), H5T_VLEN), "type");
      return is_fault || has_lists_in_array(element.get());
    }
    default:
      return false;
  }
}

void copy_rows(hid_t old_one, hid_t new_one, const std::string& path) {
  const Handle held = own(H5Dget_type(old_one), path);
  const Handle type = own(H5Tcopy(held.get()), path);
  const Handle space = own(H5Dget_space(old_one), path);
  const int rank = static_cast<int>(checked(H5Sget_simple_extent_ndims(space.get()), path));
  if (checked(H5Sget_simple_extent_npoints(space.get()), path) == 0) {
    return;
  }
  std::vector<hsize_t> dims(static_cast<std::size_t>(std::max(1, rank)), 1);
  check(H5Sget_simple_extent_dims(space.get(), rank == 0 ? nullptr : dims.data(), nullptr), path);
  std::uint64_t row_bytes = H5Tget_size(type.get());
  for (std::size_t d = 1; d < dims.size(); ++d) {
    row_bytes *= dims[d];
  }
  const hsize_t rows = std::max<hsize_t>(1, rows_bytes / std::max<std::uint64_t>(1, row_bytes));
  for (hsize_t first = 0; first < dims[0]; first += rows) {
    std::vector<hsize_t> start(dims.size(), 0);
    std::vector<hsize_t> count = dims;
    start[0] = first;
    count[0] = std::min(rows, dims[0] - first);
    const Handle memory = rank == 0 ? own(H5Scopy(space.get()), path)
                                    : own(H5Screate_simple(rank, count.data(), nullptr), path);
    if (rank != 0) {
      check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(),
                                nullptr),
            path);
    }
    Elements elements(type.get(), memory.get(), path);
    check(H5Dread(old_one, type.get(), memory.get(), space.get(), H5P_DEFAULT, elements.data()),
          path);
    elements.is_read = true;
    check(H5Dwrite(new_one, type.get(), memory.get(), space.get(), H5P_DEFAULT, elements.data()),
          path);
  }
}

}  // namespace sluice::layout::hdf5
