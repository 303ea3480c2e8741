// Requirements of netCDF-4 on names, dimensions and types: pure rules, the same on every rank.
//
// Every dimension of every variable has a name and one size in the whole file, and is in the root
// group. If the caller names none, dimensions of one size share the name `dim_<size>`.
#pragma once

#include <string>
#include <vector>

#include "model/definition.hpp"

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
/// Are the names of its dimensions those that they would get by default?
bool has_invented_names(const model::Definition& definition);
/// Is it the coordinate variable of its own dimension: 1-D, in the root group, of the same name?
bool is_coordinate(const model::Definition& definition);

/// Error unsupported, bad_name or invalid_argument if netCDF cannot hold `definition` beside
/// `others`.
void check_definition(const model::Definition& definition,
                      const std::vector<model::Definition>& others);
/// Error unsupported for names that netCDF reserves.
void check_attribute(const model::Attribute& attribute);
/// Is it an attribute that netCDF maintains itself?
bool is_bookkeeping(const std::string& name);

}  // namespace sluice::layout::netcdf4
