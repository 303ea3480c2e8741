#include "commit/read/parts_input.hpp"

#include <algorithm>
#include <atomic>

#include "commit/read/agreement.hpp"
#include "commit/read/file_input.hpp"
#include "commit/read/selection_reader.hpp"
#include "exec/transport/agree.hpp"
#include "exec/transport/solo_transport.hpp"
#include "layout/portion.hpp"
#include "model/convert.hpp"
#include "model/coverage.hpp"
#include "model/linear.hpp"
#include "model/numbering.hpp"
#include "storage/calls.hpp"
#include "storage/self_storage.hpp"

namespace sluice::commit {

using layout::Mapping;
using model::Box;
using model::Dims;

namespace {

/// Of all sets of the process.
std::atomic<std::size_t> open_parts{0};
/// Of one set, by all ranks together.
constexpr std::size_t most_open_together = 4;

}  // namespace

std::size_t most_open_parts() {
  return std::clamp<std::size_t>(storage::open_files_limit() / 8, 8, 256);
}

struct PartsInput::Open {
  Open(std::uint32_t number, exec::Transport& transport, storage::Storage& storage,
       const std::string& path, const Options& options)
      : part(number), file(transport, storage, path, options), reader(file) {
    ++open_parts;
  }
  ~Open() { --open_parts; }

  /// Collective over its transport.
  void get(const GetRequest& request) {
    const auto failure = exec::failure_of([&] { check_request(file.view, request); });
    exec::for_file(file.path(), [&] { reader.get({&request, 1}, failure); });
  }

