#include "layout/hdf5/log.hpp"

#include <algorithm>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/handle.hpp"
#include "layout/hdf5/types.hpp"
#include "layout/netcdf4/rules.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::hdf5 {

bool is_own_attribute(const std::string& name) {
  const bool is_of_images = name == "CLASS" || name == "NAME";
  return (netcdf4::is_bookkeeping(name) && !is_of_images) || name == varying_attribute ||
         name == step_rows_attribute;
}

void write_version(hid_t group) {
  write_attribute(group, version_attribute, std::int32_t{format_major});
  write_attribute(group, "format_minor", std::int32_t{format_minor});
  write_attribute(group, "written_by", std::string("Sluice"));
}

bool has_log(hid_t file, const std::string& path) {
  const QuietErrors quiet;
  const std::string what = path + ": /" + group_name;
  if (!is_yes(H5Lexists(file, group_name, H5P_DEFAULT), what)) {
    return false;
  }
  const Handle group = own(H5Oopen(file, group_name, H5P_DEFAULT), what);
  if (H5Iget_type(group.get()) != H5I_GROUP) {
    return false;
  }
  const bool has_version = is_yes(H5Aexists(group.get(), version_attribute), what);
  if (has_version && !is_yes(H5Lexists(file, commits_name, H5P_DEFAULT), what)) {
    throw Error(Code::damaged, what + " has no log of commits");
  }
  // A program that copies dataset by dataset leaves all attributes of the group behind.
  if (!has_version && is_yes(H5Aexists(group.get(), contents_attribute), what)) {
    throw Error(Code::damaged, what + " has no format version");
  }
  return has_version;
}

std::string step_group(std::uint64_t step) {
  std::string number = std::to_string(step);
  number.insert(0, 6 - std::min<std::size_t>(6, number.size()), '0');
  return step_group_prefix + number;
}

bool is_step_group(const std::string& name) {
  const std::string prefix = step_group_prefix;
  return name.rfind(prefix, 0) == 0 && name.size() >= prefix.size() + 6 &&
         name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
}

}  // namespace sluice::layout::hdf5
