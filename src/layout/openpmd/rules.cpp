#include "layout/openpmd/rules.hpp"

#include <algorithm>

namespace sluice::layout::openpmd {

namespace {

constexpr std::string_view patches = "particlePatches";

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string refuse_mesh(const model::Definition& d, std::size_t depth) {
  if (depth != 2 && depth != 3) {
    return "names a mesh meshes/NAME, and a component of one meshes/NAME/COMPONENT";
  }
  return d.shape.empty() ? "holds meshes of one dimension or more" : "";
}

std::string refuse_particles(const model::Definition& d,
                             const std::vector<std::string_view>& parts) {
  const bool is_patch = parts.size() > 2 && parts[2] == patches;
  const std::size_t most = is_patch ? 5 : 4;
  if (parts.size() < (is_patch ? 4U : 3U) || parts.size() > most) {
    return "names a record particles/SPECIES/RECORD, and a component of one "
           "particles/SPECIES/RECORD/COMPONENT";
  }
  const bool is_position = parts[2] == "position" || parts[2] == "positionOffset";
  if (is_position && parts.size() != 4) {
    return "holds positions by component: define particles/SPECIES/" + std::string(parts[2]) +
           "/x and so on";
  }
  return d.shape.rank() != 1 ? "holds records of particles as arrays of one dimension" : "";
}

}  // namespace

std::string group_of(std::uint64_t number) {
  return std::string(base_group) + "/" + std::to_string(number);
}

std::vector<std::string_view> parts_of(std::string_view name) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t slash = std::min(name.find('/', at), name.size());
    parts.push_back(name.substr(at, slash - at));
    at = slash + 1;
  }
  return parts;
}

bool is_of_iteration(std::string_view owner) {
  const std::string_view first = owner.substr(0, owner.find('/'));
  return first == meshes_group || first == particles_group;
}

bool is_iteration(const model::Attribute& attribute) {
  return attribute.owner == time_owner &&
         (attribute.name == iteration_attribute || attribute.name == iterations_attribute);
}

void choose_steps(std::vector<model::Attribute>& attributes, const model::ChosenSteps& chosen) {
  for (model::Attribute& attribute : attributes) {
    auto* const numbers = std::get_if<std::vector<std::int64_t>>(&attribute.value);
    const bool is_list = attribute.owner == time_owner && attribute.name == iterations_attribute;
    if (!is_list || numbers == nullptr || chosen.count == 0 ||
        chosen.first + (chosen.count - 1) * chosen.stride >= numbers->size()) {
      continue;
    }
    std::vector<std::int64_t> left;
    for (std::uint64_t i = 0; i < chosen.count; ++i) {
      left.push_back((*numbers)[chosen.first + i * chosen.stride]);
    }
    *numbers = std::move(left);
  }
}

std::string refuse_definition(const model::Definition& d) {
  const std::vector<std::string_view> parts = parts_of(d.name);
  if (parts[0] == base_group) {
    return "keeps the group data for its iterations: define meshes/..., particles/... with steps";
  }
  if (!is_of_iteration(d.name)) {
    return "";
  }
  if (!d.stepped) {
    return "holds meshes and particles by iteration: define them with steps";
  }
  if (!std::all_of(parts.begin(), parts.end(), is_word)) {
    return "has names of letters, digits and _ for meshes, species, records and components";
  }
  return parts[0] == meshes_group ? refuse_mesh(d, parts.size()) : refuse_particles(d, parts);
}

}  // namespace sluice::layout::openpmd
