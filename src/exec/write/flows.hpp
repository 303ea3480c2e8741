// Executes a plan: packs portions, computes their checksums, moves bytes to their writers, writes.
// carry_out() chooses the flow; the flows are one function and one file each. All are collective,
// return the bytes that this rank wrote, and throw a failure of this rank at the end, after its
// part for the others.
#pragma once

#include "exec/write/work.hpp"

namespace sluice::exec {

/// Collective. Returns the bytes this rank wrote. A failure of this rank is thrown at the end,
/// after its part in the exchange: the caller agrees with the other ranks.
std::uint64_t carry_out(Transport& transport, const plan::Plan& plan, const Work& work,
                        Buffers& buffers);

/// Every rank writes its own portions.
std::uint64_t write_direct(const plan::Plan& plan, const Work& work, Buffers& buffers);
/// One rank writes; the others send to it one after the other.
std::uint64_t write_funnel(Transport& transport, const plan::Plan& plan, const Work& work,
                           Buffers& buffers);
/// The writers assemble windows of whole tiles, and all ranks send to them. Flow::async_two_phase:
/// returns when all windows have been passed to the writer thread.
std::uint64_t write_two_phase(Transport& transport, const plan::Plan& plan, const Work& work,
                              Buffers& buffers);

/// The same in memory of the node: every rank copies its bytes into the windows of the writers
/// itself, and they are written while it continues. Not collective, but every rank must call it.
std::uint64_t write_async_two_phase(const plan::Plan& plan, const Work& work, Buffers& buffers);
/// At most so many windows of a writer does it pass.
std::uint64_t ring_windows(const plan::Plan& plan, const layout::CommitPlan& placed,
                           std::uint64_t window_bytes);

}  // namespace sluice::exec
