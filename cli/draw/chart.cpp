#include "draw/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <limits>

#include "text/text.hpp"

namespace sluice::cli {

namespace {

constexpr Rgb white{1, 1, 1};
constexpr Rgb ink{0.15, 0.15, 0.15};
constexpr Rgb faint{0.88, 0.88, 0.88};
constexpr Rgb nothing{0.75, 0.75, 0.75};
constexpr int tick = 5;
constexpr int bar_width = 18;

/// Dark blue over green to yellow, even to the eye and without red against green.
constexpr std::array<Rgb, 9> scale{
    Rgb{0.267, 0.005, 0.329}, Rgb{0.279, 0.175, 0.483}, Rgb{0.230, 0.322, 0.546},
    Rgb{0.173, 0.449, 0.558}, Rgb{0.128, 0.567, 0.551}, Rgb{0.158, 0.684, 0.502},
    Rgb{0.369, 0.789, 0.383}, Rgb{0.678, 0.864, 0.190}, Rgb{0.993, 0.906, 0.144}};

/// The length of an axis, finite: the difference of -1e308 and 1e308 is infinite.
double length_of(double low, double high) {
  return std::min(high - low, std::numeric_limits<double>::max());
}

/// Round numbers from low to high, about `wanted` of them, at least `least_step` apart.
std::vector<double> ticks_of(double low, double high, int wanted, double least_step = 0) {
  const double rough = length_of(low, high) / std::max(1, wanted);
  std::vector<double> ticks;
  if (!(rough > 0) || !std::isfinite(rough)) {
    return ticks;
  }
  const double unit = std::pow(10, std::floor(std::log10(rough)));
  const double ratio = rough / unit;
  const double round = unit * (ratio < 1.5 ? 1 : ratio < 3.5 ? 2 : ratio < 7.5 ? 5 : 10);
  const double step = std::max(least_step, round);
  for (double at = std::ceil(low / step); at * step - high <= step * 1e-9; at += 1) {
    ticks.push_back(at * step == 0 ? 0 : at * step);
    if (ticks.size() > 100) {
      break;
    }
  }
  return ticks;
}

/// With as many digits as tell neighbouring ticks of an axis of that length apart.
std::string tick_text(double value, double range) {
  if (std::abs(value) < range * 1e-9) {
    return "0";
  }
  const double digits = std::ceil(std::log10(std::abs(value) / range)) + 3;
  return fmt::format("{:.{}g}", value, static_cast<int>(std::clamp(digits, 6.0, 17.0)));
}

/// Where a value lies between two: 0 to 1, beyond that outside. By halves only where the difference
/// is infinite: half of the smallest number is 0.
double part_between(double value, double low, double high) {
  const double length = high - low;
  return std::isfinite(length) ? (value - low) / length
                               : (value / 2 - low / 2) / (high / 2 - low / 2);
}

/// The same; those outside at the nearer end.
double part_of(double value, double low, double high) {
  const double part = part_between(value, low, high);
  return part > 0 ? std::min(part, 1.0) : 0;
}

/// The rectangle of the data, and what is written around it.
class Plane {
 public:
  Plane(const Frame& frame, bool has_bar)
      : frame_(frame),
        picture_(frame.width, frame.height, white),
        scale_(frame.width < small_width || frame.height < small_height ? 1 : 2) {
    right_ = frame.width;
    bottom_ = frame.height;
    if (frame.is_bare) {
      return;
    }
    for (const double value : ticks_of(frame.low, frame.high, 6)) {
      widest_ = std::max(widest_, width_of(tick_text(value, range())));
    }
    // Beside a field stand rows, beside lines the values.
    left_ = margin() + (has_bar ? 7 * 6 * scale_ : widest_) + 2 * tick;
    top_ = margin() + 2 * line_height() + tick;
    right_ -= margin() + (has_bar ? bar_width + widest_ + 4 * tick : 0) + 2 * margin();
    bottom_ -= margin() + 2 * line_height() + 2 * tick;
    right_ = std::max(right_, left_ + 1);
    bottom_ = std::max(bottom_, top_ + 1);
  }

  Picture& picture() { return picture_; }
  const Frame& frame() const { return frame_; }
  int left() const { return left_; }
  int top() const { return top_; }
  int columns() const { return right_ - left_; }
  int rows() const { return bottom_ - top_; }
  double range() const { return length_of(frame_.low, frame_.high); }
  int column_of(double x) const {
    const double part = part_of(x, frame_.x_low, frame_.x_high);
    return left_ + static_cast<int>(std::lround(part * (columns() - 1)));
  }
  int row_of(double y) const {
    const double part = part_of(y, frame_.low, frame_.high);
    return bottom_ - 1 - static_cast<int>(std::lround(part * (rows() - 1)));
  }

