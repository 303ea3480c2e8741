// The groups of steps of a grouped file, and what other programs have put into them.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "layout/catalog.hpp"
#include "layout/hdf5/links.hpp"
#include "layout/hdf5/log_reader.hpp"

namespace sluice::layout::hdf5 {

/// Is it the group of a step, or that of all steps? Never where the steps have no groups.
bool is_of_steps(Profile profile, const std::string& path);

class StepGroups {
 public:
  /// Keeps neither.
  StepGroups(const Log& log, const std::vector<StoredVariable>& variables);

  bool contains(const std::string& path) const { return is_of_steps(profile_, path); }
  /// What is in these groups and no variable of Sluice, with the groups above it; a group before
  /// its content. Groups that are only above variables of Sluice are not listed.
  std::vector<NamedLink> others(hid_t file) const;
  /// Calls visit(path, name) for the attributes of these groups and variables that Sluice did not
  /// write. In openPMD, whose standard has attributes of its own there: for all of them.
  void visit_attributes(
      hid_t file, const std::function<void(const std::string&, const std::string&)>& visit) const;
  /// openPMD?
  bool has_standard() const noexcept { return profile_ == Profile::openpmd; }

 private:
  bool is_own(const std::string& path) const;
  bool is_above_own(const std::string& path) const;

  Profile profile_;
  std::set<std::string> groups_;     ///< of the steps that there are
  std::set<std::string> variables_;  ///< names in such a group
};

}  // namespace sluice::layout::hdf5
