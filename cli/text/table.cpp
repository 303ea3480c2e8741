#include "text/table.hpp"

#include <algorithm>

#include "model/name.hpp"
#include "text/text.hpp"

namespace sluice::cli {

Table::Table(const std::vector<std::string>& headings) {
  for (const std::string& heading : headings) {
    const bool right = heading.rfind('>', 0) == 0;
    right_.push_back(right);
    headings_.push_back(right ? heading.substr(1) : heading);
  }
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(headings_.size());
  for (std::string& cell : cells) {
    cell = model::escaped(cell, model::Shown::line);  // as wide as it will be
  }
  rows_.push_back(std::move(cells));
}

std::string Table::text(std::size_t indent) const {
  std::vector<std::vector<std::string>> lines;
  if (std::any_of(headings_.begin(), headings_.end(), [](auto& h) { return !h.empty(); })) {
    lines.push_back(headings_);
  }
  lines.insert(lines.end(), rows_.begin(), rows_.end());
  std::vector<std::size_t> widths(headings_.size(), 0);
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < line.size(); ++c) {
      widths[c] = std::max(widths[c], width_of(line[c]));
    }
  }
  std::string out;
  for (const auto& line : lines) {
    std::string row(indent, ' ');
    for (std::size_t c = 0; c < line.size(); ++c) {
      const std::string pad(widths[c] - width_of(line[c]), ' ');
      row += right_[c] ? pad + line[c] : line[c] + pad;
      row += "  ";
    }
    row.erase(row.find_last_not_of(' ') + 1);
    out += row + "\n";
  }
  return out;
}

}  // namespace sluice::cli
