// Atoms as a picture: position and size of each, and the camera.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "draw/picture.hpp"
#include "spins/spin_selection.hpp"

namespace sluice::cli {

/// A parallel projection of a sample along one direction, all of it in the picture.
class Camera {
 public:
  /// `radius`: of an atom, so that those at the border are not cut. A zoom above 1 cuts on purpose.
  Camera(const View& view, const Extent3& sample, double radius, int width, int height);

  struct Point {
    double x = 0;      ///< pixels from the left
    double y = 0;      ///< pixels from the top
    double depth = 0;  ///< from 0 (nearest) to 1
  };
  Point point(const double* place) const;
  /// Components of a direction to the right, upwards and towards the eye.
  std::array<double, 3> turned(const double* direction) const;
  double pixels_per_angstrom() const noexcept { return scale_; }
  double depth_range() const noexcept { return range_; }  ///< Angstrom
  const std::array<double, 3>& to_eye() const noexcept { return eye_; }
  const std::array<double, 3>& right() const noexcept { return right_; }
  const std::array<double, 3>& up() const noexcept { return up_; }
  const std::array<double, 3>& middle() const noexcept { return middle_; }

 private:
  std::array<double, 3> right_{}, up_{}, eye_{}, middle_{};
  double centre_x_ = 0, centre_y_ = 0;  ///< what is in the middle of the picture
  double scale_ = 1;
  double nearest_ = 0;
  double range_ = 1;
  int width_;
  int height_;
};

/// The distance of neighbours if the atoms were on a regular grid in their box.
double spacing_of(const Extent3& sample, std::uint64_t atoms);

/// Radius of an atom of a material, Angstrom.
double radius_of(const View& view, std::int32_t material, double spacing);

/// This rank's atoms: spheres in the colours of their spins, with arrows if they are large enough.
void draw_atoms(Picture& picture, const Camera& camera, const ChosenAtoms& atoms,
                const SpinColours& colours, const View& view, double spacing);

/// The meaning of the colours and what is shown, in a column that starts at `left`.
void draw_legend(Picture& picture, const SpinColours& colours, const View& view, int left,
                 const std::vector<std::string>& lines);

/// Columns of a legend.
int legend_columns(int width);

}  // namespace sluice::cli
