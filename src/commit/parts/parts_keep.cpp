// Drops the first steps of a set of parts, and the files that are no longer needed; lets a step
// refer to what an earlier one has.
#include <algorithm>

#include "commit/parts/parts_index.hpp"
#include "commit/publish/parts_files.hpp"

namespace sluice::commit {

namespace {

/// What a part may hold beside values and is not counted: headers, names, its log.
constexpr std::uint64_t part_metadata_bytes = 64 << 10;
constexpr std::uint64_t variable_metadata_bytes = 4 << 10;

}  // namespace

using layout::CommitRow;
using layout::Mapping;
using layout::PartSet;

void PartsIndex::share(PartSet& set, const std::vector<std::uint32_t>& shared,
                       std::uint64_t from) const {
  if (shared.empty()) {
    return;
  }
  for (const Mapping& there : set_.mappings) {
    if (there.holds(from) &&
        std::find(shared.begin(), shared.end(), there.variable) != shared.end()) {
      Mapping mapping = there;
      mapping.first_row += from - there.first_step;
      mapping.first_step = steps_;
      mapping.steps = 1;
      set.mappings.push_back(mapping);
    }
  }
}

std::vector<std::uint32_t> PartsIndex::sharable(const std::vector<std::int64_t>& alike,
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

void PartsIndex::drop_first(PartSet& set, std::vector<CommitRow>& commits,
                            std::map<Key, Last>& last, std::uint64_t steps) {
  std::vector<std::uint32_t> numbers(set.mappings.size(), no_number);  // old to new
  std::vector<Mapping> kept;
  for (std::size_t m = 0; m < set.mappings.size(); ++m) {
    Mapping mapping = set.mappings[m];
    if (set.variables[mapping.variable].stepped) {
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
  set.mappings = std::move(kept);
  for (auto& [key, one] : last) {
    for (Place& place : one.places) {
      place.number = place.number == no_number ? no_number : numbers[place.number];
    }
  }
  std::erase_if(commits, [&](const CommitRow& row) {
    return row.step != CommitRow::no_step && row.step < steps;
  });
  for (CommitRow& row : commits) {
    row.step -= row.step == CommitRow::no_step ? 0 : steps;
  }
}

std::vector<OldPart> PartsIndex::drop_parts(PartSet& set, std::map<Key, Last>& last,
                                            const std::set<std::uint64_t>& active) const {
  std::vector<bool> is_used(set.parts.size());
  for (const Mapping& mapping : set.mappings) {
    is_used[mapping.part] = true;
  }
  std::vector<OldPart> old;
  std::vector<std::uint32_t> numbers(set.parts.size(), no_number);
  std::vector<layout::Part> kept;
  for (std::size_t p = 0; p < set.parts.size(); ++p) {
    if (is_used[p] || active.contains(set.parts[p].id)) {
      numbers[p] = static_cast<std::uint32_t>(kept.size());
      kept.push_back(set.parts[p]);
    } else {
      old.push_back({layout::part_path(path_, set.parts[p].path), set.parts[p].id});
    }
  }
  if (old.empty()) {
    return old;
  }
  set.parts = std::move(kept);
  for (Mapping& mapping : set.mappings) {
    mapping.part = numbers[mapping.part];
  }
  std::map<Key, Last> moved;
  for (auto& [key, one] : last) {
    if (numbers[key.first] != no_number) {
      for (Place& place : one.places) {
        place.mapping.part = numbers[key.first];
      }
      moved[{numbers[key.first], key.second}] = std::move(one);
    }
  }
  last = std::move(moved);
  return old;
}

bool PartsIndex::forget_parts(const std::vector<std::size_t>& lost) {
  std::set<std::uint64_t> gone;  // steps
  for (const Mapping& mapping : set_.mappings) {
    if (std::find(lost.begin(), lost.end(), mapping.part) == lost.end()) {
      continue;
    }
    if (!set_.variables[mapping.variable].stepped) {
      return false;
    }
    for (std::uint64_t s = 0; s < mapping.steps; ++s) {
      gone.insert(mapping.first_step + s);
    }
  }
  if (gone.empty() || *gone.begin() == 0 || gone.size() != steps_ - *gone.begin()) {
    return false;
  }
  drop_steps(*gone.begin(), true);
  PartSet set = set_;
  std::vector<OldPart> old = drop_parts(set, last_, {});
  replace({definitions_, &set, attributes_, commits_, &scalars_, profile_}, true);
  set_ = std::move(set);
  remove_all(old);
  return true;
}

void PartsIndex::remove_dropped(bool all) noexcept {
  if (!all && older_.empty()) {
    return;
  }
  try {
    name_.check();
  } catch (const std::exception&) {
    return;  // what has the name of the index may refer to them
  }
  remove_all(older_);
  if (all) {
    remove_all(dropped_);
    replaced_.remove_parts();
  }
}

std::uint64_t PartsIndex::next_number() const {
  std::uint64_t next = 0;
  for (const layout::Part& part : set_.parts) {
    if (const auto number = part_number(part.path, set_.id)) {
      next = std::max(next, *number + 1);
    }
  }
  return next;
}

void PartsIndex::remove_orphans(const std::string& folder) noexcept {
  std::set<std::uint64_t> used;
  for (const layout::Part& part : set_.parts) {
    if (const auto number = part_number(part.path, set_.id)) {
      used.insert(*number);
    }
  }
  const auto remove = [&](const std::string& path) {
    try {
      const auto lease = storage_.lease(path);  // of the run that died; it goes with the part
      remove_part(storage_, path_, set_.id, {path, {}});
    } catch (const std::exception&) {
      return;  // another process writes it
    }
  };
  try {
    for (const std::string& name : storage_.list(folder)) {
      const auto number = part_number(name, set_.id);
      if (number && !used.contains(*number)) {
        remove(folder + "/" + name);
      }
    }
  } catch (const std::exception&) {
    return;  // there is no such folder
  }
}

}  // namespace sluice::commit
