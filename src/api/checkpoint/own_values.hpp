// What a checkpoint says of itself, in variables of a value a checkpoint (names).
#pragma once

#include <cstdint>

#include "sluice/sluice.hpp"

namespace sluice::detail {

class OwnValues {
 public:
  /// Local, on every rank.
  void define(File& file);
  /// Local, on one rank. The values must stay until the step has ended.
  void put(Step& step, const std::uint64_t& number, const std::int32_t& ranks,
           const double& saved_s) const;

 private:
  Variable number_;
  Variable ranks_;
  Variable saved_;
};

}  // namespace sluice::detail
