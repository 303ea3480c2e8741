// What the definitions of one file must not contradict in each other.
#pragma once

#include "model/definition.hpp"

namespace sluice::model {

/// The rules of a format for the definitions in one file together: what they have to remember of
/// each, so that a new one is not compared with all others.
class DefinitionRules {
 public:
  DefinitionRules() = default;
  DefinitionRules(const DefinitionRules&) = delete;
  DefinitionRules& operator=(const DefinitionRules&) = delete;
  virtual ~DefinitionRules() = default;
  /// Error if the format cannot hold `definition` beside those that were added. The same on every
  /// rank.
  virtual void check(const Definition& definition) const = 0;
  virtual void add(const Definition& definition) = 0;
  /// What was added is in the file now: a later definition cannot change how.
  virtual void settle() {}
};

}  // namespace sluice::model
