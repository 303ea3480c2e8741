// What the three arrangements of an HDF5 file write differently of a dataset: pure functions of the
// profile, for the planner of files and the writer of indices.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "layout/hdf5/handle.hpp"
#include "layout/netcdf4/rules.hpp"
#include "model/definition.hpp"

namespace sluice::layout::hdf5 {

/// How the objects of a file are arranged.
enum class Profile : std::uint8_t {
  stacked,  ///< a stepped variable is one dataset with the steps in front
  grouped,  ///< a stepped variable is one dataset a step, in a group a step
  netcdf4,  ///< stacked, with the dimension scales that make it a netCDF-4 file
  vtkhdf,   ///< stacked; in the group VTKHDF the steps of an array follow one another
};

/// Is what stacked datasets have true of it, too?
inline bool is_stacked(Profile profile) {
  return profile == Profile::stacked || profile == Profile::vtkhdf;
}

/// As the attribute `layout` of /sluice names it.
const char* profile_name(Profile profile);
/// The one that profile_name() calls so; Error internal where there is none.
Profile profile_named(std::string_view name);
/// The type of a dataset: netCDF knows neither enumerations nor compounds of a file's own.
Handle type_in_file(Profile profile, const Type& type);
/// The dimensions of a dataset: `shape`, and netCDF's for the characters of text.
model::Dims dims_in_file(Profile profile, const model::Definition& definition, model::Dims shape);
/// The names of a dataset's dimensions, with the step's; empty where the caller gave none.
std::vector<netcdf4::Use> uses_of(Profile profile, const model::Definition& definition);
/// Is it the coordinate variable of its own dimension, and thus the scale of that name?
bool is_coordinate(Profile profile, const model::Definition& definition);
/// May the root group hold a scale of the dimension `use` beside `definitions`: is the name one of
/// a link, and taken by none but the dimension's coordinate variable?
bool may_have_scale(Profile profile, const netcdf4::Use& use,
                    std::span<const model::Definition> definitions);
/// In the types that the profile has.
void write_attribute_of(Profile profile, hid_t owner, const std::string& name,
                        const model::AttributeValue& value);
/// Writes the attributes that say how a variable is to be read.
void mark(Profile profile, hid_t dataset, const model::Definition& definition);

}  // namespace sluice::layout::hdf5
