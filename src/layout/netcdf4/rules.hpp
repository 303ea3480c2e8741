// What netCDF-4 asks of names, dimensions and types: pure rules, the same answer on every rank.
//
// Every dimension of every variable has a name and one size in the whole file, and lives in the
// root group. Where the caller names none, dimensions of one size share the name `dim_<size>`.
#pragma once

#include <string>
#include <vector>

#include "model/definition.hpp"

namespace sluice::layout::netcdf4 {

/// The dimension of steps; also the variable with their times.
inline constexpr const char* step_dimension = "time";

/// A dimension as a variable has it.
struct Use {
  std::string name;
  std::uint64_t size = 0;  ///< 0 where unlimited
  bool unlimited = false;
  friend bool operator==(const Use&, const Use&) = default;
};

/// The dimensions of a variable, the step first. Text is kept as characters, with the length as the
/// last dimension, as netCDF has always had it: netcdf-c 4.9.0 reads HDF5's own fixed-length text
/// wrongly, all but the first element.
std::vector<Use> uses_of(const model::Definition& definition);
/// Are the names of its dimensions those that it would have if the caller had given none?
bool has_invented_names(const model::Definition& definition);
/// Is it the coordinate variable of its own dimension: 1-D, in the root group, of the same name?
bool is_coordinate(const model::Definition& definition);

/// Error unsupported, bad_name or invalid_argument where netCDF cannot hold `definition` beside
/// `others`.
void check_definition(const model::Definition& definition,
                      const std::vector<model::Definition>& others);
/// Error unsupported for names that netCDF keeps for itself.
void check_attribute(const model::Attribute& attribute);
/// Is it an attribute by which netCDF keeps its books?
bool is_bookkeeping(const std::string& name);

}  // namespace sluice::layout::netcdf4
