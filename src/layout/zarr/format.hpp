#pragma once

#include "layout/format.hpp"

namespace sluice::layout::zarr {

extern const Format format_row;

/// Of names that Sluice keeps, here and in formats that hold such a store.
std::string refuse_definition(const model::Definition& definition);
std::string refuse_attribute(const model::Attribute& attribute);

}  // namespace sluice::layout::zarr
