#include "mpiio/caller_memory.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

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
  type_ = flat_of(call.type);
  external_ = external_flat_of(call.type);
  native_bytes_ = product_of(type_->size, call.count);
  packed_bytes_ = product_of(external_->size, call.count);
  packed_.reset(new std::byte[static_cast<std::size_t>(packed_bytes_)]);
  memory_ = Memory(packed_.get(), packed_bytes_);
  if (!call.is_write) {
    return;
  }
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
}

std::int64_t CallerMemory::finish(const Call& call, std::int64_t bytes) {
  if (!packed_) {
    return bytes;
  }
  if (call.is_write || packed_bytes_ == 0) {
    return native_bytes_;
  }
  Call whole = call;
  whole.count = bytes / external_->size;
  MPI_Aint position = 0;
  in_parts(whole, [&](std::byte* into, int count) { unpack(call, &position, into, count); });
  const std::int64_t rest = bytes - whole.count * external_->size;
  return whole.count * type_->size + (rest == 0 ? 0 : unpack_part(call, whole.count, rest));
}

void CallerMemory::unpack(const Call& call, MPI_Aint* position, std::byte* into, int count) const {
  if (count > 0 && mpi.Unpack_external(external, packed_.get(), packed_bytes_, position, into,
                                       count, call.type) != MPI_SUCCESS) {
    throw Fault(MPI_ERR_CONVERSION, "the bytes cannot be unpacked");
  }
}

std::int64_t CallerMemory::unpack_part(const Call& call, std::int64_t copies, std::int64_t rest) {
  const MPI_Aint begin = copies * external_->size;
  std::int64_t low = type_->runs.front().offset;
  std::int64_t high = low;
  for (const Run& run : type_->runs) {
    low = std::min(low, run.offset);
    high = std::max(high, run.end());
  }
  // Only MPI knows where elements begin: at the first one that is not whole two values of the
  // missing bytes make a difference.
  std::array<std::vector<std::byte>, 2> guesses;
  for (const auto missing : {std::byte{0}, std::byte{0xff}}) {
    std::fill(packed_.get() + begin + rest, packed_.get() + begin + external_->size, missing);
    std::vector<std::byte> room(size_of(high - low));
    MPI_Aint position = begin;
    unpack(call, &position, room.data() - low, 1);
    std::vector<std::byte>& guess = guesses[missing == std::byte{0} ? 0 : 1];
    guess.resize(size_of(type_->size));
    Memory(room.data() - low, *type_, 1).gather(0, guess);
  }
  const auto differs = std::mismatch(guesses[0].begin(), guesses[0].end(), guesses[1].begin());
  const std::int64_t came = differs.first - guesses[0].begin();
  Memory(static_cast<std::byte*>(call.buffer) + copies * type_->extent, *type_, 1)
      .scatter(0, {guesses[0].data(), size_of(came)});
  return came;
}

}  // namespace sluice::mpiio
