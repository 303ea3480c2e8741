#include "layout/dcd/rules.hpp"

#include <algorithm>
#include <limits>

#include "layout/dcd/header.hpp"

namespace sluice::layout::dcd {

std::string refusal(const model::Definition& definition) {
  const bool is_positions = definition.name == positions_name;
  const bool is_fourth = definition.name == fourth_name;
  if (!is_positions && !is_fourth && definition.name != cell_name) {
    return "holds positions (float32, {atoms, 3}), cell (float64, {6}) and fourth (float32, "
           "{atoms}) only";
  }
  const model::Dims& shape = definition.shape;
  const Type wanted = definition.name == cell_name ? type_of<double>() : type_of<float>();
  const bool fits = definition.type == wanted &&
                    (is_positions ? shape.rank() == 2 && shape[1] == 3
                                  : shape.rank() == 1 && (is_fourth || shape[0] == 6));
  if (!fits) {
    return is_positions ? "holds positions as float32 of shape {atoms, 3}"
           : is_fourth  ? "holds the fourth dimension as float32 of shape {atoms}"
                        : "holds the cell as float64 of shape {6}";
  }
  if (!definition.stepped) {
    return "holds steps only: define it with steps";
  }
  if (shape[0] == 0) {
    return "holds at least one atom";
  }
  if (is_positions &&
      shape[0] > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()) / 4) {
    return "counts the bytes of a dimension in 32 bits: at most 536870911 atoms";
  }
  return "";
}

std::string refusal(const model::Attribute& attribute) {
  const auto is = [&](const char* name) {
    return attribute.owner.empty() && attribute.name == name;
  };
  const auto& value = attribute.value;
  if (is("title")) {
    const auto* list = std::get_if<std::vector<std::string>>(&value);
    const auto* text = std::get_if<std::string>(&value);
    const auto fits = [](const std::string& line) { return line.size() <= title_bytes; };
    bool all = list != nullptr || text != nullptr;
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      all = all && fits((*list)[i]);
    }
    return all && (text == nullptr || fits(*text)) ? "" : "has titles of 80 characters at most";
  }
  if (is("first_step") || is("step_interval")) {
    return std::holds_alternative<std::int32_t>(value) ? "" : "keeps that as int32";
  }
  if (is("timestep")) {
    return std::holds_alternative<float>(value) || std::holds_alternative<double>(value)
               ? ""
               : "keeps that as float32";
  }
  if (is("dcd_header")) {
    const auto* words = std::get_if<std::vector<std::int32_t>>(&value);
    const bool fits = words != nullptr && words->size() >= control_words &&
                      (words->size() - control_words) % (title_bytes / 4) == 0;
    return fits ? "" : "takes 20 words of 32 bits there, and 20 more a title";
  }
  const auto is_word = [&](const char* one, const char* other) {
    const auto* text = std::get_if<std::string>(&value);
    return text != nullptr && (*text == one || *text == other);
  };
  if (is("byte_order")) {
    return is_word("little", "big") ? "" : "has the byte order little or big";
  }
  if (is("content")) {
    return is_word("positions", "velocities") ? "" : "has as content positions or velocities";
  }
  if (is(free_atoms_name)) {
    return "has fixed atoms only if another program wrote it";
  }
  if (is("marker_bytes")) {
    const auto* bytes = std::get_if<std::int32_t>(&value);
    return bytes != nullptr && (*bytes == 4 || *bytes == 8) ? "" : "has markers of 4 or 8 bytes";
  }
  return "holds the attributes title, first_step, step_interval, timestep, marker_bytes, "
         "byte_order, content and dcd_header of the file only (no units and descriptions)";
}

std::string change(const model::Attribute& attribute) {
  if (!attribute.owner.empty() || attribute.name != free_atoms_name) {
    return "";
  }
  return "the fixed atoms stand in every frame, no longer in the first one alone";
}

namespace {

/// Of the file; null where it has none of that name and type.
template <class T>
T* find_value(std::vector<model::Attribute>& attributes, const char* name) {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const auto& a) { return a.owner.empty() && a.name == name; });
  return found == attributes.end() ? nullptr : std::get_if<T>(&found->value);
}

}  // namespace

void choose_steps(std::vector<model::Attribute>& attributes, const model::ChosenSteps& chosen) {
  auto* const first_number = find_value<std::int32_t>(attributes, "first_step");
  auto* const interval_number = find_value<std::int32_t>(attributes, "step_interval");
  auto* const words = find_value<std::vector<std::int32_t>>(attributes, "dcd_header");
  if (first_number == nullptr || interval_number == nullptr || words == nullptr ||
      words->size() < control_words) {
    return;
  }
  const std::int64_t old_interval = *interval_number;
  const std::int64_t steps_before = static_cast<std::int64_t>(chosen.first) * old_interval;
  *first_number = in_word(*first_number + steps_before);
  *interval_number = in_word(static_cast<std::int64_t>(chosen.stride) * old_interval);
  Header header;
  std::copy_n(words->begin(), control_words, header.control.begin());
  // The first chosen frame ends at the same step as before.
  const std::int64_t before = step_before(header) + steps_before + old_interval - *interval_number;
  header.control[first_step] = *first_number;
  header.control[interval] = *interval_number;
  set_counts(header, before, chosen.count);
  std::copy_n(header.control.begin(), control_words, words->begin());
}

model::Dims tile_of(const model::Definition& definition) {
  model::Dims tile = definition.shape;
  if (!tile.empty()) {
    tile[0] = std::max<std::uint64_t>(1, tile[0]);
  }
  if (tile.rank() == 2) {
    tile[1] = 1;
  }
  return tile;
}

}  // namespace sluice::layout::dcd
