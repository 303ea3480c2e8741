#include "draw/scene.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "draw/vectors.hpp"

namespace sluice::cli {

namespace {

constexpr int scene_margin = 12;
/// From this radius in pixels on, atoms are shaded and have arrows.
constexpr double shaded_from = 2.0;
constexpr double arrows_from = 7.0;  // and to that of the picture

constexpr const char* no_view = "the camera must not be in the middle of the sample";

/// Flat samples are viewed from above, others from a corner.
Vector eye_of(const View& view, const Extent3& sample) {
  if (!view.camera.empty()) {
    return unit({view.camera[0], view.camera[1], view.camera[2]}, no_view);
  }
  const bool is_flat = sample.size(2) < 0.25 * std::max(sample.size(0), sample.size(1));
  return is_flat ? Vector{0, 0, 1} : unit({0.7, -1, 0.8}, no_view);
}

void draw_sphere(Picture& picture, const Camera::Point& at, double radius, double depth_of_radius,
                 const Rgb& colour) {
  const bool is_shaded = radius >= shaded_from;
  const double reach = std::max(radius, 0.71);
  // Pixels of the picture whose middles are within reach.
  const auto first = [reach](double middle, int size) {
    return static_cast<int>(std::clamp(std::ceil(middle - reach - 0.5), 0.0, double(size)));
  };
  const auto end = [reach](double middle, int size) {
    return static_cast<int>(std::clamp(std::floor(middle + reach + 0.5), 0.0, double(size)));
  };
  const int end_x = end(at.x, picture.width());
  const int end_y = end(at.y, picture.height());
  for (int y = first(at.y, picture.height()); y < end_y; ++y) {
    for (int x = first(at.x, picture.width()); x < end_x; ++x) {
      const double dx = (x + 0.5 - at.x) / reach;
      const double dy = (y + 0.5 - at.y) / reach;
      const double inside = 1 - dx * dx - dy * dy;
      if (inside < 0) {
        continue;
      }
      const double out = std::sqrt(inside);
      // Light from the upper left, behind the eye.
      const double light =
          is_shaded ? std::clamp(0.58 + 0.42 * (0.85 * out - 0.35 * dx - 0.4 * dy), 0.35, 1.0) : 1;
      picture.set(x, y, at.depth - out * depth_of_radius,
                  {light * colour[0], light * colour[1], light * colour[2]});
    }
  }
}

/// From tail to head across an atom; the head is wider.
void draw_arrow(Picture& picture, const Camera::Point& at, double radius, double depth_of_radius,
                const Vector& spin) {
  constexpr Rgb arrow_ink{0.08, 0.08, 0.1};
  const double length = 0.85 * radius;
  const int steps = static_cast<int>(4 * length) + 1;
  // Wide discs lie an eighth of their radius apart: at all steps their pixels would grow with the
  // cube of the radius.
  for (int step = 0, next = 0; step <= steps; ++step) {
    if (step < next) {
      continue;
    }
    const double along = 2.0 * step / steps - 1;
    const double head = along > 0.35 ? 3.2 * (1 - along) / 0.65 : 1;
    const double half = std::max(0.5, radius / 12 * head);
    next = step + std::max(1, static_cast<int>(half / 4));
    const double pace = half > 4 ? 1 : 0.5;
    const double x = at.x + along * length * spin[0];
    const double y = at.y - along * length * spin[1];
    for (double dy = -half; dy <= half; dy += pace) {
      for (double dx = -half; dx <= half; dx += pace) {
        const double column = std::floor(x + dx);
        const double row = std::floor(y + dy);
        // A long spin leads beyond the picture, and beyond what an int holds.
        const bool is_seen =
            column >= 0 && row >= 0 && column < picture.width() && row < picture.height();
        if (is_seen && dx * dx + dy * dy <= half * half) {
          picture.set(static_cast<int>(column), static_cast<int>(row),
                      at.depth - 1.02 * depth_of_radius, arrow_ink);
        }
      }
    }
  }
}

}  // namespace

Camera::Camera(const View& view, const Extent3& sample, double radius, int width, int height)
    : eye_(eye_of(view, sample)), width_(width), height_(height) {
  const bool is_from_above = std::abs(eye_[2]) > 0.99;
  right_ = unit(cross(is_from_above ? Vector{0, 1, 0} : Vector{0, 0, 1}, eye_), no_view);
  up_ = cross(eye_, right_);
  double low[3] = {0, 0, 0};
  double high[3] = {0, 0, 0};
  for (int corner = 0; corner < 8; ++corner) {
    Vector place{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      place[axis] = (corner >> axis & 1) != 0 ? sample.high[axis] : sample.low[axis];
    }
    const double along[3] = {dot(right_, place.data()), dot(up_, place.data()),
                             dot(eye_, place.data())};
    for (int i = 0; i < 3; ++i) {
      low[i] = corner == 0 ? along[i] : std::min(low[i], along[i]);
      high[i] = corner == 0 ? along[i] : std::max(high[i], along[i]);
    }
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    middle_[axis] = sample.low[axis] + view.look_at[axis] * sample.size(axis);
  }
  centre_x_ = dot(right_, middle_.data());
  centre_y_ = dot(up_, middle_.data());
  // The camera may look past the middle: the farther border decides.
  const double half_x = std::max(high[0] - centre_x_, centre_x_ - low[0]) + radius;
  const double half_y = std::max(high[1] - centre_y_, centre_y_ - low[1]) + radius;
  scale_ = std::min((width / 2.0 - scene_margin) / half_x, (height / 2.0 - scene_margin) / half_y) *
           view.zoom;
  if (!(scale_ > 0) || !std::isfinite(scale_)) {
    throw Error(Code::invalid_argument,
                "the atoms' places are not finite, too far apart or too close to draw");
  }
  nearest_ = high[2] + 2 * radius;
  range_ = high[2] - low[2] + 4 * radius;
}

Camera::Point Camera::point(const double* place) const {
  return {width_ / 2.0 + (dot(right_, place) - centre_x_) * scale_,
          height_ / 2.0 - (dot(up_, place) - centre_y_) * scale_,
          (nearest_ - dot(eye_, place)) / range_};
}

std::array<double, 3> Camera::turned(const double* direction) const {
  return {dot(right_, direction), dot(up_, direction), dot(eye_, direction)};
}

double spacing_of(const Extent3& sample, std::uint64_t atoms) {
  const double longest = std::max({sample.size(0), sample.size(1), sample.size(2)});
  if (atoms < 2 || longest == 0) {
    return 2.5;
  }
  // As many grid points as atoms: (Lx/a + 1) (Ly/a + 1) (Lz/a + 1) falls with a.
  double low = 1e-9 * longest;
  double high = longest;
  for (int i = 0; i < 100; ++i) {
    const double a = std::sqrt(low) * std::sqrt(high);  // their product may be no number
    double points = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      points *= sample.size(axis) / a + 1;
    }
    (points > static_cast<double>(atoms) ? low : high) = a;
  }
  return high;
}

