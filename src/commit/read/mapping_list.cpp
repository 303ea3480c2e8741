#include "commit/read/mapping_list.hpp"

namespace sluice::commit {

using layout::Mapping;
using model::Dims;

MappingList::MappingList(std::span<const Mapping> mappings) {
  std::size_t numbers = 0;
  for (const Mapping& mapping : mappings) {
    numbers += 2 * static_cast<std::size_t>(mapping.box.start.rank());
  }
  numbers_.reserve(numbers);
  entries_.reserve(mappings.size());
  for (const Mapping& mapping : mappings) {
    const model::Box& box = mapping.box;
    entries_.push_back({mapping.first_step, mapping.steps, mapping.first_row, mapping.offset,
                        numbers_.size(), mapping.variable, mapping.part, mapping.dataset,
                        static_cast<std::uint8_t>(box.start.rank()), mapping.listed});
    numbers_.insert(numbers_.end(), box.start.begin(), box.start.end());
    numbers_.insert(numbers_.end(), box.count.begin(), box.count.end());
  }
}

Mapping MappingList::operator[](std::size_t i) const {
  const Entry& entry = entries_[i];
  const auto numbers = std::span(numbers_).subspan(entry.box, 2 * std::size_t{entry.rank});
  Mapping mapping;
  mapping.variable = entry.variable;
  mapping.part = entry.part;
  mapping.dataset = entry.dataset;
  mapping.listed = entry.listed;
  mapping.first_step = entry.first_step;
  mapping.steps = entry.steps;
  mapping.first_row = entry.first_row;
  mapping.offset = entry.offset;
  mapping.box = {Dims(numbers.first(entry.rank)), Dims(numbers.subspan(entry.rank))};
  return mapping;
}

}  // namespace sluice::commit
