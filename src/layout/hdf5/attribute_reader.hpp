// The attributes of a file, its groups and its variables, in the order of their owners; those of
// times and iterations last.
//
// Invariants: what netCDF, dimension scales and this library keep for themselves is not returned.
// An attribute that cannot be represented is reported as unread, and so is one that cannot be read,
// unless the last commit says that it is Sluice's: then an Error is thrown.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "layout/catalog.hpp"
#include "layout/hdf5/open_file.hpp"

namespace sluice::layout::hdf5 {

class AttributeReader {
 public:
  /// `groups`: without the library's own. All must outlive the object.
  AttributeReader(const OpenFile& file, const std::vector<StoredVariable>& variables,
                  const std::vector<std::string>& groups)
      : file_(file), variables_(variables), groups_(groups) {}

  /// Adds to `unread` what is not returned, or not unchanged: owner and name, and why.
  std::vector<model::Attribute> read(std::vector<UnreadableDataset>& unread) const;
  /// Has the object at `path` any that Sluice does not keep for itself?
  bool has_any(const std::string& path) const;
  /// Path of the object that has the attributes of `owner`; "" if there is none (a group above a
  /// variable in the grouped form).
  std::string object_of(const std::string& owner) const;

 private:
  struct Lists {
    std::vector<model::Attribute>& attributes;
    std::vector<UnreadableDataset>& unread;
  };
  /// Variables that have an object in the group of each step.
  std::unordered_set<std::string_view> in_steps() const;
  std::string object_of(const std::string& owner,
                        const std::unordered_set<std::string_view>& in_steps) const;
  std::vector<std::string> owners() const;
  void take(const std::string& path, const std::string& owner, const Lists& into) const;
  void take_those_of_times(const Lists& into) const;

  const OpenFile& file_;
  const std::vector<StoredVariable>& variables_;
  const std::vector<std::string>& groups_;
};

}  // namespace sluice::layout::hdf5
