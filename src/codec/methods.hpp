// The compressors that a library was found for.
#pragma once

#include <optional>

#include "codec/filter.hpp"

namespace sluice::codec {

/// zlib streams, by libdeflate. Nothing where the build has none.
std::optional<Method> deflate_method();
/// zstd frames. Nothing where the build has none.
std::optional<Method> zstd_method();

}  // namespace sluice::codec
