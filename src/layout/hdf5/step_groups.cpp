#include "layout/hdf5/step_groups.hpp"

#include <algorithm>

#include "layout/hdf5/catalog.hpp"
#include "layout/hdf5/log.hpp"
#include "layout/openpmd/rules.hpp"

namespace sluice::layout::hdf5 {

StepGroups::StepGroups(const Catalog& catalog)
    : is_grouped_(is_grouped(catalog.profile())),
      is_openpmd_(catalog.profile() == Profile::openpmd) {
  for (std::uint64_t step = 0; step < catalog.steps() && is_grouped_; ++step) {
    groups_.insert(is_openpmd_ ? openpmd::group_of(catalog.step_numbers().at(step))
                               : step_group(step));
  }
  for (const StoredVariable& variable : catalog.variables()) {
    if (is_grouped_ && variable.definition.stepped) {
      variables_.insert(variable.definition.name);
    }
  }
}

bool StepGroups::contains(const std::string& path) const {
  return is_openpmd_ ? path == openpmd::base_group : is_grouped_ && is_step_group(path);
}

bool StepGroups::is_own(const std::string& path) const {
  std::size_t end = path.find('/');
  if (is_openpmd_ && end != std::string::npos) {
    end = path.find('/', end + 1);
  }
  return end != std::string::npos && groups_.count(path.substr(0, end)) != 0 &&
         variables_.count(path.substr(end + 1)) != 0;
}

std::vector<NamedLink> StepGroups::others(hid_t file) const {
  if (!is_grouped_) {
    return {};
  }
  std::vector<NamedLink> links = links_below(file, "", [&](const std::string& path) {
    const bool is_top = path.find('/') == std::string::npos;
    return is_top ? !contains(path) : is_own(path);
  });
  std::set<std::string> needed;
  for (const NamedLink& link : links) {
    if (link.target != Target::group || link.is_soft) {
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
