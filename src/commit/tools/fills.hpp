// Fill values in conversions: what a format keeps beside the values so that other programs take
// missing ones for missing.
#pragma once

#include <optional>
#include <span>

#include "layout/format.hpp"
#include "model/definition.hpp"

namespace sluice::commit {

/// Forgets the fill value that netCDF gives a variable for which none was asked for (its default of
/// the type, without an attribute _FillValue): such values may be data, and all are written.
void forget_default_fill(model::Definition& definition,
                         std::span<const model::Attribute> attributes);

/// The attribute _FillValue that `format` needs beside the fill value of a partial variable.
///
/// Only Zarr: xarray masks by the attribute alone in version 3, an integer as it is, a
/// floating-point number as base64 of its eight bytes (xarray.backends.zarr.FillValueCoder).
std::optional<model::Attribute> fill_attribute(const layout::Format& format,
                                               const model::Definition& definition);

}  // namespace sluice::commit
