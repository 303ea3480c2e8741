// The names in an HDF5 file, and their targets.
//
// Invariants: a group is entered once for each of its names, but never inside itself; repeated
// visits under further names are bounded, so that no file can make the walk long. Nothing outside
// the file is opened: an external link is reported, not followed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "layout/hdf5/handle.hpp"

namespace sluice::layout::hdf5 {

enum class Target : std::uint8_t {
  dataset,
  group,
  datatype,
  external,    ///< in another file, or a kind that only another program follows
  nothing,     ///< a soft link without an object
  unreadable,  ///< libhdf5 cannot determine it
};

struct NamedLink {
  std::string path;  ///< from the root, without leading slash
  Target target = Target::nothing;
  bool is_soft = false;
  bool is_below_soft = false;  ///< it, or a group of its path, is a soft link
  std::string identity;        ///< the same for all names of one object, and for no other's
  std::string why;             ///< of the last three targets: in words
};

/// Of the attributes of an object.
std::vector<std::string> attribute_names(hid_t object, const std::string& what);

/// The target of a name; soft links are followed.
struct ObjectFacts {
  Target target = Target::unreadable;
  std::string identity;
  std::string why;  ///< if the target cannot be determined
};
/// Error if the storage failed.
ObjectFacts facts_of(hid_t file, const std::string& path);

/// All names below `group` ("" is the root), a group before its content. Within a group in order of
/// creation where the file keeps it, otherwise by name.
/// Names for which `skips` returns true are left out, with everything below them.
std::vector<NamedLink> links_below(hid_t file, const std::string& group,
                                   const std::function<bool(const std::string& path)>& skips);

/// Creates the soft or external link `path` of one file in another.
void copy_link(hid_t from, hid_t into, const std::string& path);

/// Creates the group `path`, empty, with the properties of the one in the other file: the order of
/// links and attributes, and times.
void make_group_like(hid_t from, hid_t into, const std::string& path);

/// A creation list, of a file or of groups (`kind`), which list their links in the order in which
/// they were made.
Handle ordered_list(hid_t kind);

/// Creates the groups above `path`, those that are missing, by the creation list `list`.
void make_groups_above(hid_t file, const std::string& path, hid_t list);

/// Commits the type `path` as the other file has it, without attributes.
void commit_type_like(hid_t from, hid_t into, const std::string& path);

/// Copies the object `path` by libhdf5, without attributes.
void copy_object(hid_t from, hid_t into, const std::string& path);

/// The name of `below` under `above`, which may be "".
std::string joined(const std::string& above, const std::string& below);

}  // namespace sluice::layout::hdf5
