// The same variable in two files, compared on all ranks together.
//
// Invariants: every rank holds one portion of each file at a time; a rank that fails takes part in
// the collective calls until all know of it.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "commit/read/input.hpp"
#include "compare/compare.hpp"

namespace sluice::cli {

/// One of the two sides. Files of other tools may have arrays instead of steps: the first dimension
/// can then represent the steps.
class Side {
 public:
  Side(commit::Input& input, std::uint32_t variable);

  const Type& type() const { return definition_.type; }
  bool is_partial() const { return definition_.partial; }
  /// Of a partial variable: one element.
  std::vector<std::byte> fill() const;
  /// For one step; for a varying variable the maximum.
  model::Dims shape() const;
  /// For this step alone.
  model::Dims shape(std::uint64_t step) const;
  bool is_varying() const { return definition_.varying; }
  bool has_steps() const { return definition_.stepped || leads_; }
  std::uint64_t steps() const;
  /// Interprets the first dimension as steps.
  void lead_by_steps() { leads_ = true; }

  /// Collective: before reading parts of a step.
  void seek(std::uint64_t step);
  /// Does every rank read by itself? Otherwise read() is collective.
  bool is_local() const;
  /// Dense little-endian elements of `part` of the step.
  void read(const model::Box& part, std::vector<std::byte>& out);
  /// The boxes in which `all` of the step is read: tiles, cut into portions.
  std::vector<model::Box> parts(const model::Box& all) const;

 private:
  /// For a set of parts this is not a single file.
  bool is_in_parts() const;

  commit::Input& input_;
  std::uint32_t variable_;
  const model::Definition& definition_;
  bool leads_ = false;
  std::uint64_t step_ = 0;
  const commit::Located* located_ = nullptr;
};

/// Called with the bytes that all ranks have compared since the last call (approximately).
using Advance = std::function<void(std::uint64_t bytes)>;

/// The part of a step that both sides, of equal rank, have; empty if it is empty.
std::optional<model::Box> common_box(const Side& a, const Side& b, std::uint64_t step);

/// Collective. Compares the first `steps` steps of two sides of equal type and shape. The result is
/// on rank 0; the others get their own findings. Rows that only one side has of a step are skipped.
Differences compare_sides(exec::Transport& transport, Side& a, Side& b, std::uint64_t steps,
                          const Tolerance& tolerance, const Advance& advance);

}  // namespace sluice::cli
