// Drops the last steps of a file, for a run that continues from an earlier one.
//
// Only metadata changes. The chunks and groups of the dropped steps are below the frontier, which
// is not moved (driver): nothing is written there as long as the file may return to that state.
#include <algorithm>
#include <cmath>

#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/planner.hpp"

namespace sluice::layout::hdf5 {

void Hdf5Planner::drop_steps(std::uint64_t steps, std::int64_t modified_ns) {
  if (steps >= steps_) {
    return;
  }
  const QuietErrors quiet;
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    if (definitions_[v].stepped && made_[v].exists && !is_grouped(profile_)) {
      extend(v, steps);
    }
  }
  if (has_time_ && !is_grouped(profile_)) {
    set_extent(own_dataset(own_.time, time_name), {steps}, time_name);
  }
  for (std::uint64_t step = steps; step < steps_ && is_grouped(profile_); ++step) {
    const std::string group = group_of(step);
    check(H5Ldelete(hdf5_.get(), group.c_str(), H5P_DEFAULT), group);
  }
  numbers_.resize(std::min<std::size_t>(numbers_.size(), steps));
  drop_vtk_steps(steps);
  keep_rows_below(steps);
  CommitRow row;  // has the time of modification that the file will get
  row.time = std::nan("");
  row.modified_ns = modified_ns;
  append_row(row);
  steps_ = steps;
}

/// Rows of commits outside steps stay: fixed variables have their checksums there.
void Hdf5Planner::keep_rows_below(std::uint64_t steps) {
  const hid_t dataset = own_dataset(own_.commits, commits_name);
  std::vector<std::uint64_t> words(rows_ * CommitRow::words);
  check(H5Dread(dataset, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, words.data()),
        commits_name);
  std::vector<std::uint64_t> kept;
  for (std::size_t at = 0; at < words.size(); at += CommitRow::words) {
    const CommitRow row = CommitRow::unpack(std::span(words).subspan(at).first<CommitRow::words>());
    if (row.step == CommitRow::no_step || row.step < steps) {
      kept.insert(kept.end(), words.begin() + static_cast<std::ptrdiff_t>(at),
                  words.begin() + static_cast<std::ptrdiff_t>(at + CommitRow::words));
    }
  }
  rows_ = kept.size() / CommitRow::words;
  set_extent(dataset, {rows_, CommitRow::words}, commits_name);
  if (!kept.empty()) {
    check(H5Dwrite(dataset, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, kept.data()),
          commits_name);
  }
}

}  // namespace sluice::layout::hdf5
