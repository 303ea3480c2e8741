// An input that is the index of a set of parts: elements come from the parts.
#include <algorithm>

#include "commit/publish/parts_files.hpp"
#include "commit/read/input.hpp"
#include "exec/transport/agree.hpp"

namespace sluice::commit {

void Input::open_parts(std::span<const std::uint64_t> words) {
  layout::PartSet set = layout::PartSet::from_words(words, path_);
  check_parts(transport_, storage_, path_, set, false);
  numbers_in_set_.resize(variables_.size());
  for (std::uint32_t number = 0; number < set.variables.size(); ++number) {
    const std::uint32_t variable = find(set.variables[number].name);
    numbers_in_set_[variable] = number;
    // Not through one rank and libhdf5, as other virtual datasets: every rank reads for itself.
    variables_[variable].placeable = true;
  }
  parts_ = std::make_unique<PartsInput>(storage_, path_, std::move(set), options_);
  for (std::uint32_t v = 0; v < variables_.size(); ++v) {
    if (variables_[v].definition.varying) {
      variables_[v].rows = row_counts(v);
    }
  }
}

std::vector<std::uint64_t> Input::row_counts(std::uint32_t variable) {
  const std::string name = variables_[variable].definition.name + layout::length_suffix;
  const auto bytes = exec::on_root(transport_, 0, [&] {
    const std::uint32_t lengths = find(name);
    std::vector<std::uint64_t> rows(steps_);
    for (std::uint64_t step = 0; step < steps_; ++step) {
      auto* into = reinterpret_cast<std::byte*>(&rows[step]);
      get_from_parts(lengths, step, {}, {into, type_of<std::uint64_t>(), {}, {}}, false);
    }
    model::ByteWriter out;
    out.put(rows);
    return out.take();
  });
  return model::ByteReader(bytes).get_vector<std::uint64_t>();
}

std::optional<std::uint32_t> Input::number_in_set(std::uint32_t variable) const {
  return variable < numbers_in_set_.size() ? numbers_in_set_[variable] : std::nullopt;
}

void Input::get_from_parts(std::uint32_t variable, std::uint64_t step, const model::Box& box,
                           const model::Memory& memory, bool allow_overflow) {
  if (!box.empty()) {
    parts_->get(*numbers_in_set_[variable], variables_[variable].definition, step, box, memory,
                allow_overflow);
  }
}

}  // namespace sluice::commit