  void titles() {
    write(margin(), margin(), shown(frame_.title, frame_.width - 2 * margin()));
    write(left_, margin() + line_height(), shown(frame_.y_title, columns()));
    const std::string x = shown(frame_.x_title, columns());
    write(left_ + (columns() - width_of(x)) / 2, frame_.height - margin() - 7 * scale_, x);
  }
  void x_scale() {
    int free_from = 0;
    for (const double value : ticks_of(frame_.x_low, frame_.x_high, columns() / (55 * scale_),
                                       frame_.x_is_index ? 1 : 0)) {
      const int column = column_of(value);
      picture_.fill(column, bottom_, 1, tick, ink);
      const std::string text = tick_text(value, length_of(frame_.x_low, frame_.x_high));
      const int width = width_of(text);
      const int at = std::min(column - width / 2, frame_.width - width);
      if (at >= free_from) {
        write(at, bottom_ + tick + 2, text);
        free_from = at + width + 6 * scale_;
      }
    }
  }
  /// A scale at the left, of values or of rows; `place` gives the pixel of one.
  template <class Place>
  void left_scale(double low, double high, Place&& place, bool is_of_rows) {
    for (const double value : ticks_of(low, high, rows() / (35 * scale_), is_of_rows ? 1 : 0)) {
      const int row = place(value);
      if (!is_of_rows) {
        picture_.fill(left_, row, columns(), 1, faint);
      }
      picture_.fill(left_ - tick, row, tick, 1, ink);
      const std::string text = tick_text(value, length_of(low, high));
      write(left_ - tick - 2 - width_of(text), row - 7 * scale_ / 2, text);
    }
  }
  void colour_bar() {
    const int at = right_ + margin();
    for (int row = 0; row < rows(); ++row) {
      const double part = 1 - static_cast<double>(row) / std::max(1, rows() - 1);
      picture_.fill(at, top_ + row, bar_width, 1, between(scale, part));
    }
    for (const double value : ticks_of(frame_.low, frame_.high, 6)) {
      picture_.fill(at + bar_width, row_of(value), tick, 1, ink);
      write(at + bar_width + tick + 2, row_of(value) - 7 * scale_ / 2, tick_text(value, range()));
    }
    const std::string title = shown(frame_.value_title, frame_.width - margin());
    write(frame_.width - margin() - width_of(title), margin() + line_height(), title);
  }
  void border() {
    picture_.fill(left_ - 1, top_ - 1, columns() + 2, 1, ink);
    picture_.fill(left_ - 1, bottom_, columns() + 2, 1, ink);
    picture_.fill(left_ - 1, top_ - 1, 1, rows() + 2, ink);
    picture_.fill(right_, top_ - 1, 1, rows() + 2, ink);
  }

 private:
  /// Below these, letters are small.
  static constexpr int small_width = 400;
  static constexpr int small_height = 300;

  int line_height() const { return 9 * scale_; }
  int margin() const { return 6 * scale_; }
  int width_of(const std::string& text) const { return Picture::width_of(text, scale_); }
  void write(int x, int y, const std::string& text) { picture_.write(x, y, text, ink, scale_); }
  std::string shown(const std::string& text, int width) const {
    const auto most = static_cast<std::size_t>(std::max(0, width) / (6 * scale_));
    return shortened(text, most);
  }

