#include "layout/hdf5/carried_scales.hpp"

#include <algorithm>

#include "layout/hdf5/dataset_facts.hpp"
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

namespace {

/// Is there a dataset at `path` for which `is_kind` holds?
template <class Kind>
bool is_dataset(hid_t file, const std::string& path, const Kind& is_kind) {
  return facts_of(file, path).target == Target::dataset &&
         is_kind(own(H5Dopen2(file, path.c_str(), H5P_DEFAULT), path).get());
}

}  // namespace

bool CarriedScales::is_displaced(const std::string& path) const {
  const auto is_like_it = [&](hid_t dataset) {
    return is_plain_scale(dataset) || (is_scale(dataset) && dims_of(dataset, path).rank() == 1);
  };
  return is_dataset(into_, path, is_plain_scale) && !is_dataset(from_, path, is_like_it);
}

bool CarriedScales::make_room(const std::string& path) {
  const auto has_values = [](hid_t dataset) {
    return is_scale(dataset) && !is_plain_scale(dataset);
  };
  if (!is_dataset(into_, path, is_plain_scale) || !is_dataset(from_, path, has_values)) {
    return false;
  }
  if (replaced_.empty()) {
    scales_.load(into_);
    note_attached();
  }
  netcdf4::Use use = *scales_.find(path);
  use.name = path;
  scales_.remove(into_, path);
  replaced_.push_back(std::move(use));
  return true;
}

void CarriedScales::note_attached() {
  ReferencedNames names(into_);
  for (const std::string& path : dataset_paths(into_)) {
    const Handle dataset = own(H5Dopen2(into_, path.c_str(), H5P_DEFAULT), path);
    if (is_attached(dataset.get(), path)) {
      attached_.emplace(path, dimension_names(names, dataset.get(), path));
    }
  }
}

void CarriedScales::load() {
  std::vector<netcdf4::Use> missing;
  for (const netcdf4::Use& use : replaced_) {
    if (has_link(into_, use.name)) {
      const Handle scale = own(H5Dopen2(into_, use.name.c_str(), H5P_DEFAULT), use.name);
      lengthen(scale.get(), use.name, {use.size});
    } else {
      missing.push_back(use);  // the other one could not be copied
    }
  }
  scales_.load(into_);
  for (const netcdf4::Use& use : missing) {
    scales_.make_plain(into_, use.name, use);
  }
  for (const auto& [path, names] : attached_) {
    const Handle dataset = own(H5Dopen2(into_, path.c_str(), H5P_DEFAULT), path);
    if (!is_attached(dataset.get(), path)) {
      scales_.attach(into_, dataset.get(), path, names);
    }
  }
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
    if (is_netcdf_) {
      lengthen(new_one.get(), path, lengths_of(names));
    }
  }
  return has_all;
}

/// An unlimited dataset may be shorter than its dimensions, which are fixed now.
void CarriedScales::lengthen(hid_t dataset, const std::string& path,
                             const model::Dims& least) const {
  const Handle space = own(H5Dget_space(dataset), path);
  const Extents extents = extents_of(space.get());
  model::Dims dims = extents.dims;
  for (int d = 0; d < std::min(dims.rank(), least.rank()); ++d) {
    if (extents.limits[d] == H5S_UNLIMITED) {
      dims[d] = std::max(dims[d], least[d]);
    }
  }
  if (dims != extents.dims) {
    set_extent(dataset, dims, path);
  }
}

model::Dims CarriedScales::lengths_of(const std::vector<std::string>& names) const {
  model::Dims lengths;
  for (const std::string& name : names) {
    const Handle scale = own(H5Dopen2(into_, name.c_str(), H5P_DEFAULT), name);
    const model::Dims dims = dims_of(scale.get(), name);
    lengths.push_back(dims.empty() ? 0 : dims[0]);
  }
  return lengths;
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
