// How the arrangements of an HDF5 file differ in what they write for a dataset: pure
// functions of the profile, for the planner of files and the writer of indices.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "layout/hdf5/handle.hpp"
#include "layout/netcdf4/rules.hpp"
#include "model/definition.hpp"

namespace sluice::layout::hdf5 {

class Scales;

/// The arrangement of the objects of a file.
enum class Profile : std::uint8_t {
  stacked,  ///< a stepped variable is one dataset with the steps as first dimension
  grouped,  ///< a stepped variable is one dataset a step, in a group for each step
  netcdf4,  ///< stacked, with the dimension scales that make it a netCDF-4 file
  vtkhdf,   ///< stacked; in the group VTKHDF the steps of an array follow one another
  openpmd,  ///< grouped, below /data, with the attributes of the openPMD standard
};

/// Has it dimension scales where the caller names dimensions, and none elsewhere? netCDF-4 always
/// has them, the grouped forms never.
inline bool has_optional_scales(Profile profile) {
  return profile == Profile::stacked || profile == Profile::vtkhdf;
}

/// Has each step a group of its own?
inline bool is_grouped(Profile profile) {
  return profile == Profile::grouped || profile == Profile::openpmd;
}

/// As the attribute `layout` of /sluice names it.
const char* profile_name(Profile profile);
/// For files of Sluice that another program has changed so that they cannot be appended to.
inline constexpr const char* append_remedy = "append to a file that sluice convert made of it";

/// The profile with that profile_name(), if there is one.
std::optional<Profile> find_profile(std::string_view name);
/// The same; Error internal if there is none.
Profile profile_named(std::string_view name);
/// The type of a dataset: in netCDF neither enumerations nor compounds are used.
Handle type_in_file(Profile profile, const Type& type);
/// The dimensions of a dataset: `shape`, and in netCDF one for the characters of text.
model::Dims dims_in_file(Profile profile, const model::Definition& definition, model::Dims shape);
/// The names of a dataset's dimensions, with the step's; empty if the caller gave none.
std::vector<netcdf4::Use> uses_of(Profile profile, const model::Definition& definition);
/// Is "time" the caller's name of a fixed dimension, so that it holds no times of steps?
bool has_fixed_time(Profile profile, std::span<const model::Definition> definitions);
/// Is it the coordinate variable of its own dimension, and thus the scale of that name?
bool is_coordinate(Profile profile, const model::Definition& definition);
/// Can the root group hold a scale of the dimension `use` beside `definitions`: is its name valid
/// for a link, and not used by anything but the dimension's coordinate variable?
bool may_have_scale(Profile profile, const netcdf4::Use& use,
                    std::span<const model::Definition> definitions);
/// Has a file with `definitions` dimension scales? Always in netCDF-4; where they are optional, if
/// the caller names dimensions.
bool uses_scales(Profile profile, std::span<const model::Definition> definitions);
/// Has every one of the dimensions `uses` a scale, or can it get one? Always in netCDF-4.
/// `has_time`: there is the library's own `time`, which can be the scale of the steps.
bool may_have_scales(Profile profile, std::span<const netcdf4::Use> uses,
                     std::span<const model::Definition> definitions, const Scales& scales,
                     bool has_time);
/// openPMD: is it the number of an iteration, and no attribute of the file?
bool is_iteration(Profile profile, const model::Attribute& attribute);
/// openPMD: is it a mesh, a species, a record or a component, whose attributes each step has?
bool is_openpmd_part(Profile profile, std::string_view owner);
/// The creation list of a variable's dataset, in every arrangement.
Handle creation_list(Profile profile, const model::Definition& definition);
/// In the types of the profile.
void write_attribute_of(Profile profile, hid_t owner, const std::string& name,
                        const model::AttributeValue& value);
/// Writes the attributes that describe how to read a variable.
void mark(Profile profile, hid_t dataset, const model::Definition& definition);
/// Is it an attribute by which mark() says that a variable of netCDF-4 has the type `kind`?
bool says_kind(const model::Attribute& attribute, Kind kind);

}  // namespace sluice::layout::hdf5
