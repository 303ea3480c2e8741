#include "layout/hdf5/planned_dimensions.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/free_names.hpp"
#include "layout/hdf5/log.hpp"
#include "layout/hdf5/netcdf_attributes.hpp"
#include "layout/times.hpp"

namespace sluice::layout::hdf5 {

using model::Dims;

namespace {

/// 4 KiB: a step rewrites at most that much in place.
constexpr std::uint64_t times_per_chunk = 4096 / 8;

}  // namespace

void PlannedDimensions::load() {
  if (uses_scales(file_.profile(), variables_.definitions())) {
    scales_.load(file_.id());
  }
}

void PlannedDimensions::make(std::uint32_t variable, const Dims& tile, bool places_now) {
  const std::string& name = variables_.definition(variable).name;
  variables_.note_made(variable, tile);
  if (is_netcdf() && scales_.has(name)) {
    throw Error(Code::unsupported, name + ": format netcdf4: " + netcdf4::no_late_coordinates);
  }
  replace_scale(name.substr(0, name.find('/')), [&] {
    datasets_.make(variable, places_now);
    if (!is_grouped(file_.profile())) {
      attach(variable);
    }
  });
}

void PlannedDimensions::make_scale(const netcdf4::Use& use) {
  if (const netcdf4::Use* known = scales_.find(use.name)) {
    if (known->unlimited != use.unlimited) {
      throw Error(Code::bad_name, file_.path() + ": dimension " + use.name +
                                      " is that of the steps: give the fixed one another name");
    }
    return;
  }
  if (use.unlimited && has_time_) {
    const Handle time = own(H5Dopen2(file_.id(), time_name, H5P_DEFAULT), time_name);
    scales_.make_coordinate(time.get(), time_name);  // created before any dimension had a name
    return;
  }
  for (std::uint32_t v = 0; v < variables_.size(); ++v) {
    const model::Definition& definition = variables_.definition(v);
    if (definition.name == use.name && is_coordinate(file_.profile(), definition)) {
      const bool places_now = false;  // its values come with another commit, or later in this one
      make(v, definition.stepped ? Dims{} : definition.shape, places_now);
      return;
    }
  }
  require_free(file_.id(), use.name, "dimension " + use.name);
  if (use.unlimited && is_netcdf()) {
    make_time();
  } else {
    scales_.make_plain(file_.id(), use.name, use);
  }
}

bool PlannedDimensions::is_name_of_another(const netcdf4::Use& use) const {
  return !scales_.has(use.name) && !(use.unlimited && has_time_) && !variables_.has(use.name) &&
         has_link(file_.id(), use.name);
}

void PlannedDimensions::attach(std::uint32_t variable) {
  const Profile profile = file_.profile();
  const model::Definition& definition = variables_.definition(variable);
  if (is_coordinate(profile, definition)) {
    scales_.make_coordinate(variables_.dataset(variable), definition.name);
    return;
  }
  const std::vector<netcdf4::Use> uses = uses_of(profile, definition);
  if (!may_have_scales(profile, uses, variables_.definitions(), scales_, has_time_) ||
      (!is_netcdf() && std::any_of(uses.begin(), uses.end(), [&](const netcdf4::Use& use) {
        return is_name_of_another(use);
      }))) {
    return;
  }
  std::vector<std::string> names;
  for (const netcdf4::Use& use : uses) {
    make_scale(use);
    names.push_back(use.name);
  }
  scales_.attach(file_.id(), variables_.dataset(variable), definition.name, names);
}

void PlannedDimensions::replace_scale(const std::string& name,
                                      const std::function<void()>& make_dataset) {
  const bool is_taken = has_optional_scales(file_.profile()) && scales_.has_plain(name);
  if (is_taken) {
    scales_.remove(file_.id(), name);
  }
  make_dataset();
  for (std::uint32_t v = 0; v < variables_.size() && is_taken; ++v) {
    const std::string& other = variables_.definition(v).name;
    if (variables_[v].exists && !scales_.has(other) && !is_attached(variables_.dataset(v), other)) {
      attach(v);
    }
  }
}

void PlannedDimensions::make_time() {
  replace_scale(time_name, [&] {
    const double none = std::nan("");  // of steps without a time
    time_ = make_growing(file_.id(), time_name, H5T_IEEE_F64LE, {0}, {times_per_chunk}, &none);
    has_time_ = true;
    file_.note_new_contents();
    if (is_netcdf()) {
      write_netcdf_attribute(time_.get(), "units", std::string("1"));
    }
    if (uses_scales(file_.profile(), variables_.definitions())) {
      scales_.make_coordinate(time_.get(), time_name);
    }
  });
}

bool PlannedDimensions::keeps_time(double time) const {
  // In an appended file it is among the known variables too.
  if (has_time_) {
    return !is_grouped(file_.profile());
  }
  const std::vector<model::Definition>& definitions = variables_.definitions();
  return (is_netcdf() || !std::isnan(time)) && !is_grouped(file_.profile()) &&
         !has_fixed_time(file_.profile(), definitions) && !is_time_taken(definitions);
}

void PlannedDimensions::prepare_time(double time) {
  if (!has_time_ && !is_netcdf() && uses_scales(file_.profile(), variables_.definitions()) &&
      keeps_time(time)) {
    make_time();
  }
}

void PlannedDimensions::append_time(std::uint64_t step, double time) {
  if (!keeps_time(time)) {
    return;
  }
  if (!has_time_) {
    make_time();
  }
  const hid_t dataset = file_.opened(time_, time_name, 1);
  set_extent(dataset, {step + 1}, time_name);
  write_rows(dataset, time_name, H5T_NATIVE_DOUBLE, step, {1}, &time);
}

void PlannedDimensions::drop_times(std::uint64_t steps) {
  if (has_time_ && !is_grouped(file_.profile())) {
    set_extent(file_.opened(time_, time_name, 1), {steps}, time_name);
  }
}

}  // namespace sluice::layout::hdf5
