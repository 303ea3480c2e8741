// The attributes that were set on a file being planned: each is written when its owner is there.
//
// Invariant: an attribute that was set waits, or is among those applied since take_applied(), which
// put_back() makes wait again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "layout/hdf5/planned_variables.hpp"

namespace sluice::layout::hdf5 {

class PlannedAttributes {
 public:
  PlannedAttributes(PlannedFile& file, const PlannedVariables& variables)
      : file_(file), variables_(variables) {}

  void set(const model::Attribute& attribute) { waiting_.push_back(attribute); }
  /// Writes those whose owner is there. `has_time`: is there the library's own `time`?
  void apply(bool has_time);
  const std::vector<model::Attribute>& waiting() const noexcept { return waiting_; }
  /// Counts those for which `is_used` is true as applied, without writing them.
  void use_up(const std::function<bool(const model::Attribute&)>& is_used);

  /// Where steps have groups: those for the objects of every further step.
  const std::vector<model::Attribute>& inherited() const noexcept { return inherited_; }
  /// Inherits what is of steps among the `attributes` of a file.
  void inherit(const std::vector<model::Attribute>& attributes);
  /// Inherits the first `count` alone.
  void forget_inherited(std::size_t count) { inherited_.resize(count); }

  /// Since take_applied().
  const std::vector<model::Attribute>& applied() const noexcept { return applied_; }
  std::vector<model::Attribute> take_applied();
  /// They wait again, in front of the others.
  void put_back(const std::vector<model::Attribute>& applied);

 private:
  bool apply(const model::Attribute& attribute, bool has_time);

  PlannedFile& file_;
  const PlannedVariables& variables_;
  std::vector<model::Attribute> waiting_;
  std::vector<model::Attribute> applied_;
  std::vector<model::Attribute> inherited_;
};

}  // namespace sluice::layout::hdf5
