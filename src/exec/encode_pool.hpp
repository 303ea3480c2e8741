// Several threads over tiles, each with a coder of its own: only where ranks leave cores idle.
#pragma once

#include <cstddef>
#include <functional>

#include "exec/transport.hpp"

namespace sluice::exec {

/// Cores of a node for each of its ranks, at least 1.
std::size_t idle_cores(const Transport& transport);

/// Calls work(thread, item) for every item 0..items-1, by up to `threads` threads (this one among
/// them); `thread` is below `threads`. Throws the first failure once all have ended.
void for_each_in_threads(std::size_t items, std::size_t threads,
                         const std::function<void(std::size_t, std::size_t)>& work);

}  // namespace sluice::exec
