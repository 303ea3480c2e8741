#include "layout/hdf5/planned_attributes.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/log.hpp"
#include "layout/times.hpp"
#include "layout/vtkhdf/rules.hpp"

namespace sluice::layout::hdf5 {

void PlannedAttributes::drop_replaced() {
  std::set<std::pair<std::string_view, std::string_view>> later;
  std::vector<bool> is_replaced(waiting_.size());
  for (std::size_t i = waiting_.size(); i-- > 0;) {
    is_replaced[i] = !later.insert({waiting_[i].owner, waiting_[i].name}).second;
  }
  std::size_t i = 0;
  std::erase_if(waiting_, [&](const model::Attribute&) { return is_replaced[i++]; });
}

void PlannedAttributes::apply(bool has_time) {
  drop_replaced();
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
  const bool is_of_times = owner == time_name && !known && !is_group_time();
  if (is_of_times && !has_time) {
    if (!is_grouped(profile) || is_iteration(profile, attribute)) {
      return false;  // until a step has a time, or takes the number
    }
    inherit(attribute);
    return true;
  }
  if (known && variables_.definition(*known).stepped && is_grouped(profile)) {
    path = prototype_path(owner);
    if (!variables_[*known].exists) {
      return false;
    }
    inherit(attribute);
  } else if (is_openpmd_part(profile, owner)) {
    path = prototype_path(owner);
    file_.make_group(path);
    inherit(attribute);
  } else if (known || is_of_times) {
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

/// Is `time` a group of variables, beside which the file keeps no times?
bool PlannedAttributes::is_group_time() const {
  return !is_grouped(file_.profile()) && is_time_taken(variables_.definitions());
}

void PlannedAttributes::use_up(const std::function<bool(const model::Attribute&)>& is_used) {
  const auto used =
      std::stable_partition(waiting_.begin(), waiting_.end(),
                            [&](const model::Attribute& attribute) { return !is_used(attribute); });
  applied_.insert(applied_.end(), used, waiting_.end());
  waiting_.erase(used, waiting_.end());
}

void PlannedAttributes::inherit(const model::Attribute& attribute) {
  std::vector<Inherited>& of_owner = inherited_[attribute.owner];
  // Of those in the file the last one alone can be wanted again.
  bool is_last = true;
  for (auto at = of_owner.end(); at != of_owner.begin();) {
    --at;
    if (at->number < committed_count_ && at->attribute.name == attribute.name &&
        !std::exchange(is_last, false)) {
      at = of_owner.erase(at);
    }
  }
  of_owner.push_back({attribute, inherited_count_++});
}

void PlannedAttributes::inherit(const std::vector<model::Attribute>& attributes) {
  const Profile profile = file_.profile();
  for (const model::Attribute& a : attributes) {
    if ((variables_.has(a.owner) || a.owner == time_name || is_openpmd_part(profile, a.owner)) &&
        !is_iteration(profile, a)) {
      inherit(a);
    }
  }
}

std::vector<model::Attribute> PlannedAttributes::inherited_of(const std::string& owner) const {
  std::vector<model::Attribute> attributes;
  if (const auto found = inherited_.find(owner); found != inherited_.end()) {
    for (const Inherited& inherited : found->second) {
      model::set_attribute(attributes, inherited.attribute);
    }
  }
  return attributes;
}

std::vector<model::Attribute> PlannedAttributes::inherited() const {
  std::vector<model::Attribute> attributes;
  for (const auto& [owner, of_owner] : inherited_) {
    for (const Inherited& inherited : of_owner) {
      attributes.push_back(inherited.attribute);
    }
  }
  return attributes;
}

void PlannedAttributes::forget_uncommitted() {
  for (auto& [owner, of_owner] : inherited_) {
    std::erase_if(of_owner, [&](const Inherited& i) { return i.number >= committed_count_; });
  }
  inherited_count_ = committed_count_;
}

std::vector<model::Attribute> PlannedAttributes::take_applied() {
  return std::exchange(applied_, {});
}

void PlannedAttributes::put_back(const std::vector<model::Attribute>& applied) {
  waiting_.insert(waiting_.begin(), applied.begin(), applied.end());
}

}  // namespace sluice::layout::hdf5