  std::uint32_t part;
  FileInput file;
  SelectionReader reader;
};

PartsInput::PartsInput(storage::Storage& storage, const std::string& index_path,
                       layout::PartSet set, const Options& options, std::size_t rank_cores)
    : shared_storage_(storage),
      storage_(storage::make_self_storage(storage)),
      index_path_(index_path),
      set_(std::move(set)),
      mappings_(set_.mappings),
      options_(options),
      rank_cores_(rank_cores),
      alone_(exec::make_solo()),
      by_variable_(set_.variables.size()) {
  std::vector<layout::Mapping>().swap(set_.mappings);  // with its memory
  for (std::uint32_t m = 0; m < mappings_.size(); ++m) {
    by_variable_[mappings_.variable(m)].push_back(m);
  }
}

PartsInput::~PartsInput() = default;

PartsInput::Open* PartsInput::find_open(std::list<std::unique_ptr<Open>>& among,
                                        std::uint32_t part) {
  const auto found = std::find_if(among.begin(), among.end(),
                                  [&](const auto& open) { return open->part == part; });
  if (found == among.end()) {
    return nullptr;
  }
  among.splice(among.begin(), among, found);
  return among.front().get();
}

PartsInput::Open& PartsInput::open_together(exec::Transport& transport, std::uint32_t part) {
  if (Open* known = find_open(together_, part)) {
    return *known;
  }
  if (together_.size() == most_open_together) {
    together_.pop_back();
  }
  const std::string path = layout::part_path(index_path_, set_.parts[part].path);
  together_.push_front(std::make_unique<Open>(part, transport, shared_storage_, path, options_));
  return *together_.front();
}

PartsInput::Open& PartsInput::open(std::uint32_t part) {
  if (Open* known = find_open(open_, part)) {
    return *known;
  }
  // The limit counts other sets of the process too, but each keeps the one that it is reading from.
  while (!open_.empty() && open_parts >= most_open_parts()) {
    open_.pop_back();
  }
  const std::string path = layout::part_path(index_path_, set_.parts[part].path);
  open_.push_front(std::make_unique<Open>(part, *alone_, *storage_, path, options_));
  open_.front()->file.rank_cores = rank_cores_;  // the other ranks read parts at the same time
  return *open_.front();
}

void PartsInput::get(const InputVariable& variable, const GetRequest& request) {
  const Box& box = request.box;
  if (box.empty()) {
    return;
  }
  std::vector<Mapping> hits;
  std::vector<Box> parts;
  for (const std::uint32_t m : by_variable_[*variable.number_in_set]) {
    if (variable.definition.stepped && !mappings_.holds(m, request.step)) {
      continue;
    }
    const Mapping mapping = mappings_[m];
    if (const auto part = model::intersect(mapping.box, box)) {
      hits.push_back(mapping);
      parts.push_back(*part);
    }
  }
  if (!model::tiles(box, parts)) {
    Destination(variable, request).fill(box);
  }
  for (std::size_t i = 0; i < hits.size(); ++i) {
    try {
      read(hits[i], parts[i], variable, request);
    } catch (const Error& e) {
      throw Error(e.code(), naming_index(e, variable, request.step).what());
    }
  }
}

std::vector<std::uint64_t> PartsInput::rows(const InputVariable& lengths, std::uint64_t steps) {
  std::vector<std::uint64_t> rows(steps);
  for (std::uint64_t step = 0; step < steps; ++step) {
    auto* into = reinterpret_cast<std::byte*>(&rows[step]);
    get(lengths, {lengths.catalog_index, step, {}, {into, type_of<std::uint64_t>(), {}, {}}});
  }
  return rows;
}

Error PartsInput::naming_index(const Error& e, const InputVariable& variable,
                               std::uint64_t step) const {
  const model::Definition& definition = variable.definition;
  return {e.code(),
          index_path_ + ": " + definition.name +
              (definition.stepped ? ", step " + model::number_text(step) : "") + ": " +
              exec::text_without_rank(e),
          e.rank()};
}

std::optional<Mapping> PartsInput::only_mapping(const InputVariable& variable, std::uint64_t step,
                                                const Box& region) const {
  std::optional<Mapping> only;
  for (const std::uint32_t m : by_variable_[*variable.number_in_set]) {
    if (variable.definition.stepped && !mappings_.holds(m, step)) {
      continue;
    }
    const Mapping mapping = mappings_[m];
    if (!model::intersect(mapping.box, region)) {
      continue;
    }
    if (only || mapping.listed || !model::contains(mapping.box, region)) {
      return std::nullopt;
    }
    only = mapping;
  }
  return only;
}

void PartsInput::get_together(exec::Transport& transport, const InputVariable& variable,
                              const GetRequest& request, const Box& region) {
  const auto mapping =
      transport.size() > 1 ? only_mapping(variable, request.step, region) : std::nullopt;
  if (!mapping) {
    exec::together(transport, [&] { get(variable, request); });
    return;
  }
  try {
    Open& part = open_together(transport, mapping->part);
    Wanted wanted = find(part, *mapping, variable, request);
    wanted.region = request.box;
    read_dense(part, wanted, *mapping, request);
  } catch (const Error& e) {
    const Error named = naming_index(e, variable, request.step);
    throw e.rank() < 0 ? named : exec::naming_rank(named, e.rank());
  }
}

void PartsInput::read(const Mapping& mapping, const Box& wanted, const InputVariable& variable,
                      const GetRequest& request) {
  Open& part = open(mapping.part);
  Wanted stored = find(part, mapping, variable, request);
  stored.region = wanted;
  if (mapping.listed) {
    read_listed(part, stored, mapping, Destination(variable, request));
  } else {
    read_dense(part, stored, mapping, request);
  }
}

Wanted PartsInput::find(Open& part, const Mapping& mapping, const InputVariable& variable,
                        const GetRequest& request) const {
  const std::uint32_t number = part.file.view.find(set_.datasets[mapping.dataset]);
  const model::Definition& stored = part.file.view[number].definition;
  if (stored.type != variable.definition.type || stored.stepped != variable.definition.stepped) {
    throw Error(Code::format,
                part.file.path() + ": " + stored.name + " is not what the index says");
  }
  return {number, stored.stepped ? mapping.first_row + (request.step - mapping.first_step) : 0, {}};
}

void PartsInput::read_dense(Open& part, const Wanted& wanted, const Mapping& mapping,
                            const GetRequest& request) {
  Box box = wanted.region;
  model::Memory memory = request.memory;
  if (box.empty()) {  // wherever it is
    const Dims zeros = Dims::filled(box.start.rank(), 0);
    box = {zeros, zeros};
  }
  for (int d = 0; d < box.start.rank() && !box.empty(); ++d) {
    box.start[d] -= mapping.box.start[d];
    memory.start[d] += wanted.region.start[d] - request.box.start[d];
  }
  part.get({wanted.variable, wanted.step, box, memory, request.allow_overflow});
}

namespace {

/// The number of the element at `at` in the row-major order of `box`.
std::uint64_t number_of(const Dims& at, const Box& box) {
  std::uint64_t number = 0;
  for (int d = 0; d < at.rank(); ++d) {
    number = number * box.count[d] + (at[d] - box.start[d]);
  }
  return number;
}

}  // namespace

void PartsInput::read_listed(Open& part, const Wanted& wanted, const Mapping& mapping,
                             const Destination& to) {
  const Type& type = part.file.view[wanted.variable].definition.type;
  Dims last = wanted.region.start;
  for (int d = 0; d < last.rank(); ++d) {
    last[d] += wanted.region.count[d] - 1;
  }
  const std::uint64_t end = number_of(last, mapping.box) + 1;
  // Pieces begin at the same places as the writer's portions, so that no checksum is computed
  // twice.
  const std::uint64_t most = std::max<std::uint64_t>(1, layout::portion_bytes / type.bytes);
  std::vector<std::byte> bytes;
  std::vector<std::byte> selected;
  for (std::uint64_t at = number_of(wanted.region.start, mapping.box) / most * most; at < end;
       at += most) {
    const std::uint64_t count = std::min(most, mapping.box.volume() - at);
    bytes.resize(count * type.bytes);
    part.get(dense_request(wanted.variable, wanted.step, {{mapping.offset + at}, {count}},
                           bytes.data(), type));
    std::span<const std::byte> rest = bytes;
    for (const Box& box : model::boxes_of_range(mapping.box, at, count)) {
      const auto held = rest.first(box.volume() * type.bytes);
      rest = rest.subspan(held.size());
      const auto common = model::intersect(box, wanted.region);
      if (!common) {
        continue;
      }
      selected.resize(common->volume() * type.bytes);
      model::copy_box(held.data(), box, selected.data(), *common, *common, type.bytes);
      to.put(*common, selected);
    }
  }
}

}  // namespace sluice::commit
