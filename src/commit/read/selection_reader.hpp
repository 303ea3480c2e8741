// The steps from a selection to the caller's memory, on all ranks together:
//
// 1. selection: the ranks agree on what they request, and on the hull of their boxes (agreement);
//   2. placement: rank 0 tells where that is, with its checksum records (locator);
//   3. runs: the bytes come, by the way that the variable's storage and the boxes ask for: each
//      rank reads its own, some ranks read every byte once for all, one rank decodes each tile, or
//      rank 0 reads by the format's library (root_reading);
//   4. checksum: whoever reads bytes checks them first (checked_reader);
//   5. convert: to the caller's type and place (destination).
//
// Invariants: which collective calls follow depends only on what every rank knows alike: the
// variables and steps, the hull of all boxes, the file's metadata; every rank throws the same
// error.
#pragma once

#include <exception>
#include <optional>
#include <span>
#include <vector>

#include "commit/read/checked_reader.hpp"
#include "commit/read/destination.hpp"
#include "commit/read/file_input.hpp"
#include "commit/read/locator.hpp"
#include "exec/read/two_phase_read.hpp"

namespace sluice::commit {

class SelectionReader {
 public:
  /// `file` must outlive the object.
  explicit SelectionReader(const FileInput& file);

  /// Collective. The same variables and steps in the same order on every rank, while the boxes are
  /// each rank's own. `failure`: an error of this rank, which every rank then throws. Returns the
  /// hull of all boxes of each request, empty if there is none; of a set those of variables in
  /// parts are left to the caller (PartsInput).
  std::vector<std::optional<model::Box>> get(std::span<const GetRequest> requests,
                                             const std::exception_ptr& failure);

  Locator& locator() noexcept { return locator_; }
  CheckedReader& checked() noexcept { return checked_; }

 private:
  /// A request for what was located; `records`: those that overlap the region (of many, until the
  /// locator has completed them: this rank's box), for two-phase reading.
  struct Reading {
    const GetRequest* request = nullptr;
    const Located* located = nullptr;
    model::Box region;
    std::optional<std::vector<exec::CheckedPiece>> records;
  };
  void get_regions(std::span<const GetRequest> requests,
                   std::span<const std::optional<model::Box>> regions);
  /// Variables of which the ranks know addresses.
  void get_by_address(std::span<const GetRequest> requests,
                      std::span<const std::optional<model::Box>> regions);
  /// Collective: which of them should be read in two phases?
  std::vector<bool> choose_two_phases(std::span<const Reading> readings);
  // The methods: collective, except the first; every rank throws the same error.
  void get_independent(const Reading& reading);
  void get_in_two_phases(const Reading& reading);
  void get_encoded(const GetRequest& request, const model::Box& region);

  /// The ranks that read for others.
  std::vector<int> readers() const;
  /// Fills the parts of a box that the file does not contain with the fill value.
  static void fill_absent(const layout::Placement& placement, const Destination& to);

  const FileInput& file_;
  Locator locator_;
  CheckedReader checked_;
  exec::ReadBuffers buffers_;
};

}  // namespace sluice::commit
