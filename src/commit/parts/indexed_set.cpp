#include "commit/parts/indexed_set.hpp"

#include <algorithm>
#include <set>

#include "layout/hdf5/catalog.hpp"
#include "model/clock.hpp"
#include "model/fill_attribute.hpp"
#include "model/kinds.hpp"

namespace sluice::commit {

using layout::CommitRow;
using layout::Mapping;
using layout::PartSet;

namespace {

/// What a part may hold beside values and is not counted: headers, names, its log.
constexpr std::uint64_t part_metadata_bytes = 64 << 10;
constexpr std::uint64_t variable_metadata_bytes = 4 << 10;

/// Does it say a fill value that the index says anew (hdf5/fill)?
bool is_fill_of(const model::Attribute& attribute,
                const std::vector<model::Definition>& definitions) {
  return std::any_of(definitions.begin(), definitions.end(), [&](const model::Definition& d) {
    return model::is_real(d.type.kind) && model::says_fill(attribute, d);
  });
}

}  // namespace

IndexedSet::IndexedSet(const std::string& path, layout::hdf5::Profile profile)
    : path_(path), profile_(profile) {
  set_.id = draw_id();
}

IndexedSet::IndexedSet(const std::string& path, storage::File& file) : path_(path) {
  const auto catalog = layout::hdf5::Catalog::open(file);
  if (catalog->set() == nullptr) {
    throw Error(Code::format, path_ +
                                  ": is one plain file, not the index of a set of parts: "
                                  "there is nothing to collect; steps are appended with "
                                  "strategy shared or serial, without keep and split");
  }
  set_ = *catalog->set();
  profile_ = catalog->profile();
  // The next commit rewrites all rows.
  catalog->require_intact_log(path_, "restore the index from a copy");
  commits_ = catalog->commits();
  steps_ = catalog->steps();
  std::set<std::string> strangers;
  std::map<std::string, std::uint32_t> numbers;
  for (std::uint32_t v = 0; v < catalog->variables().size(); ++v) {
    numbers[catalog->variables()[v].definition.name] = v;
    strangers.insert(catalog->variables()[v].definition.name);
  }
  for (const layout::UnreadableDataset& dataset : catalog->unreadable()) {
    strangers.insert(dataset.name);
  }
  for (std::uint32_t v = 0; v < set_.variables.size(); ++v) {
    const auto found = numbers.find(set_.variables[v].name);
    if (found == numbers.end()) {
      throw Error(Code::damaged, path_ + ": has no dataset " + set_.variables[v].name);
    }
    const model::Definition& definition = catalog->variables()[found->second].definition;
    definitions_.push_back(definition);
    strangers.erase(definition.name);
    const bool is_scalar = definition.shape.empty() && !definition.stepped;
    const bool is_written =
        std::any_of(set_.mappings.begin(), set_.mappings.end(),
                    [&](const Mapping& mapping) { return mapping.variable == v; });
    if (is_scalar && is_written) {
      std::vector<std::byte>& bytes = scalars_[v];
      bytes.resize(definition.type.bytes);
      catalog->read(found->second, 0, {}, bytes);
    }
  }
  has_time_ = strangers.erase(layout::time_name) != 0;
  if (!strangers.empty()) {
    throw Error(Code::changed_outside, path_ + ": " + *strangers.begin() +
                                           " was added by another program, and rewriting the index "
                                           "would lose it: move it to a file of its own");
  }
  for (model::Attribute& attribute : catalog->attributes()) {
    if (!is_fill_of(attribute, definitions_)) {
      attributes_.push_back(std::move(attribute));
    }
  }
}

/// Of a commit that ends now.
void IndexedSet::log_commit(std::uint64_t step, double time) {
  CommitRow row;
  row.step = step;
  row.time = time;
  row.modified_ns = model::wall_clock_ns();
  commits_.push_back(row);
}

std::vector<OldPart> IndexedSet::commit(const std::vector<model::Definition>& definitions,
                                        const FileCommit& commit, const std::vector<PartNews>& news,
                                        std::uint64_t keep,
                                        const std::vector<std::uint32_t>& shared) {
  for (std::size_t v = set_.variables.size(); v < definitions.size(); ++v) {
    set_.variables.push_back({definitions[v].name, definitions[v].stepped});
  }
  for (std::size_t v = 0; v < definitions.size(); ++v) {
    set_.variables[v].compress = definitions[v].compress;
  }
  definitions_ = definitions;
  PartNumbers numbers;
  numbers.reserve(set_.parts.size() + news.size());
  for (std::uint32_t p = 0; p < set_.parts.size(); ++p) {
    numbers.emplace(set_.parts[p].id, p);
  }
  std::set<std::uint64_t> active;
  for (const PartNews& one : news) {
    active.insert(one.part.id);
    if (one.wrote) {
      enter(one, numbers);
    }
  }
  share(shared, steps_ - std::min(steps_, shared_lag(keep)));
  log_commit(commit.is_step ? steps_ : CommitRow::no_step, commit.time);
  steps_ += commit.is_step ? 1 : 0;
  if (keep == 0 || steps_ <= keep) {
    return {};
  }
  drop_first(steps_ - keep);
  return drop_parts(active);
}

/// The number of a part, which is added if it is new.
std::uint32_t IndexedSet::enter_part(const layout::Part& part, PartNumbers& numbers) {
  const auto [known, is_new] =
      numbers.emplace(part.id, static_cast<std::uint32_t>(set_.parts.size()));
  if (is_new) {
    set_.parts.push_back(part);
    set_.parts.back().path = layout::name_in_index(path_, part.path);
  } else {  // its file is where it was
    layout::Part& present = set_.parts[known->second];
    present.commits = part.commits;
    present.stamp_ns = part.stamp_ns;
    present.bytes = part.bytes;
  }
  return known->second;
}

void IndexedSet::enter(const PartNews& news, PartNumbers& numbers) {
  const std::uint64_t step = steps_;
  const std::uint32_t number = enter_part(news.part, numbers);
  for (const std::uint32_t variable : news.same) {
    for (Place& place : last_[{number, variable}]) {
      if (place.number != no_number) {
        Mapping& mapping = set_.mappings[place.number];
        if (mapping.first_step + mapping.steps == step &&
            mapping.first_row + mapping.steps == news.row) {
          ++mapping.steps;
          continue;
        }
      }
      place.mapping.first_step = step;
      place.mapping.steps = 1;
      place.mapping.first_row = news.row;
      place.number = static_cast<std::uint32_t>(set_.mappings.size());
      set_.mappings.push_back(place.mapping);
    }
  }
  for (const Mapping& mapping : news.mappings) {
    last_[{number, mapping.variable}].clear();
  }
  for (Mapping mapping : news.mappings) {
    const bool stepped = set_.variables[mapping.variable].stepped;
    mapping.part = number;
    mapping.dataset = set_.dataset_number(news.datasets[mapping.dataset]);
    mapping.first_step = stepped ? step : 0;
    mapping.first_row = stepped ? news.row : 0;
    last_[{number, mapping.variable}].push_back(
        {mapping, static_cast<std::uint32_t>(set_.mappings.size())});
    set_.mappings.push_back(mapping);
  }
  for (const PartNews::Scalar& scalar : news.scalars) {
    scalars_[scalar.variable] = scalar.bytes;
  }
}

/// The next step has of these variables what step number `from` has.
void IndexedSet::share(const std::vector<std::uint32_t>& shared, std::uint64_t from) {
  const std::size_t present = set_.mappings.size();
  for (std::size_t m = 0; m < present; ++m) {
    if (set_.mappings[m].holds(from) &&
        std::find(shared.begin(), shared.end(), set_.mappings[m].variable) != shared.end()) {
      Mapping mapping = set_.mappings[m];
      mapping.first_row += from - mapping.first_step;
      mapping.first_step = steps_;
      mapping.steps = 1;
      set_.mappings.push_back(mapping);
    }
  }
}

std::vector<std::uint32_t> IndexedSet::sharable(const std::vector<std::int64_t>& alike,
                                                std::uint64_t keep) const {
  const std::uint64_t lag = shared_lag(keep);
  if (lag == 0 || steps_ < lag) {
    return {};
  }
  struct Candidate {
    std::uint32_t variable = 0;
    std::uint64_t bytes = 0;
    std::set<std::uint32_t> parts;
  };
  std::vector<Candidate> candidates(alike.size());
  std::uint64_t room = 0;
  for (const Mapping& mapping : set_.mappings) {
    const std::uint32_t v = mapping.variable;
    const std::uint64_t bytes = mapping.box.volume() * definitions_[v].type.bytes;
    room += set_.variables[v].stepped && mapping.holds(steps_ - 1) ? bytes : 0;
    if (v < alike.size() && set_.variables[v].stepped && mapping.holds(steps_ - lag) &&
        alike[v] >= static_cast<std::int64_t>(lag)) {
      candidates[v].variable = v;
      candidates[v].bytes += bytes;
      candidates[v].parts.insert(mapping.part);
    }
  }
  std::erase_if(candidates, [](const Candidate& c) { return c.parts.empty(); });
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.bytes > b.bytes; });
  std::set<std::uint32_t> staying;
  std::vector<std::uint32_t> chosen;
  for (const Candidate& candidate : candidates) {
    std::set<std::uint32_t> more;
    std::uint64_t bytes = 0;
    for (const std::uint32_t part : candidate.parts) {
      if (!staying.contains(part)) {
        more.insert(part);
        bytes += set_.parts[part].bytes;
      }
    }
    // Metadata of a part is no reason: it may be larger than a small state.
    const std::uint64_t metadata_bytes =
        more.size() * (part_metadata_bytes + set_.variables.size() * variable_metadata_bytes);
    if (bytes - std::min(bytes, metadata_bytes) <= room) {
      room -= bytes - std::min(bytes, metadata_bytes);
      staying.merge(more);
      chosen.push_back(candidate.variable);
    }
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

void IndexedSet::drop_first(std::uint64_t steps) {
  std::vector<std::uint32_t> numbers(set_.mappings.size(), no_number);  // old to new
  std::vector<Mapping> kept;
  for (std::size_t m = 0; m < set_.mappings.size(); ++m) {
    Mapping mapping = set_.mappings[m];
    if (set_.variables[mapping.variable].stepped) {
      if (mapping.first_step + mapping.steps <= steps) {
        continue;
      }
      const std::uint64_t cut = steps - std::min(steps, mapping.first_step);
      mapping.first_row += cut;
      mapping.steps -= cut;
      mapping.first_step += cut - steps;  // wraps around; not below 0 in the end
    }
    numbers[m] = static_cast<std::uint32_t>(kept.size());
    kept.push_back(mapping);
  }
  set_.mappings = std::move(kept);
  for (auto& [key, one] : last_) {
    for (Place& place : one) {
      place.number = place.number == no_number ? no_number : numbers[place.number];
    }
  }
  std::erase_if(commits_, [&](const CommitRow& row) {
    return row.step != CommitRow::no_step && row.step < steps;
  });
  for (CommitRow& row : commits_) {
    row.step -= row.step == CommitRow::no_step ? 0 : steps;
  }
  steps_ -= steps;
}

std::vector<OldPart> IndexedSet::drop_parts(const std::set<std::uint64_t>& active) {
  std::vector<bool> is_used(set_.parts.size());
  for (const Mapping& mapping : set_.mappings) {
    is_used[mapping.part] = true;
  }
  std::vector<OldPart> old;
  std::vector<std::uint32_t> numbers(set_.parts.size(), no_number);
  std::vector<layout::Part> kept;
  for (std::size_t p = 0; p < set_.parts.size(); ++p) {
    if (is_used[p] || active.contains(set_.parts[p].id)) {
      numbers[p] = static_cast<std::uint32_t>(kept.size());
      kept.push_back(set_.parts[p]);
    } else {
      old.push_back({layout::part_path(path_, set_.parts[p].path), set_.parts[p].id});
    }
  }
  if (old.empty()) {
    return old;
  }
  set_.parts = std::move(kept);
  for (Mapping& mapping : set_.mappings) {
    mapping.part = numbers[mapping.part];
  }
  std::map<Key, std::vector<Place>> moved;
  for (auto& [key, one] : last_) {
    if (numbers[key.first] != no_number) {
      for (Place& place : one) {
        place.mapping.part = numbers[key.first];
      }
      moved[{numbers[key.first], key.second}] = std::move(one);
    }
  }
  last_ = std::move(moved);
  return old;
}

IndexedSet IndexedSet::before_step(std::uint64_t step) const {
  IndexedSet result = *this;
  std::erase_if(result.set_.mappings, [&](Mapping& mapping) {
    if (!set_.variables[mapping.variable].stepped) {
      return false;
    }
    mapping.steps = std::min(mapping.steps, step - std::min(step, mapping.first_step));
    return mapping.steps == 0;
  });
  std::erase_if(result.commits_, [&](const CommitRow& row) {
    return row.step != CommitRow::no_step && row.step >= step;
  });
  result.log_commit(CommitRow::no_step, 0);
  result.last_.clear();  // counted in mappings
  result.steps_ = std::min(step, steps_);
  return result;
}

IndexedSet IndexedSet::with_parts_at(const std::vector<std::string>& paths) const {
  IndexedSet result = *this;
  for (std::size_t p = 0; p < set_.parts.size(); ++p) {
    result.set_.parts[p].path = layout::name_in_index(path_, paths[p]);
  }
  return result;
}

std::optional<std::uint64_t> IndexedSet::first_lost_step(
    const std::vector<std::size_t>& lost) const {
  std::set<std::uint64_t> gone;  // steps
  for (const Mapping& mapping : set_.mappings) {
    if (std::find(lost.begin(), lost.end(), mapping.part) == lost.end()) {
      continue;
    }
    if (!set_.variables[mapping.variable].stepped) {
      return std::nullopt;
    }
    for (std::uint64_t s = 0; s < mapping.steps; ++s) {
      gone.insert(mapping.first_step + s);
    }
  }
  if (gone.empty() || *gone.begin() == 0 || gone.size() != steps_ - *gone.begin()) {
    return std::nullopt;
  }
  return *gone.begin();
}

std::set<std::uint64_t> IndexedSet::part_numbers() const {
  std::set<std::uint64_t> numbers;
  for (const layout::Part& part : set_.parts) {
    if (const auto number = part_number(part.path, set_.id)) {
      numbers.insert(*number);
    }
  }
  return numbers;
}

}  // namespace sluice::commit
