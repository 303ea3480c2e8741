// What a DCD trajectory can hold: a variable of positions, one of cells, and words of its header.
#pragma once

#include "model/chosen_steps.hpp"
#include "model/definition.hpp"

namespace sluice::layout::dcd {

inline constexpr const char* positions_name = "positions";  ///< float32 {atoms, 3}, with steps
inline constexpr const char* cell_name = "cell";            ///< float64 {6}, with steps
inline constexpr const char* fourth_name = "fourth";        ///< float32 {atoms}, with steps
/// An attribute on reading: the atoms that are not fixed, from 0.
inline constexpr const char* free_atoms_name = "free_atoms";

/// Why it cannot be stored; "" if it can.
std::string refusal(const model::Definition& definition);
std::string refusal(const model::Attribute& attribute);
/// What a file loses of an attribute when it is written; "" if nothing.
std::string change(const model::Attribute& attribute);

/// The attributes of a trajectory, in a file of any format, become those of some of its frames:
/// first_step, step_interval and the words of dcd_header. Nothing where one of them is missing.
void choose_steps(std::vector<model::Attribute>& attributes, const model::ChosenSteps& chosen);

/// The tile in which the format stores the variable: one dimension of all atoms is contiguous.
model::Dims tile_of(const model::Definition& definition);

}  // namespace sluice::layout::dcd
