#include "layout/hdf5/carried_scales.hpp"

#include <algorithm>

#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/links.hpp"

namespace sluice::layout::hdf5 {

bool CarriedScales::is_unused(const std::string& path,
                              const std::function<std::vector<std::string>()>& others) {
  if (!is_netcdf_) {
    return false;
  }
  const Handle dataset = own(H5Dopen2(from_, path.c_str(), H5P_DEFAULT), path);
  if (!is_plain_scale(dataset.get())) {
    return false;
  }
  if (!used_) {
    used_ = scales_of(old_names_, from_, others());
  }
  return used_->count(path) == 0;
}

bool CarriedScales::attach(const std::string& path, bool is_written) {
  const Handle old_one = own(H5Dopen2(from_, path.c_str(), H5P_DEFAULT), path);
  const Handle new_one = own(H5Dopen2(into_, path.c_str(), H5P_DEFAULT), path);
  const std::vector<std::string> labels = dimension_labels(new_one.get());
  const bool has_own = is_attached(new_one.get(), path);
  // The names of a variable's dimensions are part of what Sluice has committed: where it has no
  // labels, they would come from the scales.
  if ((has_own && is_netcdf_) || (is_written && labels.empty())) {
    return true;
  }
  const auto detach = [&] {
    if (has_own) {
      const auto left = scales_.detach(into_, new_one.get(), path);
      detached_.insert(left.begin(), left.end());
    }
  };
  if (is_scale(old_one.get())) {
    if (is_scale(new_one.get())) {
      detach();  // a scale has none itself
    }
    return true;
  }
  if (!is_attached(old_one.get(), path)) {
    return true;
  }
  const auto names = dimension_names(old_names_, old_one.get(), path);
  if (has_own && (names.empty() || names == labels)) {
    return true;
  }
  const bool has_all =
      !names.empty() && std::all_of(names.begin(), names.end(),
                                    [&](const std::string& name) { return scales_.has(name); });
  if (has_all) {
    detach();
    scales_.attach(into_, new_one.get(), path, names);
  }
  return has_all;
}

void CarriedScales::finish() {
  for (const std::string& path : detached_) {
    if (scales_.has_plain(path) && !scales_.is_used(path) && !has_link(from_, path)) {
      scales_.remove(into_, path);
    }
  }
  if (is_netcdf_) {
    scales_.number(into_);
  }
  scales_.seal(into_);
}

}  // namespace sluice::layout::hdf5
