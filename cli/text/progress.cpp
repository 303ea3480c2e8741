#include "text/progress.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

#include "model/name.hpp"
#include "text/text.hpp"

namespace sluice::cli {

namespace {

constexpr std::chrono::milliseconds quiet_time{2000};
constexpr std::chrono::milliseconds redraw_time{100};

}  // namespace

Progress::Progress(const std::string& label, bool is_shown, Unit unit)
    : label_(model::escaped(label, model::Shown::line)),
      is_shown_(is_shown && isatty(STDERR_FILENO) == 1),
      unit_(unit),
      next_(began_ + quiet_time) {}

Progress::~Progress() {
  if (is_drawn_) {
    std::fputs("\r\033[K", stderr);
  }
}

void Progress::update(std::uint64_t done, std::uint64_t total) {
  if (!is_shown_) {
    return;
  }
  const auto now = Clock::now();
  if (now < next_) {
    return;
  }
  next_ = now + redraw_time;
  is_drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - began_).count();
  fmt::print(stderr, "\r{}\033[K", line(label_, done, total, seconds, unit_));
  std::fflush(stderr);
}

std::string Progress::line(const std::string& label, std::uint64_t done, std::uint64_t total,
                           double seconds, Unit unit) {
  constexpr std::size_t cells = 20;
  const double share =
      total == 0 ? 1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const auto filled = static_cast<std::size_t>(share * cells);
  const std::string bar = std::string(filled, '#') + std::string(cells - filled, '.');
  const double left = share > 0 ? seconds * (1 - share) / share : 0;
  const std::string much =
      unit == Unit::bytes ? rate_text(done, seconds) : fmt::format("{} of {}", done, total);
  return fmt::format("{}  [{}] {:3.0f} %  {}  {} left", shortened(label, 24), bar, share * 100,
                     much, seconds_text(left));
}

}  // namespace sluice::cli
