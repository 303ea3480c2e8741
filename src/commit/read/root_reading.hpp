// Rank 0 reads for all ranks, by the library of the format: what has no addresses.
#pragma once

#include "commit/read/checked_reader.hpp"
#include "commit/read/destination.hpp"
#include "commit/read/file_input.hpp"
#include "exec/exchange/bounded_exchange.hpp"

namespace sluice::commit {

/// Collective; each rank its own box of the same variable and step. Every rank throws the same
/// error.
void read_through_root(const FileInput& file, const CheckedReader& checked,
                       exec::ExchangeBuffers& buffers, const GetRequest& request);

}  // namespace sluice::commit
