// The destination of a selection: the last step of reading, from file bytes to the caller's memory.
// If a read fails, the content of that memory is undefined.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "commit/read/file_view.hpp"
#include "model/block.hpp"

namespace sluice::commit {

/// The request of a rank for a variable (of one step), and its destination.
struct GetRequest {
  std::uint32_t variable = 0;
  std::uint64_t step = 0;
  model::Box box;  ///< in coordinates of the variable, without the step
  model::Memory memory;
  bool allow_overflow = false;
};

/// Into dense memory, which begins with the box.
inline GetRequest dense_request(std::uint32_t variable, std::uint64_t step, const model::Box& box,
                                std::byte* data, const Type& type) {
  return {variable, step, box, {data, type, box.count, model::Dims::filled(box.count.rank(), 0)}};
}

class Destination {
 public:
  /// All must outlive the object. `call`: name of the library call, for messages.
  Destination(const InputVariable& variable, const GetRequest& request, const char* call = "get")
      : variable_(variable), request_(request), call_(call) {}

  const model::Box& box() const { return request_.box; }
  /// Accepts the dense bytes of a part of the box as they are in the file. They may be changed,
  /// and may be in the memory of run_of() already.
  /// Error overflow, naming the call, if a value does not fit the caller's type.
  void put_stored(const model::Box& part, std::span<std::byte> bytes) const;
  /// The same for bytes in the byte order of this machine.
  void put(const model::Box& part, std::span<const std::byte> bytes) const;
  /// Fills a part of the box with the fill value.
  void fill(const model::Box& part) const;
  /// The memory of a part of the box, if it is one run of the caller's memory and of the file's
  /// type, so that it can be read there directly; empty otherwise.
  std::span<std::byte> run_of(const model::Box& part) const;

 private:
  const InputVariable& variable_;
  const GetRequest& request_;
  const char* call_;
};

}  // namespace sluice::commit
