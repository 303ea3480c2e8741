#include "layout/vtkhdf/attributes.hpp"

#include "layout/vtkhdf/rules.hpp"

namespace sluice::layout::vtkhdf {

bool is_version(const model::Attribute& attribute) {
  return attribute.owner == group && attribute.name == version_name;
}

std::string refuse_attribute(const model::Attribute& attribute) {
  if (attribute.owner == steps_group) {
    return "keeps the attributes of " + attribute.owner + " by itself: leave it out";
  }
  const auto* text = std::get_if<std::string>(&attribute.value);
  if (attribute.owner == group && attribute.name == type_attribute &&
      (text == nullptr || kind_named(*text) == Kind::none)) {
    return "holds ImageData, UnstructuredGrid and PolyData: set Type to one of these";
  }
  return "";
}

std::vector<std::int64_t> extent_of(const model::Dims& shape, bool is_of_points) {
  std::vector<std::int64_t> extent(6, 0);
  for (int axis = 0; axis < 3 && axis < shape.rank(); ++axis) {
    const auto points = static_cast<std::int64_t>(shape[shape.rank() - 1 - axis]);
    extent[2 * static_cast<std::size_t>(axis) + 1] = is_of_points ? points - 1 : points;
  }
  return extent;
}

}  // namespace sluice::layout::vtkhdf
