// What a DCD trajectory can hold: one variable of positions, one of cells, and words of its header.
#pragma once

#include "model/definition.hpp"

namespace sluice::layout::dcd {

inline constexpr const char* positions_name = "positions";  ///< float32 {atoms, 3}, with steps
inline constexpr const char* cell_name = "cell";            ///< float64 {6}, with steps
inline constexpr const char* fourth_name = "fourth";        ///< float32 {atoms}, with steps
/// An attribute of what was read: the atoms that are not fixed, from 0.
inline constexpr const char* free_atoms_name = "free_atoms";

/// Why it cannot be held; "" where it can.
std::string refusal(const model::Definition& definition);
std::string refusal(const model::Attribute& attribute);
/// What an attribute says that a file which is written does not keep; "" where it keeps all.
std::string change(const model::Attribute& attribute);

/// The tile in which the format keeps the variable: a dimension of all atoms is one piece.
model::Dims tile_of(const model::Definition& definition);

}  // namespace sluice::layout::dcd
