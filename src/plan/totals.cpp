#include "plan/totals.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace sluice::plan {

Totals& Totals::operator+=(const Totals& other) {
  files += other.files;
  writers += other.writers;
  moved_bytes += other.moved_bytes;
  written_bytes += other.written_bytes;
  buffer_bytes = std::max(buffer_bytes, other.buffer_bytes);
  return *this;
}

Totals totals_of(
    const Plan& plan, const Input& input,
    const std::function<const layout::Placement&(const layout::Portion&)>& placement_of) {
  Totals totals;
  totals.buffer_bytes = plan.buffer_bytes;
  for (const Transfer& transfer : plan.transfers) {
    totals.moved_bytes += transfer.writer != input.topology.rank ? transfer.bytes : 0;
  }
  for (std::size_t i = 0; i < input.portions.size(); ++i) {
    totals.written_bytes += input.portion_sizes[i];
    if (plan.flow != Flow::two_phase && plan.flow != Flow::async_two_phase) {
      continue;
    }
    const layout::Portion& portion = input.portions[i];
    layout::for_each_run(placement_of(portion), portion.piece, portion.piece.box,
                         [&](std::uint64_t offset, std::uint64_t, std::uint64_t length) {
                           for (std::uint64_t done = 0; done < length;) {
                             const Stretch stretch = plan.tiles.stretch_at(offset + done);
                             const std::uint64_t part = std::min(stretch.length, length - done);
                             const int writer = plan.tiles.writers()[stretch.writer];
                             totals.moved_bytes += writer != input.topology.rank ? part : 0;
                             done += part;
                           }
                         });
  }
  return totals;
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> units{"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) {
    value /= 1024;
  }
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text.data();
}

std::string text_of(const Totals& all, int ranks) {
  return std::to_string(all.files) + (all.files == 1 ? " file, " : " files, ") +
         std::to_string(all.writers) + " of " + std::to_string(ranks) + " ranks write, " +
         size_text(all.written_bytes) + " written, " + size_text(all.moved_bytes) +
         " moved between ranks, largest buffer " + size_text(all.buffer_bytes);
}

}  // namespace sluice::plan
