// What a file says of variables that are rounded before they are compressed: netCDF-C's attribute
// and, where the format has a place for it, what CF 1.12 asks for: a variable without values whose
// attributes name the algorithm and its implementation, and to which the rounded variables refer.
//
// Invariant: what is noted follows from the definitions alone, so that it is the same on all ranks.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codec/quantise.hpp"
#include "commit/output/description.hpp"
#include "model/definition.hpp"

namespace sluice::commit {

class RoundingNotes {
 public:
  struct Notes {
    std::optional<model::Definition> container;  ///< to be defined first
    std::vector<model::Attribute> attributes;
  };

  /// `is_fresh`: the file had nothing before.
  void begin(bool is_fresh) { may_name_conventions_ = is_fresh; }
  /// Of a variable that is new in `description`.
  Notes of(const std::string& variable, const codec::Rounding& rounding,
           const Description& description);
  /// An attribute of the caller's: the conventions of a file are his to name.
  void see(const model::Attribute& attribute);

 private:
  std::string add_container(const codec::Quantiser& quantiser, const Description& description,
                            Notes& notes);

  std::map<const codec::Quantiser*, std::string> containers_;  ///< that this output has named
  bool may_name_conventions_ = false;
};

}  // namespace sluice::commit
