// A picture with a depth buffer: nearer points hide those behind. Pictures of several ranks are
// merged.
//
// Invariant: the result does not depend on which rank drew what: a pixel shows the nearest point,
// and of equally near ones the darker colour.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "draw/colours.hpp"
#include "exec/transport/transport.hpp"

namespace sluice::cli {

class Picture {
 public:
  Picture(int width, int height, const Rgb& background);

  int width() const noexcept { return width_; }
  int height() const noexcept { return height_; }
  /// `depth`: from the eye, from 0 (nearest) to 1. Outside of the picture: nothing.
  void set(int x, int y, double depth, const Rgb& colour);
  /// Collective: every rank gets the merged picture.
  void unite(exec::Transport& transport);

  // -- over everything, after unite() -------------------------------------------------------------
  void fill(int x, int y, int columns, int rows, const Rgb& colour);
  /// UTF-8 text, 5 x 7 dots each `scale` pixels wide. Returns the width in pixels.
  int write(int x, int y, const std::string& text, const Rgb& colour, int scale);
  static int width_of(const std::string& text, int scale);

  /// Rows from the top, red, green and blue of a byte each.
  std::vector<std::uint8_t> bytes() const;

 private:
  int width_;
  int height_;
  std::vector<std::int64_t> pixels_;  ///< depth, then colour: the smallest value is visible
};

/// Was it built with libpng?
bool can_encode_png() noexcept;
/// Of 3 bytes a pixel. Error unsupported where it is built without libpng.
std::vector<std::byte> encode_png(const std::vector<std::uint8_t>& rgb, int width, int height);

}  // namespace sluice::cli
