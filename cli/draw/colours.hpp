// Colours of spins: a wheel of hues for the direction across an axis, lighter along it, darker
// against it; or a scale for the component along it.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "spins/spin_selection.hpp"

namespace sluice::cli {

using Rgb = std::array<double, 3>;  ///< each from 0 to 1

/// The colour at `place`, from 0 to 1, between the entries of a map of 2 or more.
Rgb between(std::span<const Rgb> map, double place);

class SpinColours {
 public:
  /// From a view's map and axes. Error invalid_argument for unknown maps and axes without
  /// direction.
  explicit SpinColours(const View& view);

  /// Grey if the spin has no direction because a component is not finite.
  Rgb of(const double* spin) const;
  /// On the wheel (turn from 0 to 1) in the plane perpendicular to the axis.
  Rgb on_wheel(double turn) const;
  /// For a component along the axis, from -1 to 1.
  Rgb on_scale(double component) const;
  /// Does colour show the direction across the axis (c2 and 3d), or the component along it?
  bool is_wheel() const noexcept { return is_wheel_; }
  /// What the wheel shows to the right, upwards, and towards the eye.
  const std::array<double, 3>& x() const noexcept { return x_; }
  const std::array<double, 3>& y() const noexcept { return y_; }
  const std::array<double, 3>& z() const noexcept { return z_; }

 private:
  std::vector<Rgb> map_;
  bool is_wheel_ = true;
  std::array<double, 3> x_{}, y_{}, z_{};
};

/// "white", "black", "grey", "transparent" (as white) or "r,g,b" from 0 to 1. Error
/// invalid_argument.
Rgb background_of(const std::string& name);

/// Rows of "r g b" from 0 to 1: vdc's custom maps. Error format names the line.
std::vector<Rgb> map_of_text(const std::string& text, const std::string& path);

}  // namespace sluice::cli
