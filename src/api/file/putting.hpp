// Puts of a File and of its Steps, as far as they need what the output does not know: the
// selection, the size of the caller's memory, and of which file the variable is.
//
// Invariant: what is refused here makes the next commit fail, as what the output refuses.
#pragma once

#include <span>

#include "api/file/file_impl.hpp"
#include "api/file/selected.hpp"

namespace sluice::detail {

/// Memory of the caller.
struct Given {
  const void* data = nullptr;
  Type type;
  Size size = {};
};

/// The output of the file, whose variable it must be.
commit::Output& output_of(FileImpl& file, Variable variable, const char* call);

void put_block(FileImpl& file, Variable variable, const Given& given, const Selection& selection);
void put_single(FileImpl& file, Variable variable, const void* value, const Type& type,
                std::span<const std::uint64_t> at);
void put_row_list(FileImpl& file, Variable variable, std::span<const std::uint64_t> ids,
                  const Given& given);
/// As many rows as the memory has.
void put_joined_rows(FileImpl& file, Variable variable, const Given& given);

}  // namespace sluice::detail
