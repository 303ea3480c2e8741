// Requirements of netCDF-4 on names, dimensions and types: pure rules, the same on every rank.
//
// Every dimension of every variable has a name and one size in the whole file, and is in the root
// group. If the caller names none, dimensions of one size share the name `dim_<size>`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "model/definition_rules.hpp"

namespace sluice::layout::netcdf4 {

/// The dimension of steps; also the variable with their times. In a file without steps it is a name
/// like others.
inline constexpr const char* step_dimension = "time";

/// A dimension as used by a variable.
struct Use {
  std::string name;
  std::uint64_t size = 0;  ///< 0 if unlimited
  bool unlimited = false;
  friend bool operator==(const Use&, const Use&) = default;
};

/// The dimensions of a variable, the step first. Text is stored as characters, with the length as
/// the last dimension, the classic form of netCDF: netcdf-c 4.9.0 reads only the first element of
/// HDF5's fixed-length text correctly.
std::vector<Use> uses_of(const model::Definition& definition);
/// The first dimension with another size earlier in `uses`, after that one; empty: there is none.
std::optional<std::pair<Use, Use>> find_conflict(std::span<const Use> uses);
/// Are the names of its dimensions those that they would get by default?
bool has_invented_names(const model::Definition& definition);
/// Is it the coordinate variable of its own dimension: 1-D, in the root group, of the same name?
bool is_coordinate(const model::Definition& definition);

/// The names that variables of one file use.
/// Why a dimension cannot get coordinates any more, and what to do.
inline constexpr const char* no_late_coordinates =
    "an earlier commit made this dimension without coordinates: define its variable before the "
    "first step that uses it";

class NameRules final : public model::DefinitionRules {
 public:
  /// Error unsupported, bad_name or invalid_argument if netCDF cannot hold `definition`, or not
  /// beside those that were added.
  void check(const model::Definition& definition) const override;
  void add(const model::Definition& definition) override;
  void settle() override;

 private:
  struct KnownUse {
    Use use;
    std::string variable;  ///< the first one
  };
  void check_against(const model::Definition& definition, const Use& use) const;

  std::unordered_map<std::string, std::vector<KnownUse>> dimensions_;  ///< all different uses
  std::vector<std::string> unsettled_;                                 ///< names of dimensions_
  std::unordered_set<std::string> settled_;  ///< the same: a commit made those dimensions
  /// Variables that are no coordinates, by the first part of their names: the first one.
  std::unordered_map<std::string, std::string> others_;
};
/// Error unsupported for names that netCDF reserves.
void check_attribute(const model::Attribute& attribute);
/// Is it an attribute that netCDF maintains itself?
bool is_bookkeeping(const std::string& name);

}  // namespace sluice::layout::netcdf4
