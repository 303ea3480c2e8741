// Bars: parts of a whole, each with its name and a few words, in panels one below the other.
#pragma once

#include <string>
#include <vector>

#include "draw/picture.hpp"

namespace sluice::cli {

struct Bar {
  std::string name;
  double part = 0;    ///< of 1; what is longer is cut at `most`
  std::string words;  ///< behind the bar
  bool is_light = false;
};
struct Bars {
  std::string title;
  std::vector<Bar> bars;
};

/// As high as its bars need.
Picture draw_bars(const std::vector<Bars>& panels, int width);

}  // namespace sluice::cli
