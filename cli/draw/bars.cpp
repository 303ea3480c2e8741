#include "draw/bars.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::cli {

namespace {

constexpr Rgb paper{1, 1, 1};
constexpr Rgb text_colour{0.15, 0.15, 0.15};
constexpr Rgb whole{0.93, 0.93, 0.93};
constexpr Rgb colour_exact{0.12, 0.32, 0.60};
constexpr Rgb colour_lossy{0.20, 0.60, 0.55};
constexpr int letter_scale = 2;
constexpr int letter_height = 7 * letter_scale;
constexpr int row_height = 26;
constexpr int title_height = 40;
constexpr int border = 14;
constexpr int gap = 10;

int widest(const std::vector<Bars>& panels, std::string Bar::*text) {
  int width = 0;
  for (const Bars& panel : panels) {
    for (const Bar& bar : panel.bars) {
      width = std::max(width, Picture::width_of(bar.*text, letter_scale));
    }
  }
  return width;
}

}  // namespace

Picture draw_bars(const std::vector<Bars>& panels, int width) {
  int height = border;
  for (const Bars& panel : panels) {
    height += title_height + row_height * static_cast<int>(panel.bars.size()) + border;
  }
  const int left = border + widest(panels, &Bar::name) + gap;
  const int right = width - border - widest(panels, &Bar::words) - gap;
  const int room = std::max(1, right - left);
  Picture picture(width, height, paper);
  int top = border;
  for (const Bars& panel : panels) {
    picture.write(border, top + 4, panel.title, text_colour, letter_scale);
    top += title_height;
    for (const Bar& bar : panel.bars) {
      const int text_top = top + (row_height - letter_height) / 2;
      const double part = std::clamp(bar.part, 0.0, 1.0);
      picture.write(left - gap - Picture::width_of(bar.name, letter_scale), text_top, bar.name,
                    text_colour, letter_scale);
      picture.fill(left, top + 3, room, row_height - 6, whole);
      picture.fill(left, top + 3, std::max(1, static_cast<int>(std::lround(part * room))),
                   row_height - 6, bar.is_light ? colour_lossy : colour_exact);
      picture.write(right + gap, text_top, bar.words, text_colour, letter_scale);
      top += row_height;
    }
    top += border;
  }
  return picture;
}

}  // namespace sluice::cli
