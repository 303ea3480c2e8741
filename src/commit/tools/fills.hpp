// Fill values in conversions: what other programs take for missing stays missing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "commit/read/input.hpp"
#include "layout/format.hpp"
#include "model/definition.hpp"

namespace sluice::commit {

/// Is it the attribute _FillValue of that variable, which has a fill value?
bool is_fill(const model::Attribute& attribute, const model::Definition& definition);

/// One element, as file bytes, that stands for missing values of a partial variable: its attribute
/// _FillValue, by which programs know them, else what elements that are not there read as.
std::vector<std::byte> fill_of(const Input& input, const model::Definition& definition);

/// The elements, as file bytes, that stand for missing values: what the attributes _FillValue and
/// missing_value say, and, without an attribute _FillValue, the fill value of a partial variable
/// and netCDF's default. Not zeros that no attribute names, and not netCDF's default of a type of
/// one byte: such values may be data.
std::vector<std::vector<std::byte>> missing_elements(const Input& input,
                                                     const model::Definition& definition);

/// Forgets a fill value for which none was asked for: the one that netCDF gives a variable (its
/// default of the type), or zeros, without an attribute _FillValue. Such values may be data, and
/// all are written. Of files by other programs.
void forget_default_fill(const Input& input, model::Definition& definition);

/// Makes a variable partial that has an attribute _FillValue, with the fill value that this says:
/// as in Zarr, its missing values are among those that are stored. It wins over another fill value
/// of the dataset, which says only what elements read as that are not there, and the copy has them
/// all. A value that the type cannot hold stays an attribute, and there is no fill value. Not if
/// `format`, that of the copy, has no fill values.
void take_fill(const Input& input, const layout::Format& format, model::Definition& definition);

/// Appends what a copy no longer says: what elements read as that are not there, where a store by
/// another program says that without calling such elements missing (fill_value of Zarr 3).
void append_lost_fill(const Input& input, const model::Definition& source,
                      const model::Definition& copy, std::vector<std::string>& changes);

}  // namespace sluice::commit