  const Frame& frame_;
  Picture picture_;
  int scale_;
  int left_ = 0, top_ = 0, right_ = 0, bottom_ = 0;
  int widest_ = 0;
};

/// The part of a segment between `low` and `high` of one coordinate; false: there is none.
bool cut(Point& from, Point& to, double Point::*axis, double low, double high) {
  if (std::max(from.*axis, to.*axis) < low || std::min(from.*axis, to.*axis) > high) {
    return false;
  }
  const Point a = from;
  const Point b = to;
  const auto at = [&](double value) {
    const double part = part_between(value, a.*axis, b.*axis);
    Point point{(1 - part) * a.x + part * b.x, (1 - part) * a.y + part * b.y};
    point.*axis = value;  // not what rounding makes of it
    return point;
  };
  const auto moved = [&](const Point& end) {
    return end.*axis < low ? at(low) : end.*axis > high ? at(high) : end;
  };
  const Point cut_from = moved(from);
  to = moved(to);
  from = cut_from;
  return true;
}

void draw_segment(Plane& plane, Point from, Point to, const Rgb& colour) {
  const Frame& frame = plane.frame();
  if (!cut(from, to, &Point::x, frame.x_low, frame.x_high) ||
      !cut(from, to, &Point::y, frame.low, frame.high)) {
    return;
  }
  const int x0 = plane.column_of(from.x);
  const int y0 = plane.row_of(from.y);
  const int dx = plane.column_of(to.x) - x0;
  const int dy = plane.row_of(to.y) - y0;
  const int steps = std::max({1, std::abs(dx), std::abs(dy)});
  for (std::int64_t i = 0; i <= steps; ++i) {
    plane.picture().fill(x0 + static_cast<int>(dx * i / steps),
                         y0 + static_cast<int>(dy * i / steps), 2, 2, colour);
  }
}

bool is_there(const Curve& curve, std::size_t i) {
  return i < curve.points.size() && std::isfinite(curve.points[i].y);
}

/// A point between two gaps belongs to no segment.
bool is_alone(const Curve& curve, std::size_t i) {
  return is_there(curve, i) && !is_there(curve, i - 1) && !is_there(curve, i + 1);
}

void draw_line(Plane& plane, const Curve& curve) {
  const Frame& frame = plane.frame();
  constexpr int dot = 4;
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const Point& here = curve.points[i];
    if (is_there(curve, i) && is_there(curve, i + 1)) {
      draw_segment(plane, here, curve.points[i + 1], curve.colour);
    } else if (is_alone(curve, i) && here.y >= frame.low && here.y <= frame.high) {
      plane.picture().fill(plane.column_of(here.x) + 1 - dot / 2,
                           plane.row_of(here.y) + 1 - dot / 2, dot, dot, curve.colour);
    }
  }
}

void shade(Plane& plane, const Curve& curve) {
  const Frame& frame = plane.frame();
  Rgb light{};
  std::transform(curve.colour.begin(), curve.colour.end(), light.begin(),
                 [](double part) { return 0.75 + 0.25 * part; });
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const std::size_t next = is_alone(curve, i) ? i : i + 1;
    if (!is_there(curve, i) || !is_there(curve, next)) {
      continue;
    }
    const int from = plane.column_of(curve.points[i].x);
    const int to = plane.column_of(curve.points[next].x);  // may be left of `from`
    for (int column = std::min(from, to); column <= std::max(from, to); ++column) {
      const double part = to == from ? 0 : static_cast<double>(column - from) / (to - from);
      const double low = (1 - part) * curve.points[i].y + part * curve.points[next].y;
      const double high = (1 - part) * curve.up_to[i] + part * curve.up_to[next];
      if (low <= frame.high && high >= frame.low) {
        const int top = plane.row_of(high);
        plane.picture().fill(column, top, 1, plane.row_of(low) - top + 1, light);
      }
    }
  }
}

}  // namespace

void set_range(Frame& frame, double least, double most) {
  frame.low = std::isfinite(least) ? least : 0;
  frame.high = std::isfinite(most) ? most : 1;
  if (!(frame.high > frame.low)) {
    const double room = frame.low == 0 ? 1 : std::abs(frame.low) * 0.01;
    constexpr double most_there_is = std::numeric_limits<double>::max();
    frame.low = std::max(frame.low - room, -most_there_is);
    frame.high = std::min(frame.high + room, most_there_is);
  }
}

Picture draw_field(const Grid& grid, const Frame& frame) {
  Plane plane(frame, true);
  const auto wide = static_cast<std::uint64_t>(plane.columns());
  const auto high = static_cast<std::uint64_t>(plane.rows());
  for (std::uint64_t y = 0; y < high && !grid.values.empty(); ++y) {
    const std::uint64_t from = frame.y_is_upwards ? high - 1 - y : y;
    for (std::uint64_t x = 0; x < wide; ++x) {
      const double value =
          grid.values[from * grid.rows / high * grid.columns + x * grid.columns / wide];
      plane.picture().fill(
          plane.left() + static_cast<int>(x), plane.top() + static_cast<int>(y), 1, 1,
          std::isfinite(value) ? between(scale, part_of(value, frame.low, frame.high)) : nothing);
    }
  }
  if (!frame.is_bare) {
    plane.titles();
    plane.x_scale();
    const auto rows = static_cast<double>(std::max(1, plane.rows() - 1));
    const double last = frame.y_high - frame.y_low;
    plane.left_scale(
        frame.y_low, frame.y_high,
        [&](double row) {
          const double part = (row - frame.y_low) / std::max(last, 1e-300);
          return plane.top() +
                 static_cast<int>(std::lround((frame.y_is_upwards ? 1 - part : part) * rows));
        },
        true);
    plane.colour_bar();
    plane.border();
  }
  return std::move(plane.picture());
}

Picture draw_curves(const std::vector<Curve>& curves, const Frame& frame) {
  Plane plane(frame, false);
  if (!frame.is_bare) {
    plane.left_scale(
        frame.low, frame.high, [&](double value) { return plane.row_of(value); }, false);
    plane.titles();
    plane.x_scale();
    plane.border();
  }
  for (const Curve& curve : curves) {
    if (!curve.up_to.empty()) {
      shade(plane, curve);
      continue;
    }
    draw_line(plane, curve);
  }
  return std::move(plane.picture());
}

}  // namespace sluice::cli