double radius_of(const View& view, std::int32_t material, double spacing) {
  const auto number = static_cast<std::size_t>(std::max(material, 0));
  if (view.atom_sizes.empty()) {
    return 0.5 * spacing;
  }
  return view.atom_sizes[std::min(number, view.atom_sizes.size() - 1)] / 2;
}

void draw_atoms(Picture& picture, const Camera& camera, const ChosenAtoms& atoms,
                const SpinColours& colours, const View& view, double spacing) {
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    const double* spin = atoms.spin.data() + 3 * i;
    const double radius = radius_of(view, atoms.material[i], spacing);
    const double pixels = radius * camera.pixels_per_angstrom();
    const double depth = radius / camera.depth_range();
    const Camera::Point at = camera.point(atoms.xyz.data() + 3 * i);
    const double reach = pixels + 1;
    const bool is_seen = at.x >= -reach && at.y >= -reach && at.x <= picture.width() + reach &&
                         at.y <= picture.height() + reach;
    if (!is_seen) {
      continue;  // or not finite
    }
    draw_sphere(picture, at, pixels, depth, colours.of(spin));
    if (is_finite(spin) && pixels >= arrows_from && pixels <= picture.height()) {
      draw_arrow(picture, at, pixels, depth, camera.turned(spin));
    }
  }
}

int legend_columns(int width) { return std::clamp(width / 5, 120, 220); }

