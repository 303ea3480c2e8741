// Sluice's own data inside a file, in the group /sluice: one row for each commit, and the words of
// the checksum records. Other tools may ignore the group.
#pragma once

#include <string>
#include <string_view>

#include "layout/catalog.hpp"
#include "layout/hdf5/library.hpp"

namespace sluice::layout::hdf5 {

/// Version of /sluice. A reader refuses a newer major; a newer minor only adds.
inline constexpr int format_major = 1;
inline constexpr int format_minor = 0;

inline constexpr const char* group_name = "sluice";
/// Attribute of /sluice: format_major.
inline constexpr const char* version_attribute = "format_major";
inline constexpr const char* commits_name = "sluice/commits";
inline constexpr const char* checksums_name = "sluice/checksums";

/// Attribute of /sluice: layout::Contents, as pairs of words. Numeric metadata is protected by
/// libhdf5's checksums, even if what it proves is not (text in global heaps).
inline constexpr const char* contents_attribute = "contents";

/// Attribute of /sluice: how the objects are arranged; absent: stacked.
inline constexpr const char* layout_attribute = "layout";
inline constexpr const char* layout_stacked = "hdf5";
inline constexpr const char* layout_grouped = "hdf5-grouped";
inline constexpr const char* layout_netcdf4 = "netcdf4";
inline constexpr const char* layout_vtkhdf = "vtkhdf";
inline constexpr const char* layout_openpmd = "openpmd";

/// In the grouped form each stepped variable has a dataset without data here, with its type, its
/// largest shape and its attributes.
inline constexpr const char* prototypes_name = "sluice/variables";
inline std::string prototype_path(const std::string& variable) {
  return std::string(prototypes_name) + "/" + variable;
}
inline constexpr const char* step_group_prefix = "step_";
/// Attributes of a step's group with this prefix belong to its attribute `time`.
inline constexpr std::string_view time_prefix = "time_";
/// The group of a step: numbers have six digits, or more if needed.
std::string step_group(std::uint64_t step);
/// Is it the name of such a group?
bool is_step_group(const std::string& name);

/// Attribute of a varying variable: where the number of rows of each step is stored.
inline constexpr const char* varying_attribute = "rows_vary";
/// Attribute of a dataset in which steps follow one another: the rows between the first rows of two
/// steps, and the most that a step may have.
inline constexpr const char* step_rows_attribute = "rows_of_a_step";

/// Attributes that netCDF, dimension scales and this library keep for themselves, but for CLASS and
/// NAME, which have other uses too.
bool is_own_attribute(const std::string& name);

/// Attribute (xarray's convention) that marks a byte as a boolean.
inline constexpr const char* flag_attribute = "dtype";
inline constexpr const char* flag_type = "bool";

/// Attribute (netCDF's convention) that marks characters along the last dimension as text.
inline constexpr const char* text_attribute = "_Encoding";
inline constexpr const char* text_encoding = "utf-8";

/// Gives the group /sluice of a new file what says that it is one, and in which version.
void write_version(hid_t group);

/// Does an open file have the log that Sluice keeps? A group of that name without anything of
/// Sluice in it is another program's. Error damaged if a part of the log is missing, format if it
/// cannot be looked up.
bool has_log(hid_t file, const std::string& path);

using layout::CommitRow;  // one row of /sluice/commits
using layout::time_name;

}  // namespace sluice::layout::hdf5
