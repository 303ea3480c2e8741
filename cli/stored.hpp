// The catalog of a file, as ls and diff look at it: on one rank, without reading data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "layout/catalog.hpp"
#include "storage/storage.hpp"

namespace sluice::cli {

using Catalog = layout::Catalog;
using CommitRow = std::decay_t<decltype(std::declval<Catalog>().commits()[0])>;
using StoredVariable = std::decay_t<decltype(std::declval<Catalog>().variables()[0])>;

/// The variable that has the time of each step.
inline constexpr const char* time_variable = "time";

/// An open file and what it holds.
struct Stored {
  std::unique_ptr<storage::File> file;
  std::unique_ptr<Catalog> catalog;
};

/// Error format where it is not a file that Sluice reads, not_found, truncated, ...
Stored open_stored(storage::Storage& storage, const std::string& path);

/// Of a file, or of everything in a store.
std::uint64_t bytes_on_disk(storage::Storage& storage, const std::string& path);

}  // namespace sluice::cli
