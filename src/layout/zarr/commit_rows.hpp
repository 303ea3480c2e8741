// The rows of the commits of a Zarr store, and the times of its steps, which come from them.
//
// Invariants: rows are only ever added to: what is dropped is said in drops(); an object of rows or
// times is written whole, as often as it has new rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layout/layout.hpp"
#include "layout/zarr/manifest.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::zarr {

class CommitRows {
 public:
  /// How much there is after a commit.
  struct Sizes {
    std::size_t rows = 0;
    std::size_t drops = 0;
  };

  /// Those of a store. Error damaged.
  void load(storage::File& file, const Manifest& manifest);

  std::size_t size() const noexcept { return rows_.size(); }
  const std::vector<Drop>& drops() const noexcept { return drops_; }
  Sizes sizes() const noexcept { return {rows_.size(), drops_.size()}; }

  void add(const CommitRow& row) { rows_.push_back(row); }
  /// Steps `steps` and later count no more.
  void drop_steps(std::uint64_t steps, std::int64_t modified_ns);

  /// The objects of the rows that have new ones.
  std::vector<Document> documents() const;
  /// Adds the objects of the times that have new ones, `all`: every object. The store has `steps`
  /// steps.
  void add_time_documents(std::vector<Document>& documents, std::uint64_t steps, bool all);

  /// The documents of all rows are in the store, or on their way.
  void planned() noexcept { first_new_ = rows_.size(); }
  /// Takes back what was added after `sizes`.
  void resize(const Sizes& sizes);

 private:
  /// The times of the steps, also of those that are being dropped: the root that counts them is
  /// still there.
  struct StepTimes {
    std::vector<double> of_step;
    std::size_t rows = 0;  ///< that are taken into account
  };

  std::vector<CommitRow> rows_;
  std::vector<Drop> drops_;
  std::size_t first_new_ = 0;  ///< rows that no document has yet; never beyond the end
  StepTimes times_;
};

}  // namespace sluice::layout::zarr
