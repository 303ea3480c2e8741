#include "commit/output/rounding_notes.hpp"

#include "layout/rounding.hpp"

#ifndef SLUICE_VERSION
#error "the build defines SLUICE_VERSION"
#endif

namespace sluice::commit {

RoundingNotes::Notes RoundingNotes::of(const std::string& variable, const codec::Rounding& rounding,
                                       const Description& description) {
  const codec::Quantiser& quantiser = *rounding.quantiser;
  Notes notes;
  notes.attributes.push_back({variable, quantiser.attribute, std::int32_t{rounding.kept}});
  const layout::Format& format = description.format();
  if (!format.quantization) {
    return notes;
  }
  auto found = containers_.find(&quantiser);
  if (found == containers_.end()) {
    found = containers_.emplace(&quantiser, add_container(quantiser, description, notes)).first;
  }
  notes.attributes.push_back({variable, layout::quantization_attribute, found->second});
  notes.attributes.push_back({variable, quantiser.cf_attribute, std::int32_t{rounding.kept}});
  if (may_name_conventions_ && *format.conventions != '\0') {
    may_name_conventions_ = false;
    notes.attributes.push_back({"", "Conventions", std::string(format.conventions)});
  }
  return notes;
}

/// The first algorithm has the name of CF's examples. Of a variable that is there already it is not
/// known here which algorithm it names, unless its name says so.
std::string RoundingNotes::add_container(const codec::Quantiser& quantiser,
                                         const Description& description, Notes& notes) {
  std::string name = layout::quantization_container;
  if (description.find(name)) {
    name += "_" + std::string(quantiser.algorithm);
  }
  if (!description.find(name)) {
    model::Definition container;
    container.name = name;
    container.type = type_of<std::int8_t>();
    notes.container = container;
    notes.attributes.push_back({name, "algorithm", std::string(quantiser.algorithm)});
    notes.attributes.push_back(
        {name, "implementation", std::string("Sluice version " SLUICE_VERSION)});
  }
  return name;
}

void RoundingNotes::see(const model::Attribute& attribute) {
  if (attribute.owner.empty() && attribute.name == "Conventions") {
    may_name_conventions_ = false;
  }
}

}  // namespace sluice::commit
