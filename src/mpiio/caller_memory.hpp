// A program's buffer as bytes of the file's representation.
//
// Invariant: if the representation is that of memory nothing is copied here; for "external32" the
// whole buffer is packed by MPI, and a read that ends early changes only the elements that have
// come whole.
#pragma once

#include <memory>

#include "mpiio/call.hpp"
#include "mpiio/file.hpp"
#include "mpiio/memory.hpp"

namespace sluice::mpiio {

class CallerMemory {
 public:
  /// Empty, for a rank whose arguments are wrong.
  CallerMemory() = default;
  CallerMemory(const File& file, const Call& call);

  const Memory& memory() const { return memory_; }
  /// After `bytes` of the memory were moved: the corresponding number of bytes of the program's
  /// buffer, of "external32" in whole elements. Unpacks what was read.
  std::int64_t finish(const Call& call, std::int64_t bytes);

 private:
  void pack(const Call& call);
  void unpack(const Call& call, MPI_Aint* position, std::byte* into, int count) const;
  /// Of the copy of the type behind `copies`, of which `rest` packed bytes have come: the bytes of
  /// whole elements in the program's buffer.
  std::int64_t unpack_part(const Call& call, std::int64_t copies, std::int64_t rest);

  Memory memory_;
  std::shared_ptr<const Flat> type_;  ///< null: plain bytes
  std::shared_ptr<const Flat> external_;
  std::unique_ptr<std::byte[]> packed_;
  std::int64_t packed_bytes_ = 0;
  std::int64_t native_bytes_ = 0;
};

}  // namespace sluice::mpiio
