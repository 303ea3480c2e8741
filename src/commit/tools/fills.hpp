// Fill values in conversions: what other programs take for missing stays missing.
#pragma once

#include <cstddef>
#include <vector>

#include "commit/read/input.hpp"
#include "layout/format.hpp"
#include "model/definition.hpp"

namespace sluice::commit {

/// Does it say the fill value of that variable, which is partial? The writer says it anew.
bool is_fill(const model::Attribute& attribute, const model::Definition& definition);

/// The elements, as file bytes, that stand for missing values: what the attributes _FillValue and
/// missing_value say, and the fill value of a partial variable. Not zeros that no attribute names,
/// and not netCDF's default of a type of one byte: such values may be data.
std::vector<std::vector<std::byte>> missing_elements(const Input& input,
                                                     const model::Definition& definition);

/// Forgets the fill value that netCDF gives a variable for which none was asked for (its default of
/// the type, without an attribute _FillValue): such values may be data, and all are written. Of
/// files by other programs.
void forget_default_fill(const Input& input, model::Definition& definition);

/// Makes a variable partial that has an attribute _FillValue and is not, as in Zarr: its missing
/// values are among those that are stored. Not if `format`, that of the copy, has no fill values.
void take_fill(const Input& input, const layout::Format& format, model::Definition& definition);

}  // namespace sluice::commit
