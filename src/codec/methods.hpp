// The rows of the codecs, each made where the codec is.
#pragma once

#include <optional>

#include "codec/filter.hpp"

namespace sluice::codec {

/// As h5py has registered it.
inline constexpr std::uint32_t lzf_id = 32000;

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
/// LZF of h5py; only read.
std::optional<Method> lzf_method();
/// zstd frames. Nothing where the build has none.
std::optional<Method> zstd_method();

/// Does the number of bytes that go in tell how many come out? Chunks of Blosc, gzip files and LZF
/// count as no compressors, and are as long as their bytes let them be.
inline bool has_known_length(const Method& method) {
  const bool only_reads = method.id == gzip_id || method.id == lzf_id;
  return !method.compresses && !only_reads && method.id != blosc_id;
}

}  // namespace sluice::codec
