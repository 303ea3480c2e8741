#include "layout/hdf5/step_groups.hpp"

#include <map>

#include "layout/hdf5/log.hpp"
#include "layout/openpmd/rules.hpp"

namespace sluice::layout::hdf5 {

StepGroups::StepGroups(const Log& log, const std::vector<StoredVariable>& variables)
    : profile_(log.profile) {
  if (!is_grouped(profile_)) {
    return;
  }
  for (std::uint64_t step = 0; step < log.steps; ++step) {
    groups_.insert(log.group_of(step));
  }
  for (const StoredVariable& variable : variables) {
    if (variable.definition.stepped) {
      variables_.insert(variable.definition.name);
    }
  }
}

bool is_of_steps(Profile profile, const std::string& path) {
  return (is_grouped(profile) && is_step_group(path)) ||
         (profile == Profile::openpmd && path == openpmd::base_group);
}

namespace {

struct InStep {
  std::string group;
  std::string name;  ///< below it; empty: the group itself
};

InStep in_step(const std::string& path, bool is_openpmd) {
  std::size_t end = path.find('/');
  if (is_openpmd && end != std::string::npos) {
    end = path.find('/', end + 1);
  }
  return {path.substr(0, end), end == std::string::npos ? "" : path.substr(end + 1)};
}

std::vector<std::string> attributes_at(hid_t file, const std::string& path) {
  if (!has_link(file, path)) {
    return {};
  }
  const Handle object = own(H5Oopen(file, path.c_str(), H5P_DEFAULT), path);
  return attribute_names(object.get(), path);
}

}  // namespace

bool StepGroups::is_own(const std::string& path) const {
  const InStep place = in_step(path, has_standard());
  return !place.name.empty() && groups_.count(place.group) != 0 &&
         variables_.count(place.name) != 0;
}

bool StepGroups::is_above_own(const std::string& path) const {
  const InStep place = in_step(path, has_standard());
  if (groups_.count(place.group) == 0) {
    return has_standard() && path == openpmd::base_group;
  }
  const bool is_of_standard = has_standard() && (place.name == openpmd::meshes_group ||
                                                 place.name == openpmd::particles_group);
  const std::string below = place.name + "/";
  const auto first = variables_.lower_bound(below);
  return place.name.empty() || is_of_standard ||
         (first != variables_.end() && first->starts_with(below));
}

void StepGroups::visit_attributes(
    hid_t file, const std::function<void(const std::string&, const std::string&)>& visit) const {
  std::map<std::string, std::set<std::string>> known;
  for (const std::string& variable : variables_) {
    const auto names = attributes_at(file, prototype_path(variable));
    known[variable] = {names.begin(), names.end()};
  }
  for (const std::string& group : groups_) {
    for (const std::string& name : attributes_at(file, group)) {
      if (name != time_name && (has_standard() || !name.starts_with(time_prefix))) {
        visit(group, name);
      }
    }
    for (const auto& [variable, names] : known) {
      const std::string path = group + "/" + variable;
      for (const std::string& name : attributes_at(file, path)) {
        if (!is_own_attribute(name) && (has_standard() || names.count(name) == 0)) {
          visit(path, name);
        }
      }
    }
  }
}

std::vector<NamedLink> StepGroups::others(hid_t file) const {
  if (!is_grouped(profile_)) {
    return {};
  }
  std::vector<NamedLink> links = links_below(file, "", [&](const std::string& path) {
    const bool is_top = path.find('/') == std::string::npos;
    return is_top ? !contains(path) : is_own(path);
  });
  std::set<std::string> needed;
  for (const NamedLink& link : links) {
    if (link.target != Target::group || link.is_soft || !is_above_own(link.path)) {
      needed.insert(link.path);
      for (std::size_t at = link.path.find('/'); at != std::string::npos;
           at = link.path.find('/', at + 1)) {
        needed.insert(link.path.substr(0, at));
      }
    }
  }
  std::erase_if(links, [&](const NamedLink& link) { return needed.count(link.path) == 0; });
  return links;
}

}  // namespace sluice::layout::hdf5
