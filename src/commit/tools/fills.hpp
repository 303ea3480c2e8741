// Fill values in conversions: what a format keeps beside the values so that other programs take
// missing ones for missing.
#pragma once

#include "commit/output/output.hpp"
#include "commit/read/input.hpp"
#include "model/definition.hpp"

namespace sluice::commit {

/// Does it say the fill value of that variable, which is partial? The writer says it anew.
bool is_fill(const model::Attribute& attribute, const model::Definition& definition);

/// Forgets the fill value that netCDF gives a variable for which none was asked for (its default of
/// the type, without an attribute _FillValue): such values may be data, and all are written. Of
/// files by other programs.
void forget_default_fill(const Input& input, model::Definition& definition);

/// Sets what other programs ask for beside the fill values of the variables that are defined.
void set_fill_attributes(Output& output);

}  // namespace sluice::commit
