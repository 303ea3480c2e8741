#include "commit/read/destination.hpp"

#include "layout/portion.hpp"
#include "model/convert.hpp"
#include "model/fill.hpp"
#include "sluice/error.hpp"

namespace sluice::commit {

using model::Box;

void Destination::put_stored(const Box& part, std::span<std::byte> bytes) const {
  if (variable_.big_endian) {
    model::swap_bytes(bytes, variable_.definition.type);
  }
  if (bytes.data() != run_of(part).data()) {
    put(part, bytes);
  }
}

void Destination::put(const Box& part, std::span<const std::byte> bytes) const {
  const model::Definition& d = variable_.definition;
  try {
    model::unpack(bytes, d.type, request_.box, part, request_.memory, request_.allow_overflow);
  } catch (const Error& e) {
    if (e.code() != Code::overflow) {
      throw;
    }
    // Its text names the value that cannot be converted, but not the variable.
    throw Error(e.code(), std::string(call_) + " " + d.name + ": " + e.what());
  }
}

void Destination::fill(const Box& part) const {
  const model::Definition& d = variable_.definition;
  std::vector<std::byte> bytes;
  for (const Box& portion : layout::split(part, d.type.bytes, layout::portion_bytes)) {
    bytes.resize(portion.volume() * d.type.bytes);
    model::fill(bytes, d.type, d.fill);
    put(portion, bytes);
  }
}

std::span<std::byte> Destination::run_of(const Box& part) const {
  const model::Memory& memory = request_.memory;
  const Type& type = variable_.definition.type;
  const model::ConstMemory as_it_is{memory.data, memory.type, memory.shape, memory.start};
  if (!model::is_dense(as_it_is, request_.box, part, type)) {
    return {};
  }
  const std::ptrdiff_t at = model::address_of(as_it_is, request_.box, part) - memory.data;
  return {memory.data + at, part.volume() * type.bytes};
}

}  // namespace sluice::commit
