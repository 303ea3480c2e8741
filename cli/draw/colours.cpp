#include "draw/colours.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>

#include "draw/vectors.hpp"
#include "sluice/error.hpp"

namespace sluice::cli {

namespace {

constexpr const char* no_axis = "vector-x and vector-z must have directions, and different ones";

/// Colours of a map, evenly spaced.
std::vector<Rgb> corners_of(const std::string& name) {
  if (name == "c2") {  // a closed wheel
    return {{0.88, 0.20, 0.16}, {0.93, 0.62, 0.10}, {0.62, 0.76, 0.13}, {0.10, 0.66, 0.42},
            {0.07, 0.55, 0.78}, {0.26, 0.32, 0.82}, {0.72, 0.22, 0.62}, {0.88, 0.20, 0.16}};
  }
  if (name == "bwr") {
    return {{0.10, 0.20, 0.70},
            {0.55, 0.68, 0.92},
            {0.97, 0.97, 0.97},
            {0.95, 0.60, 0.50},
            {0.72, 0.08, 0.12}};
  }
  if (name == "cbwr") {  // closed: blue, white, red, black and back
    return {{0.10, 0.20, 0.75},
            {0.97, 0.97, 0.97},
            {0.78, 0.10, 0.12},
            {0.10, 0.10, 0.10},
            {0.10, 0.20, 0.75}};
  }
  if (name == "rainbow") {
    return {{0.16, 0.10, 0.60}, {0.10, 0.45, 0.90}, {0.10, 0.75, 0.60},
            {0.65, 0.85, 0.20}, {0.98, 0.75, 0.10}, {0.80, 0.10, 0.08}};
  }
  throw Error(Code::invalid_argument, "colour map '" + name +
                                          "': use c2, bwr, cbwr, rainbow, or a file of "
                                          "rows of red, green and blue");
}

}  // namespace

Rgb between(std::span<const Rgb> map, double place) {
  const double at = std::clamp(place, 0.0, 1.0) * static_cast<double>(map.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(at), map.size() - 2);
  const double part = at - static_cast<double>(low);
  Rgb rgb{};
  for (std::size_t i = 0; i < 3; ++i) {
    rgb[i] = (1 - part) * map[low][i] + part * map[low + 1][i];
  }
  return rgb;
}

SpinColours::SpinColours(const View& view)
    : map_(view.custom_map.empty() ? corners_of(view.colour_map) : view.custom_map),
      is_wheel_(view.is_3d || view.colour_map == "c2" || view.colour_map == "cbwr" ||
                !view.custom_map.empty()) {
  z_ = unit({view.vector_z[0], view.vector_z[1], view.vector_z[2]}, no_axis);
  Vector x{view.vector_x[0], view.vector_x[1], view.vector_x[2]};
  if (view.vector_x == std::vector<double>{1, 0, 0} && std::abs(z_[0]) > 0.9) {
    x = {0, 0, -1};  // the default is not orthogonal to such a z
  }
  const double along = dot(z_, x.data());
  x_ = unit({x[0] - along * z_[0], x[1] - along * z_[1], x[2] - along * z_[2]}, no_axis);
  y_ = cross(z_, x_);
}

Rgb SpinColours::on_wheel(double turn) const { return between(map_, turn - std::floor(turn)); }

Rgb SpinColours::on_scale(double component) const { return between(map_, (component + 1) / 2); }

Rgb SpinColours::of(const double* spin) const {
  const Vector along{dot(x_, spin), dot(y_, spin), dot(z_, spin)};
  if (!is_finite(along.data())) {
    return {0.75, 0.75, 0.75};
  }
  const auto [x, y, z] = along;
  if (!is_wheel_) {
    return on_scale(z);
  }
  Rgb rgb = on_wheel(std::atan2(y, x) / (2 * std::numbers::pi));
  // Towards white along the axis, towards black against it.
  const double tilt = std::atan2(z, std::hypot(x, y)) / (std::numbers::pi / 2);
  for (double& part : rgb) {
    part = tilt >= 0 ? part + (1 - part) * tilt : part * (1 + tilt);
  }
  return rgb;
}

Rgb background_of(const std::string& name) {
  if (name == "white" || name == "White" || name == "transparent") {
    return {1, 1, 1};
  }
  if (name == "black" || name == "Black") {
    return {0, 0, 0};
  }
  if (name == "grey" || name == "gray" || name == "Gray30" || name == "Gray") {
    return {0.3, 0.3, 0.3};
  }
  const bool is_list = name.find(',') != std::string::npos;
  const std::vector<double> parts =
      is_list ? numbers_of("background", name) : std::vector<double>{};
  if (parts.size() != 3 ||
      !std::all_of(parts.begin(), parts.end(), [](double p) { return p >= 0 && p <= 1; })) {
    throw Error(Code::invalid_argument, "background " + name +
                                            ": use white, black, grey, or red,green,blue "
                                            "from 0 to 1");
  }
  return {parts[0], parts[1], parts[2]};
}

std::vector<Rgb> map_of_text(const std::string& text, const std::string& path) {
  std::vector<Rgb> map;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) {
      continue;
    }
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream words(line);
    Rgb rgb{};
    const bool is_row = static_cast<bool>(words >> rgb[0] >> rgb[1] >> rgb[2]);
    if (!is_row ||
        std::any_of(rgb.begin(), rgb.end(), [](double p) { return !(p >= 0 && p <= 1); })) {
      throw Error(Code::format, path + ": row " + std::to_string(map.size() + 1) +
                                    " is not red, green and blue from 0 to 1");
    }
    map.push_back(rgb);
  }
  if (map.size() < 2) {
    throw Error(Code::format, path + ": a colour map needs at least 2 rows (vdc's have 256)");
  }
  return map;
}

}  // namespace sluice::cli
