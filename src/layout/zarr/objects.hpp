// The objects of a store, as they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/storage.hpp"

namespace sluice::layout::zarr {

/// The size of an object; empty if there is no such object. Error truncated where it has no bytes:
/// none is written so, but a crash, a full disk or a copy that was cut off leaves it.
std::optional<std::uint64_t> bytes_of_object(storage::File& file, const std::string& name);
/// The same of many, in less time where each takes long.
storage::Sizes sizes_of_objects(storage::File& file, std::span<const std::string> names);
/// The bytes of an object, tied to `address` and what follows. Error truncated where it is not
/// there, or shorter than `bytes`.
std::vector<std::byte> read_object(storage::File& file, const std::string& name,
                                   std::uint64_t address, std::uint64_t bytes);
/// All bytes of an object that was just looked up, and has `bytes`, at addresses of its own.
std::vector<std::byte> read_whole(storage::File& file, const std::string& name,
                                  std::uint64_t bytes);
/// Where so many addresses begin that nobody else in this process has: one File may be shared by
/// readers that do not know of each other. Below them all a planner has its own.
std::uint64_t new_addresses(std::uint64_t bytes);

}  // namespace sluice::layout::zarr
