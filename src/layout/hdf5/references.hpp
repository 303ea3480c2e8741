// Translates references of one HDF5 file into those of another, inside elements of any type.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "layout/hdf5/handle.hpp"

namespace sluice::layout::hdf5 {

class References {
 public:
  /// `names`: of the objects of the new file, by their identity in the old one. All must outlive
  /// the object.
  References(hid_t from, hid_t into, const std::map<std::string, std::string>& names)
      : from_(from), into_(into), names_(names) {}

  static bool has_any(hid_t type);
  /// `count` elements of `type` in memory, as libhdf5 read them from the old file. False if a
  /// reference has no target in the new file: it is a null reference then.
  bool translate(hid_t type, std::byte* elements, std::size_t count) const;
  /// Those of a dataset that both files have, if it has any. False as above. Error if its elements
  /// cannot be read or written, unsupported if they have more than 256 MiB.
  bool translate_elements(const std::string& path) const;

 private:
  bool translate_one(hid_t type, std::byte* element) const;
  bool translate_reference(hid_t type, std::byte* element) const;
  /// The name in the new file; "" if there is none.
  std::string name_of(hid_t object) const;

  hid_t from_;
  hid_t into_;
  const std::map<std::string, std::string>& names_;
};

}  // namespace sluice::layout::hdf5
