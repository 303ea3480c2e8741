// Elements of a partial variable that no rank put: no checksum covers them, but their value is
// known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "commit/read/records.hpp"
#include "model/box.hpp"
#include "model/definition.hpp"

namespace sluice::commit {

/// How many elements of `part` are in no record and differ from the fill value? `read`: the dense
/// file bytes of the part; called only if there are elements without a record.
std::uint64_t elements_unlike_fill(const model::Definition& definition, const model::Box& part,
                                   const RecordSet& records,
                                   const std::function<std::span<std::byte>()>& read);

}  // namespace sluice::commit
