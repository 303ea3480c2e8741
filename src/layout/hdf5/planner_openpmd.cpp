// Iterations of the openPMD standard: a group /data/N for each step, and the attributes that the
// standard requires in it (layout/openpmd).
#include <algorithm>

#include "layout/hdf5/planner.hpp"
#include "layout/openpmd/attributes.hpp"
#include "layout/openpmd/write.hpp"

namespace sluice::layout::hdf5 {

namespace {

std::vector<std::int64_t> integers_of(const model::AttributeValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    return {*number};
  }
  if (const auto* number = std::get_if<std::int32_t>(&value)) {
    return {*number};
  }
  if (const auto* list = std::get_if<std::vector<std::int32_t>>(&value)) {
    return {list->begin(), list->end()};
  }
  const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
  return list != nullptr ? *list : std::vector<std::int64_t>{};
}

}  // namespace

bool Hdf5Planner::is_iteration(const model::Attribute& attribute) const {
  return profile_ == Profile::openpmd && openpmd::is_iteration(attribute);
}

bool Hdf5Planner::is_openpmd_part(const std::string& owner) const {
  return profile_ == Profile::openpmd && openpmd::is_of_iteration(owner);
}

std::uint64_t Hdf5Planner::number_step() {
  if (profile_ != Profile::openpmd) {
    return 0;
  }
  std::uint64_t number = numbers_.empty() ? 0 : numbers_.back() + 1;
  for (const model::Attribute& attribute : pending_) {
    const std::vector<std::int64_t> given =
        is_iteration(attribute) ? integers_of(attribute.value) : std::vector<std::int64_t>{};
    const bool is_next = attribute.name == openpmd::iteration_attribute;
    const std::uint64_t at = is_next ? 0 : steps_;  // else a list by step
    if (at < given.size()) {
      number = static_cast<std::uint64_t>(given[at]);
    }
  }
  if (std::find(numbers_.begin(), numbers_.end(), number) != numbers_.end()) {
    throw Error(Code::exists, file_.path() + ": iteration " + std::to_string(number) +
                                  " is there already: give the step another number (attribute "
                                  "iteration of time)");
  }
  const auto used = std::stable_partition(
      pending_.begin(), pending_.end(), [&](const model::Attribute& attribute) {
        return !is_iteration(attribute) || attribute.name != openpmd::iteration_attribute;
      });
  applied_.insert(applied_.end(), used, pending_.end());  // back among those if the step fails
  pending_.erase(used, pending_.end());
  numbers_.push_back(number);
  return number;
}

void Hdf5Planner::write_openpmd_root() {
  const Handle root = own(H5Gopen2(hdf5_.get(), "/", H5P_DEFAULT), "/");
  for (const model::Attribute& attribute : openpmd::attributes_of_file()) {
    openpmd::write_attribute(root.get(), attribute.name, attribute.value);
  }
}

void Hdf5Planner::make_iteration(double time) {
  const std::string path = group_of(numbers_.size() - 1);
  for (const char* group : {openpmd::meshes_group, openpmd::particles_group}) {
    make_groups(path + "/" + group + "/x");  // the paths in the root's attributes must be there
  }
  const Handle group = own(H5Gopen2(hdf5_.get(), path.c_str(), H5P_DEFAULT), path);
  std::vector<model::Attribute> attributes = openpmd::attributes_of_iteration(time);
  std::copy_if(inherited_.begin(), inherited_.end(), std::back_inserter(attributes),
               [&](const model::Attribute& a) {
                 return a.owner == time_name && a.name != time_name && !is_variable(time_name);
               });
  for (const model::Attribute& attribute : attributes) {
    openpmd::write_attribute(group.get(), attribute.name, attribute.value);
  }
}

void Hdf5Planner::write_openpmd_step(const CommitRequest& request) {
  if (profile_ != Profile::openpmd) {
    return;
  }
  std::vector<openpmd::Component> components;
  for (const Touched& touched : request.touched) {
    const model::Definition& definition = definitions_[touched.variable];
    if (definition.stepped) {
      components.push_back(
          {definition.name, touched.shape.empty() ? definition.shape : touched.shape});
    }
  }
  const std::string path = group_of(numbers_.size() - 1) + "/";
  Handle holder;
  std::string held;
  for (const model::Attribute& attribute : openpmd::attributes_below(components, inherited_)) {
    if (attribute.owner != held || !holder) {
      held = attribute.owner;
      const std::string object = path + held;
      make_groups(object);
      if (!has_link(hdf5_.get(), object)) {
        make_groups(object + "/x");
      }
      holder = own(H5Oopen(hdf5_.get(), object.c_str(), H5P_DEFAULT), object);
    }
    openpmd::write_attribute(holder.get(), attribute.name, attribute.value);
  }
}

}  // namespace sluice::layout::hdf5
