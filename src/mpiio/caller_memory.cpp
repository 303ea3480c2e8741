#include "mpiio/caller_memory.hpp"

#include <algorithm>
#include <limits>

namespace sluice::mpiio {

namespace {

constexpr const char* external = "external32";
constexpr std::int64_t most_int = std::numeric_limits<int>::max();

/// Calls `work` with parts of the buffer whose counts are ints.
template <class Work>
void in_parts(const Call& call, Work&& work) {
  if (call.count <= most_int) {
    work(static_cast<std::byte*>(call.buffer), static_cast<int>(call.count));
    return;
  }
  const std::int64_t extent = flat_of(call.type)->extent;
  for (std::int64_t at = 0; at < call.count;) {
    const std::int64_t part = std::min(most_int, call.count - at);
    work(static_cast<std::byte*>(call.buffer) + at * extent, static_cast<int>(part));
    at += part;
  }
}

}  // namespace

CallerMemory::CallerMemory(const File& file, const Call& call) {
  auto* const base = static_cast<std::byte*>(call.buffer);
  if (file.types.representation == Representation::external32) {
    pack(call);
    return;
  }
  if (const std::int64_t bytes = plain_bytes(call.type); bytes > 0) {
    memory_ = Memory(base, product_of(bytes, call.count));
    return;
  }
  type_ = flat_of(call.type);
  product_of(type_->size, call.count);
  product_of(type_->extent, call.count);
  if (type_->size > 0) {
    memory_ = Memory(base, *type_, call.count);
  }
}

void CallerMemory::pack(const Call& call) {
  native_bytes_ = product_of(flat_of(call.type)->size, call.count);
  packed_bytes_ = product_of(external_flat_of(call.type)->size, call.count);
  packed_.reset(new std::byte[static_cast<std::size_t>(packed_bytes_)]);
  MPI_Aint position = 0;
  in_parts(call, [&](std::byte* from, int count) {
    if (mpi.Pack_external(external, from, count, call.type, packed_.get(), packed_bytes_,
                          &position) != MPI_SUCCESS) {
      throw Fault(MPI_ERR_CONVERSION, "the bytes cannot be packed");
    }
  });
  if (position != packed_bytes_) {
    throw Fault(MPI_ERR_CONVERSION, "the bytes were packed to another size");
  }
  memory_ = Memory(packed_.get(), packed_bytes_);
}

std::int64_t CallerMemory::finish(const Call& call, std::int64_t bytes) {
  if (!packed_) {
    return bytes;
  }
  if (!call.is_write && bytes > 0) {
    MPI_Aint position = 0;
    in_parts(call, [&](std::byte* into, int count) {
      if (mpi.Unpack_external(external, packed_.get(), packed_bytes_, &position, into, count,
                              call.type) != MPI_SUCCESS) {
        throw Fault(MPI_ERR_CONVERSION, "the bytes cannot be unpacked");
      }
    });
  }
  if (bytes == packed_bytes_) {
    return native_bytes_;
  }
  const double part = static_cast<double>(bytes) / static_cast<double>(packed_bytes_);
  return static_cast<std::int64_t>(part * static_cast<double>(native_bytes_));
}

}  // namespace sluice::mpiio
