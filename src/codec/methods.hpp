// The compressors that a library was found for.
#pragma once

#include <optional>

#include "codec/filter.hpp"

namespace sluice::codec {

/// Blosc's chunks, with zlib and zstd inside where the build has them.
Method blosc_method();
/// zlib streams, by libdeflate. Nothing where the build has none.
std::optional<Method> deflate_method();
/// gzip files; only read.
std::optional<Method> gzip_method();
/// zstd frames. Nothing where the build has none.
std::optional<Method> zstd_method();

}  // namespace sluice::codec
