// Compressed variables: which filters a definition means, and tiles as they stand in the file once
// they are encoded.
//
// Invariants: a pure function of the definition, so that every rank and the planner have the same
// filters; an encoded tile has a size of its own, and its place is known only when all sizes are.
#pragma once

#include <cstdint>

#include "codec/filter.hpp"
#include "layout/chunking.hpp"
#include "model/definition.hpp"

namespace sluice::layout {

/// The filters of a variable; none for what is not compressed: scalars, nothing, and coordinates
/// (one dimension that bears the variable's name), which others are found by.
codec::Pipeline pipeline_of(const model::Definition& definition);
inline bool is_encoded(const model::Definition& definition) {
  return !pipeline_of(definition).empty();
}

/// Below this a file's default compression leaves variables as they are.
inline constexpr std::uint64_t worth_encoding_bytes = 4096;

/// The tile of a compressed variable: whole rows, of 1 to 4 MiB where there are so many, such that
/// the blocks of ranks begin where tiles do if they can.
model::Dims choose_encoded_tile(const model::Dims& shape, std::uint64_t element_bytes,
                                const Decomposition& decomposition);

/// A tile that its owner has encoded.
struct EncodedTile {
  std::uint32_t variable = 0;
  std::uint32_t mask = 0;  ///< of the filters that were left out
  std::uint64_t tile = 0;
  std::uint64_t bytes = 0;
};

}  // namespace sluice::layout
