// VOX-FE's displacement text, read in parallel: `nNodes: N`, `Nodes: NX  NY  NZ`, `Materials: f`,
// and a line `id x y z dx dy dz` for each node, x, y, z from 0, id = x + y NX + z NX NY.
//
// Invariants: as those of the model (model.hpp).
#pragma once

#include "dialect/voxfe/model.hpp"

namespace sluice::dialect::voxfe {

/// Of a grid, along one axis: the numbers of all nodes fit 64 bits.
inline constexpr std::uint64_t most_nodes_along = (1 << 20) + 1;

struct DisplacementHead {
  std::uint64_t nodes = 0;
  Grid grid{};  ///< nodes along x, y, z
  std::string materials;
};

struct DisplacementRow {
  std::uint64_t id = 0;
  std::array<double, 3> value{};
};

/// Why the row is none of displacements of the nodes `grid`; "" if it is one.
std::string fault_of(const DisplacementRow& row, const Grid& grid);

/// A rank's own lines. `value` has three entries for each node.
struct DisplacementColumns {
  std::span<std::int64_t> id;
  std::span<double> value;
};

class Displacements {
 public:
  /// Collective: scans the whole text. Error format (with the line).
  Displacements(exec::Transport& transport, storage::Storage& storage, const std::string& path);

  const DisplacementHead& head() const noexcept { return head_; }
  std::uint64_t first_row() const noexcept { return first_row_; }
  std::uint64_t rows() const noexcept { return rows_; }
  /// Local. The spans have rows() nodes. Error changed_outside: the text has other lines than when
  /// it was scanned.
  void read_columns(const DisplacementColumns& columns);

 private:
  void open(storage::Storage& storage, exec::Transport& transport);
  DisplacementRow parse(std::string_view line, std::uint64_t place);

  std::string path_;
  std::unique_ptr<storage::File> file_;
  ByteRange range_;
  DisplacementHead head_;
  std::uint64_t first_row_ = 0;
  std::uint64_t rows_ = 0;
};

/// Does the text of a file begin like displacements?
bool begins_displacements(std::string_view text);

std::string head_text(const DisplacementHead& head);
/// One line with its end, appended: `%.9le` for the displacements.
void append_row(std::string& text, const DisplacementRow& row, const Grid& grid);

}  // namespace sluice::dialect::voxfe
