#include "dialect/voxfe/displacement.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "exec/transport/agree.hpp"
#include "model/number_text.hpp"
#include "sluice/error.hpp"

namespace sluice::dialect::voxfe {

namespace {

constexpr std::string_view first_word = "nNodes:";

/// Removes the line `key value`, and returns the value; false if it begins differently.
bool take_line(std::string_view& text, std::string_view key, std::string_view& value) {
  const std::size_t stop = text.find('\n');
  if (!text.starts_with(key) || stop == std::string_view::npos) {
    return false;
  }
  value = model::trimmed(text.substr(key.size(), stop - key.size()));
  text.remove_prefix(stop + 1);
  return true;
}

}  // namespace

bool begins_displacements(std::string_view text) { return text.starts_with(first_word); }

Displacements::Displacements(exec::Transport& transport, storage::Storage& storage,
                             const std::string& path)
    : path_(path) {
  exec::together(transport, [&] {
    open(storage, transport);
    Pieces pieces(*file_, range_);
    while (pieces.next()) {
      pieces.each_line([&](std::string_view line, std::uint64_t place) {
        parse(line, place);
        ++rows_;
      });
    }
  });
  const exec::PrefixSum rows = transport.prefix_sum(static_cast<std::int64_t>(rows_));
  if (static_cast<std::uint64_t>(rows.all) != head_.nodes) {
    throw Error(Code::format, path_ + ":1: says that it has " + std::to_string(head_.nodes) +
                                  " nodes, and has " + std::to_string(rows.all));
  }
  first_row_ = static_cast<std::uint64_t>(rows.below);
}

void Displacements::open(storage::Storage& storage, exec::Transport& transport) {
  file_ = storage.open(path_, storage::Access::read);
  std::string text(4 * longest_line, '\0');
  text.resize(file_->read(0, std::as_writable_bytes(std::span(text))));
  std::string_view rest = text;
  std::string_view value;
  if (!take_line(rest, first_word, value) || !take_number(value, head_.nodes) || !value.empty()) {
    throw Error(Code::format, path_ + ":1: not `nNodes: N`");
  }
  bool fits = take_line(rest, "Nodes:", value);
  for (std::uint64_t& extent : head_.grid) {
    fits = fits && take_number(value, extent) && extent >= 1 && extent <= most_nodes_along;
  }
  if (!fits || !value.empty()) {
    throw Error(Code::format, path_ + ":2: not `Nodes: NX NY NZ`");
  }
  if (!take_line(rest, "Materials:", value)) {
    throw Error(Code::format, path_ + ":3: not `Materials: FILE`");
  }
  head_.materials = value;
  range_ =
      part_of_rank(text.size() - rest.size(), file_->size(), transport.rank(), transport.size());
}

std::string fault_of(const DisplacementRow& row, const Grid& grid) {
  if (row.id >= grid[0] * grid[1] * grid[2]) {
    return "node " + std::to_string(row.id) + " is outside the grid of " + std::to_string(grid[0]) +
           " x " + std::to_string(grid[1]) + " x " + std::to_string(grid[2]) + " nodes";
  }
  const bool is_finite = std::all_of(row.value.begin(), row.value.end(),
                                     [](double value) { return std::isfinite(value); });
  return is_finite ? "" : "a displacement is not finite";
}

DisplacementRow Displacements::parse(std::string_view line, std::uint64_t place) {
  DisplacementRow row;
  Grid at{};
  std::string_view rest = line;
  bool fits = take_number(rest, row.id);
  for (std::uint64_t& coordinate : at) {
    fits = fits && take_number(rest, coordinate);
  }
  for (double& value : row.value) {
    fits = fits && take_number(rest, value);
  }
  if (!fits || !model::trimmed(rest).empty()) {
    refuse(*file_, place, "no `id x y z dx dy dz`");
  }
  const Grid& n = head_.grid;
  if (at[0] >= n[0] || at[1] >= n[1] || at[2] >= n[2] ||
      row.id != at[0] + n[0] * (at[1] + n[1] * at[2])) {
    refuse(*file_, place, "the node's number does not match its coordinates");
  }
  if (const std::string fault = fault_of(row, n); !fault.empty()) {
    refuse(*file_, place, fault);
  }
  return row;
}

void Displacements::read_columns(const DisplacementColumns& columns) {
  Pieces pieces(*file_, range_);
  std::size_t at = 0;
  while (pieces.next()) {
    pieces.each_line([&](std::string_view line, std::uint64_t place) {
      const DisplacementRow row = parse(line, place);
      if (at == rows_) {
        refuse_changed(path_);
      }
      columns.id[at] = static_cast<std::int64_t>(row.id);
      std::copy(row.value.begin(), row.value.end(),
                columns.value.begin() + static_cast<std::ptrdiff_t>(3 * at));
      ++at;
    });
  }
  if (at != rows_) {
    refuse_changed(path_);
  }
}

std::string head_text(const DisplacementHead& head) {
  return std::string(first_word) + " " + std::to_string(head.nodes) +
         "\nNodes: " + std::to_string(head.grid[0]) + "  " + std::to_string(head.grid[1]) + "  " +
         std::to_string(head.grid[2]) + "\nMaterials: " + head.materials + "\n";
}

void append_row(std::string& text, const DisplacementRow& row, const Grid& grid) {
  // Not by printf: in some locales it writes a comma.
  char buffer[32];  // longer than any of these numbers
  constexpr int digits = 9;
  const std::uint64_t numbers[] = {row.id, row.id % grid[0], row.id / grid[0] % grid[1],
                                   row.id / (grid[0] * grid[1])};
  for (const std::uint64_t number : numbers) {
    text.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
    text += ' ';
  }
  for (const double& value : row.value) {
    text.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value,
                                      std::chars_format::scientific, digits)
                            .ptr);
    text += &value == &row.value.back() ? '\n' : ' ';
  }
}

}  // namespace sluice::dialect::voxfe
