// The catalog of a file, as ls and diff use it: on one rank, without reading data.
#pragma once

#include <cstdint>
#include <functional>
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

/// An open file and its contents.
struct Stored {
  std::unique_ptr<storage::File> file;
  std::unique_ptr<Catalog> catalog;
  bool is_unfinished = false;  ///< see commit::is_unfinished
};

/// The last durable commit of a file, beside a writer or after a crash too. `look` reads what must
/// be of one commit; it is called again if a writer continued meanwhile. Error format if it is not
/// a file that Sluice reads, not_found, truncated, ...
Stored open_stored(storage::Storage& storage, const std::string& path,
                   const std::function<void(Catalog&)>& look);

/// Error invalid_argument if the ending of `to`, a file to be created, belongs to no format of the
/// library, and `format` is auto: users would not expect HDF5 in a .png. A name without an ending
/// is accepted.
void require_known_ending(const std::string& to, const std::string& format,
                          const std::string& otherwise);

/// For a file, or for all objects of a store.
std::uint64_t bytes_on_disk(storage::Storage& storage, const std::string& path);

}  // namespace sluice::cli
