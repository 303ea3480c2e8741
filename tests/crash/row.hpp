// With which strategy, format and options the crash tests write: a row for each.
#pragma once

#include <cstdint>
#include <sluice/options.hpp>
#include <string>
#include <vector>

namespace sluice::test {

struct Row {
  std::string strategy;
  std::string format = "hdf5";
  std::string form = "stacked";  ///< "rectilinear", of zarr: blocks are chunks, however small
  std::uint64_t keep = 0;
  std::uint64_t split_steps = 0;
  std::string compress = {};  ///< of variables with steps
  bool is_deferred = false;   ///< steps are put in place when the journal is full, and at the close
  int ranks_per_node = 0;     ///< 0: all

  std::string title() const;
  /// The subject of the row: the kind of set, or the format.
  std::string kind() const;
  Options options() const;
  /// An index, and the data in parts.
  bool is_set() const;
  bool is_store() const { return format == "zarr" || format == "icechunk"; }
  /// Do steps change existing bytes? Not in a log.
  bool has_journal() const { return format != "records"; }
};
const std::vector<Row>& rows();
/// Those whose files are sets of parts.
const std::vector<Row>& set_rows();

}  // namespace sluice::test
