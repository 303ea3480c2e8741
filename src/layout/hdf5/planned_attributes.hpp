// The attributes that were set on a file being planned: each is written when its owner is there.
//
// Invariants: an attribute that was set waits, or is among those applied since take_applied(),
// which put_back() makes wait again. One that is set anew takes the place of the earlier one, also
// where it waits or is inherited, so that nothing grows with the number of times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
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

  /// Where steps have groups: those of `owner` for its objects in every further step.
  std::vector<model::Attribute> inherited_of(const std::string& owner) const;
  /// Those of all owners. One that was set anew may be among them with its earlier values before.
  std::vector<model::Attribute> inherited() const;
  /// Inherits what is of steps among the `attributes` of a file.
  void inherit(const std::vector<model::Attribute>& attributes);
  /// Of how many that were to be inherited, each time that they were set.
  std::size_t inherited_count() const noexcept { return inherited_count_; }
  /// The first `count` of these are in the file.
  void inherited_committed(std::size_t count) { committed_count_ = count; }
  void forget_uncommitted();

  /// Since take_applied().
  const std::vector<model::Attribute>& applied() const noexcept { return applied_; }
  std::vector<model::Attribute> take_applied();
  /// They wait again, in front of the others.
  void put_back(const std::vector<model::Attribute>& applied);

 private:
  struct Inherited {
    model::Attribute attribute;
    std::size_t number;
  };
  void drop_replaced();
  bool apply(const model::Attribute& attribute, bool has_time);
  bool is_group_time() const;
  void inherit(const model::Attribute& attribute);

  PlannedFile& file_;
  const PlannedVariables& variables_;
  std::vector<model::Attribute> waiting_;
  std::vector<model::Attribute> applied_;
  std::unordered_map<std::string, std::vector<Inherited>> inherited_;  ///< by owner
  std::size_t inherited_count_ = 0;
  std::size_t committed_count_ = 0;  ///< of those
};

}  // namespace sluice::layout::hdf5
