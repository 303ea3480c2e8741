// Charts: a field in colours, and lines over an axis, with scales and titles.
#pragma once

#include <string>
#include <vector>

#include "draw/field.hpp"
#include "draw/picture.hpp"

namespace sluice::cli {

/// What a chart says, and how large it is.
struct Frame {
  int width = 900;
  int height = 600;
  bool is_bare = false;  ///< the field or the lines alone, without scales and words
  std::string title;
  std::string x_title;
  std::string y_title;
  double x_low = 0;
  double x_high = 1;
  bool x_is_index = false;  ///< of a dimension: nothing lies between two whole numbers
  double y_low = 0;         ///< of a field: of its first row
  double y_high = 1;
  bool y_is_upwards = false;  ///< the first row of a field is at the bottom
  /// Of the values: the colours of a field, the height of lines.
  double low = 0;
  double high = 1;
  std::string value_title;
};

/// From the least to the most of some values, with a little room where all are one.
void set_range(Frame& frame, double least, double most);

/// One row of the grid a row of the picture; what is NaN is grey.
Picture draw_field(const Grid& grid, const Frame& frame);

struct Point {
  double x = 0;
  double y = 0;  ///< NaN: a gap
};
struct Curve {
  std::vector<Point> points;
  Rgb colour{0.12, 0.32, 0.60};
  /// Of as many points: what is between the two is shaded.
  std::vector<double> up_to = {};
};
Picture draw_curves(const std::vector<Curve>& curves, const Frame& frame);

}  // namespace sluice::cli
