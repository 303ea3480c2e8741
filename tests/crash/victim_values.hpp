// The values that the kill test's victim writes, and whether its file exists.
#pragma once

#include <cstdint>
#include <string>

#include "layout/formats/formats.hpp"
#include "layout/formats/stores.hpp"

namespace sluice::test {

inline constexpr std::uint64_t victim_rows = 200;

inline double victim_value(std::uint64_t step, std::uint64_t row) {
  return static_cast<double>(step * 1000 + row) + 0.5;
}

/// A store without a commit does not count.
inline bool is_victim_there(storage::Storage& storage, const std::string& path) {
  const auto has = [&](const char* format) {
    return storage.exists(path + "/" + layout::format_named(format).manifest);
  };
  return layout::is_store(storage, path) ? has("zarr") || has("icechunk") : storage.exists(path);
}

}  // namespace sluice::test
