#include "commit/tools/holes.hpp"

#include <cstring>
#include <vector>

#include "model/convert.hpp"
#include "model/fill.hpp"

namespace sluice::commit {

std::uint64_t elements_unlike_fill(const model::Definition& definition, const model::Box& part,
                                   const RecordSet& records,
                                   const std::function<std::span<std::byte>()>& read) {
  std::vector<model::Box> put;
  std::uint64_t volume = 0;
  for (const Record* record : records.overlapping(part)) {
    if (const auto common = model::intersect(record->box, part)) {
      put.push_back(*common);
      volume += common->volume();
    }
  }
  if (volume >= part.volume()) {
    return 0;
  }
  // What was put is made the fill value too, so that all of the part can be compared with it.
  const std::size_t bytes = definition.type.bytes;
  const std::span<std::byte> held = read();
  std::vector<std::byte> fill(part.volume() * bytes);
  model::fill(fill, definition.type, definition.fill);
  for (const model::Box& box : put) {
    model::copy_box(fill.data(), part, held.data(), part, box, bytes);
  }
  if (std::memcmp(held.data(), fill.data(), fill.size()) == 0) {
    return 0;
  }
  std::uint64_t others = 0;
  for (std::size_t at = 0; at < fill.size(); at += bytes) {
    others += std::memcmp(held.data() + at, fill.data() + at, bytes) != 0 ? 1 : 0;
  }
  return others;
}

}  // namespace sluice::commit
