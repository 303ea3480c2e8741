// The rows of varying variables, for who reads a catalog on one rank and no data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layout/catalog.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// Catalog::rows_by_step() of every variable of the file at `path`, by its number. Those of a set
/// are read from its parts, each at its last durable commit: libhdf5, which reads the parts as they
/// are, does not see what is still in their journals. Local. Errors of the parts name the index.
std::vector<std::vector<std::uint64_t>> rows_by_step(storage::Storage& storage,
                                                     const std::string& path,
                                                     layout::Catalog& catalog);

}  // namespace sluice::commit
