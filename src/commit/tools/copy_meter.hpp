// How far a copy is, which all ranks make together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

namespace sluice::commit {

/// Bytes copied so far by all ranks together (about), and in all.
using CopyProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Local: the other ranks are taken to have copied as much as this one.
struct CopyMeter {
  int ranks = 1;
  const CopyProgress& progress;
  std::uint64_t total_bytes = 0;  ///< of all ranks
  std::uint64_t own_bytes = 0;    ///< copied by this one

  void note(std::uint64_t bytes) {
    own_bytes += bytes;
    if (progress) {
      progress(std::min(total_bytes, own_bytes * static_cast<std::uint64_t>(ranks)), total_bytes);
    }
  }
};

}  // namespace sluice::commit
