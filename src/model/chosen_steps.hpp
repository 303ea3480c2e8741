// Some steps of a file.
#pragma once

#include <cstdint>

namespace sluice::model {

/// The steps `first`, `first` + `stride`, ...: `count` of them.
struct ChosenSteps {
  std::uint64_t first = 0;
  std::uint64_t stride = 1;
  std::uint64_t count = 0;
};

}  // namespace sluice::model
