// The names in an HDF5 file, and what each leads to.
//
// Invariants: a group is entered once for each name that it has, but never inside itself; what is
// met again under further names is bounded, so that no file can make the walk long. Nothing outside
// the file is opened: an external link is told, not followed.
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
  external,    ///< another file's, or of a kind that only another program follows
  nothing,     ///< a soft link whose object is not there
  unreadable,  ///< libhdf5 cannot say what it is
};

struct NamedLink {
  std::string path;  ///< from the root, without leading slash
  Target target = Target::nothing;
  bool is_soft = false;
  bool is_below_soft = false;  ///< it, or a group of its path, is a soft link
  std::string identity;        ///< the same for all names of one object, and for no other's
  std::string why;             ///< of the last three targets: in words
};

/// What a name leads to; soft links are followed.
struct ObjectFacts {
  Target target = Target::unreadable;
  std::string identity;
  std::string why;  ///< where it cannot be told
};
/// Error where the storage failed.
ObjectFacts facts_of(hid_t file, const std::string& path);

/// All names below `group` ("" is the root), a group before what it holds, in the file's order.
/// What `skips` says yes to is left out, with everything below it.
std::vector<NamedLink> links_below(hid_t file, const std::string& group,
                                   const std::function<bool(const std::string& path)>& skips);

/// Makes the soft or external link `path` of one file in another.
void copy_link(hid_t from, hid_t into, const std::string& path);

/// Makes the group `path`, empty, with what the one of the other file keeps: the order of its links
/// and attributes, and times.
void make_group_like(hid_t from, hid_t into, const std::string& path);

/// What `below` is called under `above`, which may be "".
std::string joined(const std::string& above, const std::string& below);

}  // namespace sluice::layout::hdf5
