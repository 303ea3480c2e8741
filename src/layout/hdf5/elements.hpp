// Elements of any type of HDF5 in memory, and copied from one dataset into another by libhdf5.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "layout/hdf5/handle.hpp"

namespace sluice::layout::hdf5 {

/// Elements of any type in memory, with what libhdf5 allocated for them.
class Elements {
 public:
  /// Error unsupported where they have more than 256 MiB. Both ids must outlive the object.
  Elements(hid_t type, hid_t space, const std::string& what);
  ~Elements();
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  std::byte* data() { return bytes_.data(); }
  std::size_t count() const { return count_; }
  bool is_read = false;

 private:
  hid_t type_;
  hid_t space_;
  std::size_t count_ = 0;
  std::vector<std::byte> bytes_;
};

/// Are the elements in the dataset itself? libhdf5 writes those of a virtual dataset to its
/// sources, and those of one with external files to these, by its own calls of the system.
bool holds_elements(hid_t dataset, const std::string& path);
/// Is there text of variable length in the type?
bool has_text(hid_t type);
/// Is there an array of compounds with lists in the type? libhdf5 1.10 reads all lists of such an
/// array but the first element's wrongly, by H5Dread and by H5Ocopy.
bool has_lists_in_array(hid_t type);
/// Copies all elements of one dataset into another of the same shape, by its own type in memory,
/// which is what libhdf5 needs for elements that lie elsewhere; about 1 MiB at a time.
void copy_rows(hid_t old_one, hid_t new_one, const std::string& path);

}  // namespace sluice::layout::hdf5
