// What the three arrangements of an HDF5 file write differently of a dataset: pure functions of the
// profile, for the planner of files and the writer of indices.
#pragma once

#include <cstdint>
#include <string>

#include "layout/hdf5/handle.hpp"
#include "model/definition.hpp"

namespace sluice::layout::hdf5 {

/// How the objects of a file are arranged.
enum class Profile : std::uint8_t {
  stacked,  ///< a stepped variable is one dataset with the steps in front
  grouped,  ///< a stepped variable is one dataset a step, in a group a step
  netcdf4,  ///< stacked, with the dimension scales that make it a netCDF-4 file
};

/// As the attribute `layout` of /sluice names it.
const char* profile_name(Profile profile);
/// The type of a dataset: netCDF knows neither enumerations nor compounds of a file's own.
Handle type_in_file(Profile profile, const Type& type);
/// The dimensions of a dataset: `shape`, and netCDF's for the characters of text.
model::Dims dims_in_file(Profile profile, const model::Definition& definition, model::Dims shape);
/// In the types that the profile has.
void write_attribute_of(Profile profile, hid_t owner, const std::string& name,
                        const model::AttributeValue& value);
/// Writes the attributes that say how a variable is to be read.
void mark(Profile profile, hid_t dataset, const model::Definition& definition);

}  // namespace sluice::layout::hdf5
