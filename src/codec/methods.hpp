// The rows of the codecs, each made where the codec is.
#pragma once

#include <optional>

#include "codec/filter.hpp"

namespace sluice::codec {

/// HDF5's byte shuffle.
std::optional<Method> shuffle_method();
/// HDF5's checksum behind the bytes.
std::optional<Method> fletcher32_method();
/// Blosc's chunks, with zlib and zstd inside where the build has them; only read: LZ4, BloscLZ.
std::optional<Method> blosc_method();
/// zlib streams, by libdeflate. Nothing where the build has none.
std::optional<Method> deflate_method();
/// gzip files; only read.
std::optional<Method> gzip_method();
/// zstd frames. Nothing where the build has none.
std::optional<Method> zstd_method();

/// Does the number of bytes that go in tell how many come out? Chunks of Blosc and gzip files count
/// as no compressors, and are as long as their bytes let them be.
inline bool has_known_length(const Method& method) {
  return !method.compresses && method.id != blosc_id && method.id != gzip_id;
}

}  // namespace sluice::codec
