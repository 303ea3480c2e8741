#include "layout/encoding.hpp"

#include <algorithm>

#include "codec/plugins.hpp"
#include "codec/quantise.hpp"
#include "layout/plausible.hpp"
#include "layout/portion.hpp"

namespace sluice::layout {

using model::Dims;

codec::Pipeline pipeline_of(const model::Definition& definition) {
  const bool is_coordinate = definition.shape.rank() == 1 && definition.dimensions.size() == 1 &&
                             definition.dimensions[0] == definition.name;
  if (definition.compress.empty() || definition.shape.volume() == 0) {
    return {};
  }
  // Filters that a dataset has already apply to all of its chunks.
  if ((definition.shape.rank() == 0 || is_coordinate) &&
      !codec::is_stored_text(codec::parse_compression(definition.compress).compressor)) {
    return {};
  }
  // The bytes of text have no coordinates of their own.
  const bool is_text = definition.type.kind == Kind::string;
  return codec::parse_pipeline(definition.compress, is_text ? 1 : definition.type.bytes);
}

Dims choose_encoded_tile(const Dims& shape, std::uint64_t element_bytes,
                         const Decomposition& decomposition, std::uint64_t least_bytes) {
  const std::uint64_t most_bytes = std::max<std::uint64_t>(least_bytes, 4ULL << 20);
  least_bytes = std::max<std::uint64_t>(least_bytes, 256ULL << 10);
  Dims tile = Dims::filled(shape.rank(), 1);
  std::uint64_t row_bytes = element_bytes;  // of all dimensions after d
  int d = shape.rank() - 1;
  for (; d > 0 && row_bytes * std::max<std::uint64_t>(1, shape[d]) <= most_bytes; --d) {
    tile[d] = std::max<std::uint64_t>(1, shape[d]);
    row_bytes *= tile[d];
  }
  if (d < 0) {
    return tile;
  }
  const std::uint64_t rows = std::max<std::uint64_t>(1, shape[d]);
  const std::uint64_t most = std::clamp<std::uint64_t>(most_bytes / row_bytes, 1, rows);
  const std::uint64_t common = decomposition.boundary_gcd[d];
  for (std::uint64_t parts = 1; common != 0 && parts <= common; ++parts) {
    const std::uint64_t part = common / parts;
    if (part * row_bytes < least_bytes) {
      break;
    }
    if (common % parts == 0 && part <= most && !wastes({part}, {rows})) {
      tile[d] = part;
      return tile;
    }
  }
  const std::uint64_t pieces = (rows + most - 1) / most;
  tile[d] = (rows + pieces - 1) / pieces;
  return tile;
}

std::uint64_t least_tile_bytes(const model::Definition& definition) {
  // A tile may be smaller than was asked for, to be whole rows or an equal part of them. From 8 PiB
  // a step on these may not be few enough: check_tiles() tells.
  constexpr std::uint64_t most_tiles = most_tiles_of_a_step / 4;
  return definition.varying
             ? 0
             : std::min(definition.bytes_per_step() / most_tiles, largest_tile_bytes);
}

Dims bounded_chunk(const model::Definition& definition) {
  Dims chunk = definition.chunk;
  for (int d = 0; d < chunk.rank(); ++d) {
    chunk[d] = std::min(chunk[d], std::max<std::uint64_t>(1, definition.shape[d]));
  }
  return chunk;
}

Dims choose_plain_tile(const model::Definition& definition, const Decomposition& decomposition,
                       std::uint64_t most_tile_bytes) {
  // Elsewhere an index has an entry for each tile, by which readers know that there are so many.
  const bool is_bounded = most_tile_bytes != 0 || definition.partial;
  const std::uint64_t least_bytes = is_bounded ? least_tile_bytes(definition) : 0;
  Dims tile = choose_tile(definition.shape, definition.type.bytes, decomposition,
                          std::max(smallest_aligned_tile_bytes, least_bytes));
  if (definition.varying) {
    limit_rows(tile, definition.type.bytes, portion_bytes);
  } else if (most_tile_bytes != 0) {
    limit_rows(tile, definition.type.bytes, std::max(most_tile_bytes, least_bytes));
  }
  return tile;
}

std::uint64_t most_varying_tile_bytes(std::uint64_t first_step_bytes, bool encodes, bool is_store) {
  constexpr std::uint64_t usual_least_bytes = 64ULL << 10;
  // Nothing is known of the steps after an empty one.
  const bool may_be_small = !encodes && !is_store && first_step_bytes != 0;
  return std::clamp<std::uint64_t>(is_store ? first_step_bytes : first_step_bytes / 8,
                                   may_be_small ? 4ULL << 10 : usual_least_bytes, portion_bytes);
}

Dims untouched_tile(const model::Definition& definition, std::uint64_t most_tile_bytes) {
  if (!definition.chunk.empty()) {
    return bounded_chunk(definition);
  }
  const Decomposition none(definition.shape.rank());
  return is_encoded(definition) ? choose_encoded_tile(definition.shape, definition.type.bytes, none,
                                                      least_tile_bytes(definition))
                                : choose_plain_tile(definition, none, most_tile_bytes);
}

}  // namespace sluice::layout
