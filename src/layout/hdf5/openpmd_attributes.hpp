// Writes attributes of the openPMD standard in the types that it asks for.
#pragma once

#include <string>

#include "layout/hdf5/handle.hpp"
#include "model/definition.hpp"

namespace sluice::layout::hdf5 {

/// Creates or replaces an attribute of the object `owner`. Text is of a fixed length, as openPMD's
/// validator asks, where it is ASCII.
void write_openpmd_attribute(hid_t owner, const std::string& name,
                             const model::AttributeValue& value);

}  // namespace sluice::layout::hdf5
