#include "layout/hdf5/planned_attributes.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/log.hpp"
#include "layout/vtkhdf/rules.hpp"

namespace sluice::layout::hdf5 {

void PlannedAttributes::apply(bool has_time) {
  auto kept = waiting_.begin();  // until a commit creates their owner
  auto at = kept;
  try {
    for (; at != waiting_.end(); ++at) {
      if (apply(*at, has_time)) {
        applied_.push_back(std::move(*at));
      } else if (kept++ != at) {
        *std::prev(kept) = std::move(*at);
      }
    }
  } catch (...) {
    waiting_.erase(kept, at);
    throw;
  }
  waiting_.erase(kept, at);
}

bool PlannedAttributes::apply(const model::Attribute& attribute, bool has_time) {
  const Profile profile = file_.profile();
  const std::string& owner = attribute.owner;
  const auto known = variables_.find(owner);
  std::string path = owner.empty() ? "/" : owner;
  if (owner == time_name && !known && !has_time) {
    if (!is_grouped(profile) || is_iteration(profile, attribute)) {
      return false;  // until a step has a time, or takes the number
    }
    inherited_.push_back(attribute);
    return true;
  }
  if (known && variables_.definition(*known).stepped && is_grouped(profile)) {
    path = prototype_path(owner);
    if (!variables_[*known].exists) {
      return false;
    }
    inherited_.push_back(attribute);
  } else if (is_openpmd_part(profile, owner)) {
    path = prototype_path(owner);
    file_.make_group(path);
    inherited_.push_back(attribute);
  } else if (known || owner == time_name) {
    if (!has_link(file_.id(), path)) {
      return false;
    }
  } else if (!owner.empty()) {
    file_.make_group(owner);
  }
  file_.note_new_contents();
  const Handle object = own(H5Oopen(file_.id(), path.c_str(), H5P_DEFAULT), path);
  const auto* text = std::get_if<std::string>(&attribute.value);
  if (text != nullptr && owner == vtkhdf::group) {
    // VTK's readers before 9.3 take no other text.
    write_fixed_text(object.get(), attribute.name, *text);
  } else {
    write_attribute_of(profile, object.get(), attribute.name, attribute.value);
  }
  return true;
}

void PlannedAttributes::use_up(const std::function<bool(const model::Attribute&)>& is_used) {
  const auto used =
      std::stable_partition(waiting_.begin(), waiting_.end(),
                            [&](const model::Attribute& attribute) { return !is_used(attribute); });
  applied_.insert(applied_.end(), used, waiting_.end());
  waiting_.erase(used, waiting_.end());
}

void PlannedAttributes::inherit(const std::vector<model::Attribute>& attributes) {
  const Profile profile = file_.profile();
  std::copy_if(attributes.begin(), attributes.end(), std::back_inserter(inherited_),
               [&](const model::Attribute& a) {
                 return (variables_.has(a.owner) || a.owner == time_name ||
                         is_openpmd_part(profile, a.owner)) &&
                        !is_iteration(profile, a);
               });
}

std::vector<model::Attribute> PlannedAttributes::take_applied() {
  return std::exchange(applied_, {});
}

void PlannedAttributes::put_back(const std::vector<model::Attribute>& applied) {
  waiting_.insert(waiting_.begin(), applied.begin(), applied.end());
}

}  // namespace sluice::layout::hdf5