namespace {

/// The directions of one half of a sphere, seen along the axis.
void draw_wheel(Picture& picture, const SpinColours& colours, int centre_x, int centre_y,
                int radius, bool is_upper) {
  for (int y = -radius; y <= radius; ++y) {
    for (int x = -radius; x <= radius; ++x) {
      const double across = std::hypot(x, y) / radius;
      if (across > 1) {
        continue;
      }
      const double turn = std::atan2(-y, x) / (2 * std::numbers::pi);
      Rgb rgb = colours.on_wheel(turn);
      const double tilt = std::acos(across) / (std::numbers::pi / 2) * (is_upper ? 1 : -1);
      for (double& part : rgb) {
        part = tilt >= 0 ? part + (1 - part) * tilt : part * (1 + tilt);
      }
      picture.fill(centre_x + x, centre_y + y, 1, 1, rgb);
    }
  }
}

/// "x", "-z"; empty if it is along no axis of the sample.
std::string name_of(const Vector& direction) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (std::abs(direction[axis]) > 1 - 1e-9) {
      return (direction[axis] < 0 ? "-" : "") + std::string(1, "xyz"[axis]);
    }
  }
  return "";
}

/// Above a wheel.
std::string wheel_title(const SpinColours& colours, bool is_upper) {
  const std::string name = name_of(colours.z());
  if (name.empty()) {
    return is_upper ? "with the axis" : "against it";
  }
  const bool is_along = is_upper == (name[0] != '-');
  return std::string("spins with ") + (is_along ? "+" : "-") + name.back();
}

}  // namespace

void draw_legend(Picture& picture, const SpinColours& colours, const View& view, int left,
                 const std::vector<std::string>& lines) {
  const Rgb paper = background_of(view.background);
  const bool is_dark = paper[0] + paper[1] + paper[2] < 1.5;
  const Rgb ink = is_dark ? Rgb{0.95, 0.95, 0.95} : Rgb{0.1, 0.1, 0.1};
  const int columns = picture.width() - left;
  const int scale = columns >= 190 ? 2 : 1;
  const int line_pixels = 13 * scale;
  picture.fill(left, 0, columns, picture.height(), paper);
  int y = 2 * scene_margin;
  for (const std::string& line : lines) {
    picture.write(left + scene_margin, y, line, ink, scale);
    y += line_pixels;
  }
  y += scene_margin;
  const int middle = left + columns / 2;
  if (!colours.is_wheel()) {
    const int bar = std::min(200, picture.height() - y - 4 * scene_margin);
    picture.write(left + scene_margin, y, "spin along axis", ink, scale);
    y += line_pixels + 4;
    for (int row = 0; row < bar; ++row) {
      picture.fill(left + 2 * scene_margin, y + row, 22, 1,
                   colours.on_scale(1 - 2.0 * row / (bar - 1)));
    }
    for (const int mark : {1, 0, -1}) {
      const int at = y + (1 - mark) * (bar - 1) / 2;
      picture.fill(left + 2 * scene_margin + 22, at, 6, 1, ink);
      picture.write(left + 2 * scene_margin + 32, std::min(at, y + bar - 4) - 3,
                    (mark > 0   ? "+"
                     : mark < 0 ? "-"
                                : " ") +
                        std::to_string(std::abs(mark)),
                    ink, scale);
    }
    return;
  }
  const int row_pixels = line_pixels + 8 * scale + 2 * scene_margin;
  const int radius = std::max(1, std::min({(columns - 6 * scene_margin) / 2,
                                           ((picture.height() - y) / 2 - row_pixels) / 2, 60}));
  for (const bool is_upper : {true, false}) {
    const std::string title = wheel_title(colours, is_upper);
    picture.write(middle - Picture::width_of(title, scale) / 2, y, title, ink, scale);
    y += line_pixels + 8 * scale;
    draw_wheel(picture, colours, middle, y + radius, radius, is_upper);
    picture.write(middle + radius + 5, y + radius - 3, name_of(colours.x()), ink, scale);
    picture.write(middle - 2 * scale, y - 8 * scale, name_of(colours.y()), ink, scale);
    y += 2 * radius + 2 * scene_margin;
  }
}

}  // namespace sluice::cli
