// The attribute _FillValue, by which programs know missing values, beside a definition's fill
// value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/definition.hpp"

namespace sluice::model {

inline constexpr const char* fill_attribute_name = "_FillValue";
/// NC_FILL_UINT64 of netcdf.h, beyond what attributes hold.
inline constexpr std::uint64_t netcdf_fill_of_uint64 = 18446744073709551614U;

/// NC_FILL_BYTE and the others of netcdf.h, as Definition::fill: what an element of a netCDF
/// variable reads as that nobody wrote, where the file says nothing else. Empty optional: netCDF
/// has no numbers of that type.
std::optional<std::vector<std::byte>> default_fill_of_netcdf(const Type& type);

/// The element that an attribute says, as Definition::fill: a number, also one that is alone in a
/// list, or, of a floating-point variable, base64 of one in double precision
/// (xarray.backends.zarr.FillValueCoder). Empty optional: the type of the variable cannot hold it.
std::optional<std::vector<std::byte>> element_said(const Attribute& attribute,
                                                   const Definition& definition);

/// Is it the attribute _FillValue of that variable, which has a fill value, and does it say the
/// fill value of the definition? Then who writes the variable says it anew.
bool says_fill(const Attribute& attribute, const Definition& definition);

}  // namespace sluice::model
