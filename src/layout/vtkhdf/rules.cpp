#include "layout/vtkhdf/rules.hpp"

#include <algorithm>

#include "model/kinds.hpp"

namespace sluice::layout::vtkhdf {

namespace {

/// The group of the name below VTKHDF, and what is left of it.
std::pair<std::string_view, std::string_view> split(std::string_view name) {
  const std::size_t slash = name.find('/');
  return slash == std::string_view::npos ? std::pair(std::string_view(), name)
                                         : std::pair(name.substr(0, slash), name.substr(slash + 1));
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_topology(std::string_view name) {
  return is_one_of(name, {"Vertices", "Lines", "Polygons", "Strips"});
}

bool is_known(std::string_view below) {
  const auto [folder, name] = split(below);
  if (folder == "PointData" || folder == "CellData") {
    return name.find('/') == std::string_view::npos;
  }
  const bool is_of_cells = is_one_of(name, {"Connectivity", "Offsets"});
  return folder.empty() ? is_of_cells || is_one_of(name, {"Points", "Types"})
                        : is_topology(folder) && is_of_cells;
}

/// Why an array of points or cells is not of the shape and type that VTK reads.
std::string refuse_shape(const model::Definition& d, std::string_view below) {
  const std::string_view name = split(below).second;
  if (below == "Points" && (d.shape.rank() != 2 || d.shape[1] != 3)) {
    return "holds points of three coordinates: give Points the shape (points, 3)";
  }
  if (below == "Types" && (d.shape.rank() != 1 || d.type != type_of<std::uint8_t>())) {
    return "holds types of cells as bytes: define Types as uint8 of shape (cells)";
  }
  if (is_one_of(name, {"Connectivity", "Offsets"}) && split(below).first != "PointData" &&
      split(below).first != "CellData" &&
      (d.shape.rank() != 1 || !model::is_integer(d.type.kind))) {
    return "holds ids as integers: define " + std::string(below) + " as int64 of one dimension";
  }
  return "";
}

}  // namespace

Kind kind_named(std::string_view text) {
  return text == "ImageData"          ? Kind::image
         : text == "UnstructuredGrid" ? Kind::unstructured
         : text == "PolyData"         ? Kind::poly
                                      : Kind::none;
}

bool is_bookkeeping(std::string_view name) {
  if (!is_array(name)) {
    return false;
  }
  const std::string_view below = name.substr(prefix.size());
  const auto [folder, last] = split(below);
  return folder == "Steps" || below == "Steps" ||
         ((folder.empty() || is_topology(folder)) &&
          is_one_of(last, {"NumberOfPoints", "NumberOfCells", "NumberOfConnectivityIds"}));
}

std::string refuse_definition(const model::Definition& d) {
  if (!is_array(d.name)) {
    return "";
  }
  const std::string_view below = std::string_view(d.name).substr(prefix.size());
  if (is_bookkeeping(d.name)) {
    return "keeps this by itself: leave it out";
  }
  if (!is_known(below)) {
    return "knows Points, Connectivity, Offsets, Types, PointData/..., CellData/... and Vertices/, "
           "Lines/, Polygons/, Strips/ with Connectivity and Offsets in the group VTKHDF: put it "
           "into another group";
  }
  if (d.shape.empty()) {
    return "holds arrays in the group VTKHDF: a scalar belongs into another group";
  }
  if (!d.dimensions.empty()) {
    return "names no dimensions in the group VTKHDF: leave them out";
  }
  const bool is_number = model::is_integer(d.type.kind) || d.type.kind == sluice::Kind::f32 ||
                         d.type.kind == sluice::Kind::f64;
  return is_number ? refuse_shape(d, below) : "holds integers, float32 and float64 in VTKHDF";
}

}  // namespace sluice::layout::vtkhdf
