// The materials of a model, by id.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "element.hpp"

namespace parabmu {

/// Index: the id, 1 to 255.
using Materials = std::array<std::optional<Material>, 256>;

/// Reads lines `id E nu remodel`. Error format (`path:line: why`). Local.
Materials read_materials(const std::string& path);

}  // namespace parabmu
