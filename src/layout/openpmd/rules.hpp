// openPMD: which variables of a file are meshes and particles, by the names of its standard.
//
// An iteration is a step. Its group is /data/N, with N as the caller numbers it, and every variable
// with steps is below: `meshes/E/x`, `particles/electrons/position/x`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/chosen_steps.hpp"
#include "model/definition.hpp"

namespace sluice::layout::openpmd {

/// The group of all iterations.
inline constexpr const char* base_group = "data";
inline constexpr const char* meshes_group = "meshes";
inline constexpr const char* particles_group = "particles";
/// The owner of the attributes of an iteration, and of its number.
inline constexpr const char* time_owner = "time";
/// Attribute of `time`: the number of the next iteration.
inline constexpr const char* iteration_attribute = "iteration";
/// Attribute of `time`: the numbers of all iterations, by step.
inline constexpr const char* iterations_attribute = "iterations";

/// The path of the group of an iteration.
std::string group_of(std::uint64_t number);
/// Is it the group of all meshes or species, or something below it: whose attributes each iteration
/// has?
bool is_of_iteration(std::string_view owner);
/// Is it one of the numbers of iterations, and no attribute of the file?
bool is_iteration(const model::Attribute& attribute);

/// The numbers of all iterations, in a file of any format, become those of the chosen ones.
void choose_steps(std::vector<model::Attribute>& attributes, const model::ChosenSteps& chosen);

/// Why the format does not hold it; "" where it does.
std::string refuse_definition(const model::Definition& definition);

/// `meshes/E/x`: the names between the slashes.
std::vector<std::string_view> parts_of(std::string_view name);

}  // namespace sluice::layout::openpmd
