// Several threads encode or decode tiles, each with its own coder: used only if cores are idle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "codec/filter.hpp"

namespace sluice::exec {

/// Calls work(thread, item) for every item 0..items-1, by up to `threads` threads including this
/// one; `thread` is below `threads`. Throws the first failure when all have ended.
void for_each_in_threads(std::size_t items, std::size_t threads,
                         const std::function<void(std::size_t, std::size_t)>& work);

/// A tile to be encoded.
struct DenseTile {
  std::uint32_t variable = 0;  ///< of the file
  const codec::Pipeline* pipeline = nullptr;
  std::span<std::byte> room;  ///< starts with the dense bytes; long enough for the encoded tile
  std::size_t dense_bytes = 0;
};

/// The encoded tile, in the same memory.
struct EncodedBytes {
  std::uint32_t mask = 0;  ///< of the filters that were skipped
  std::span<std::byte> bytes;
};

/// Encodes tiles of the variables of one file. Keeps the coders and their memory; used by one
/// thread at a time.
class TileEncoder {
 public:
  /// One result a tile, in order.
  std::vector<EncodedBytes> encode(std::span<const DenseTile> tiles, std::size_t threads);

 private:
  std::vector<std::map<std::uint32_t, codec::Coder>> coders_;  ///< by thread and variable
};

}  // namespace sluice::exec
