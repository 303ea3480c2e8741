// The mismatches that a verification found: the first ones, and how many there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "commit/tools/verify.hpp"
#include "model/bytes.hpp"

namespace sluice::commit {

/// Keeps the first most_findings and counts all.
class Findings {
 public:
  Findings() = default;
  /// Those of a verdict.
  Findings(std::vector<Finding> list, std::uint64_t count)
      : list_(std::move(list)), count_(count) {}

  void add(Finding finding);
  /// Adds those of another rank or part. Then the list is in the order of the file.
  void merge(const Findings& other);
  const std::vector<Finding>& list() const noexcept { return list_; }
  std::uint64_t count() const noexcept { return count_; }

  void write_to(model::ByteWriter& out) const;
  static Findings read_from(model::ByteReader& in);

 private:
  std::vector<Finding> list_;
  std::uint64_t count_ = 0;
};

}  // namespace sluice::commit
