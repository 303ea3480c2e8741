// The flows of a plan, one function and one file each. All are collective, return the bytes that
// this rank wrote, and throw what this rank met at the end, after its part for the others.
#pragma once

#include "exec/write/executor.hpp"

namespace sluice::exec {

/// Every rank writes its own portions.
std::uint64_t write_direct(const plan::Plan& plan, const Work& work, Buffers& buffers);
/// One rank writes, the others feed it one after the other.
std::uint64_t write_funnel(Transport& transport, const plan::Plan& plan, const Work& work,
                           Buffers& buffers);
/// The writers assemble windows of whole tiles, all ranks send to them. Flow::async_two_phase:
/// returns when all windows are on their way to the file.
std::uint64_t write_two_phase(Transport& transport, const plan::Plan& plan, const Work& work,
                              Buffers& buffers);

/// The same in memory of the node: every rank puts its bytes into the writers' windows itself, and
/// they are written while it goes on. Not collective, but every rank must come.
std::uint64_t write_async_two_phase(const plan::Plan& plan, const Work& work, Buffers& buffers);

}  // namespace sluice::exec
