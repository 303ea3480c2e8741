#include "commit/parts/parts_index.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "commit/publish/atomic_file.hpp"
#include "commit/publish/journal.hpp"
#include "layout/hdf5/catalog.hpp"
#include "model/bytes.hpp"
#include "model/clock.hpp"
#include "model/fill_attribute.hpp"
#include "model/kinds.hpp"

namespace sluice::commit {

using layout::CommitRow;
using layout::Mapping;
using layout::PartSet;
using layout::hdf5::Catalog;

std::vector<std::byte> PartNews::to_bytes() const {
  model::ByteWriter out;
  out.put(wrote);
  out.put(part.path);
  out.put(part.id);
  out.put(part.commits);
  out.put(part.stamp_ns);
  out.put(part.bytes);
  out.put(row);
  out.put(same);
  out.put(mappings.size());
  for (const Mapping& mapping : mappings) {
    out.put(mapping.variable);
    out.put(mapping.dataset);
    out.put(mapping.listed);
    out.put(mapping.offset);
    out.put(mapping.box);
  }
  out.put(datasets.size());
  for (const std::string& dataset : datasets) {
    out.put(dataset);
  }
  out.put(scalars.size());
  for (const Scalar& scalar : scalars) {
    out.put(scalar.variable);
    out.put(scalar.bytes);
  }
  return out.take();
}

PartNews PartNews::from_bytes(std::span<const std::byte> bytes) {
  model::ByteReader in(bytes);
  PartNews news;
  news.wrote = in.get<bool>();
  news.part.path = in.get_string();
  news.part.id = in.get<std::uint64_t>();
  news.part.commits = in.get<std::uint64_t>();
  news.part.stamp_ns = in.get<std::int64_t>();
  news.part.bytes = in.get<std::uint64_t>();
  news.row = in.get<std::uint64_t>();
  news.same = in.get_vector<std::uint32_t>();
  news.mappings.resize(in.get<std::size_t>());
  for (Mapping& mapping : news.mappings) {
    mapping.variable = in.get<std::uint32_t>();
    mapping.dataset = in.get<std::uint32_t>();
    mapping.listed = in.get<bool>();
    mapping.offset = in.get<std::uint64_t>();
    mapping.box = in.get<model::Box>();
  }
  news.datasets.resize(in.get<std::size_t>());
  for (std::string& dataset : news.datasets) {
    dataset = in.get_string();
  }
  news.scalars.resize(in.get<std::size_t>());
  for (Scalar& scalar : news.scalars) {
    scalar.variable = in.get<std::uint32_t>();
    scalar.bytes = in.get_vector<std::byte>();
  }
  return news;
}

PartsIndex::PartsIndex(storage::Storage& storage, const std::string& path,
                       const std::string& strategy, Opening opening, layout::hdf5::Profile profile)
    : storage_(storage), path_(path), name_(storage, path), profile_(profile) {
  if (opening == Opening::append) {
    load();
    set_.strategy = strategy;
    committed_attributes_ = attributes_;
    return;
  }
  name_.begin(opening == Opening::create);
  set_.id = draw_id();
  set_.strategy = strategy;
  replaced_ = ReplacedSet(storage, path);
}

namespace {

/// Does it say a fill value that the index says anew (hdf5/fill)?
bool is_fill_of(const model::Attribute& attribute,
                const std::vector<model::Definition>& definitions) {
  return std::any_of(definitions.begin(), definitions.end(), [&](const model::Definition& d) {
    return model::is_real(d.type.kind) && model::says_fill(attribute, d);
  });
}

}  // namespace

void PartsIndex::load() {
  const auto file = storage_.open(path_, storage::Access::read);
  name_.found(*file);
  const auto catalog = Catalog::open(*file);
  if (catalog->set() == nullptr) {
    throw Error(Code::format, path_ +
                                  ": is one plain file, not the index of a set of parts: "
                                  "append with strategy shared or serial, without keep "
                                  "and split");
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

void PartsIndex::set_attribute(const model::Attribute& attribute) {
  model::set_attribute(attributes_, attribute);
}

std::uint64_t PartsIndex::commit(const std::vector<model::Definition>& definitions,
                                 const FileCommit& commit, const std::vector<PartNews>& news,
                                 std::uint64_t keep, const std::vector<std::uint32_t>& shared) {
  PartSet set = set_;
  std::map<Key, Last> last = last_;
  for (std::size_t v = set.variables.size(); v < definitions.size(); ++v) {
    set.variables.push_back({definitions[v].name, definitions[v].stepped});
  }
  std::map<std::uint32_t, std::vector<std::byte>> scalars = scalars_;
  PartNumbers numbers;
  numbers.reserve(set.parts.size() + news.size());
  for (std::uint32_t p = 0; p < set.parts.size(); ++p) {
    numbers.emplace(set.parts[p].id, p);
  }
  for (const PartNews& one : news) {
    if (one.wrote) {
      enter(set, one, numbers, last);
      for (const PartNews::Scalar& scalar : one.scalars) {
        scalars[scalar.variable] = scalar.bytes;
      }
    }
  }
  share(set, shared, steps_ - std::min(steps_, shared_lag(keep)));
  std::vector<CommitRow> commits = commits_;
  CommitRow row;
  row.step = commit.is_step ? steps_ : CommitRow::no_step;
  row.time = commit.time;
  row.modified_ns = model::wall_clock_ns();
  commits.push_back(row);
  std::uint64_t steps = steps_ + (commit.is_step ? 1 : 0);
  std::vector<OldPart> dropped;
  if (keep != 0 && steps > keep) {
    drop_first(set, commits, last, steps - keep);
    steps = keep;
    std::set<std::uint64_t> active;
    std::transform(news.begin(), news.end(), std::inserter(active, active.end()),
                   [](const PartNews& one) { return one.part.id; });
    dropped = drop_parts(set, last, active);
  }
  replace({definitions, &set, attributes_, commits, &scalars, profile_}, commit.synced);
  set_ = std::move(set);
  scalars_ = std::move(scalars);
  last_ = std::move(last);
  commits_ = std::move(commits);
  definitions_ = definitions;
  if (commit.synced) {
    replaced_.remove_parts();
  }
  older_.insert(older_.end(), dropped_.begin(), dropped_.end());
  dropped_ = std::move(dropped);
  steps_ = steps;
  return steps - (commit.is_step ? 1 : 0);
}

namespace {

/// The number of a part, which is added if it is new.
std::uint32_t enter_part(PartSet& set, const layout::Part& part, const std::string& index_path,
                         PartNumbers& numbers) {
  const auto [known, is_new] =
      numbers.emplace(part.id, static_cast<std::uint32_t>(set.parts.size()));
  if (is_new) {
    set.parts.push_back(part);
    set.parts.back().path = layout::name_in_index(index_path, part.path);
  } else {  // its file is where it was
    layout::Part& present = set.parts[known->second];
    present.commits = part.commits;
    present.stamp_ns = part.stamp_ns;
    present.bytes = part.bytes;
  }
  return known->second;
}

}  // namespace

void PartsIndex::enter(PartSet& set, const PartNews& news, PartNumbers& numbers,
                       std::map<Key, Last>& last) const {
  const std::uint64_t step = steps_;
  const std::uint32_t number = enter_part(set, news.part, path_, numbers);
  for (const std::uint32_t variable : news.same) {
    for (Place& place : last[{number, variable}].places) {
      if (place.number != no_number) {
        Mapping& mapping = set.mappings[place.number];
        if (mapping.first_step + mapping.steps == step &&
            mapping.first_row + mapping.steps == news.row) {
          ++mapping.steps;
          continue;
        }
      }
      place.mapping.first_step = step;
      place.mapping.steps = 1;
      place.mapping.first_row = news.row;
      place.number = static_cast<std::uint32_t>(set.mappings.size());
      set.mappings.push_back(place.mapping);
    }
  }
  for (const Mapping& mapping : news.mappings) {
    last[{number, mapping.variable}].places.clear();
  }
  for (Mapping mapping : news.mappings) {
    const bool stepped = set.variables[mapping.variable].stepped;
    mapping.part = number;
    mapping.dataset = set.dataset_number(news.datasets[mapping.dataset]);
    mapping.first_step = stepped ? step : 0;
    mapping.first_row = stepped ? news.row : 0;
    last[{number, mapping.variable}].places.push_back(
        {mapping, static_cast<std::uint32_t>(set.mappings.size())});
    set.mappings.push_back(mapping);
  }
}

void PartsIndex::replace(const layout::hdf5::Index& index, bool synced) {
  name_.check();
  if (name_.holder() == IndexName::Holder::another) {
    replaced_.keep_if_moved();
  }
  write(index, synced);
  if (synced) {
    try {
      storage_.sync_directory(path_);
    } catch (const Error& e) {
      if (put_back()) {
        throw;
      }
      poisoned_ = true;
      throw in_doubt(e);
    }
  }
  committed_attributes_ = attributes_;
  name_.settle();
}

void PartsIndex::write(const layout::hdf5::Index& index, bool synced) {
  storage::FileIdentity identity;
  write_atomically(
      storage_, path_,
      [&](storage::File& file) {
        layout::hdf5::write_index(file, index);
        identity = file.identity();
        if (!index.commits.empty()) {
          file.set_modified_ns(index.commits.back().modified_ns);
        }
        if (synced) {
          file.sync();
        }
        remove_journal(synced);
      },
      name_.naming());
  name_.wrote(identity);
}

layout::hdf5::Index PartsIndex::present() const {
  return {definitions_, &set_, committed_attributes_, commits_, &scalars_, profile_};
}

bool PartsIndex::put_back() noexcept {
  try {
    if (name_.holder() == IndexName::Holder::another || !name_.has_last()) {
      return false;  // the previous state is unknown, or the name is another file's by now
    }
    if (name_.holder() == IndexName::Holder::own) {
      write(present(), true);
    } else {
      storage_.remove(path_);
    }
    storage_.sync_directory(path_);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

/// For a plain file that is about to be replaced: neither its journal nor one that an earlier run
/// removed may reappear beside the index.
void PartsIndex::remove_journal(bool synced) {
  if (has_no_journal_) {
    return;
  }
  if (storage_.exists(journal_path(path_))) {
    storage_.remove(journal_path(path_));
  }
  if (synced) {
    storage_.sync_directory(path_);
    has_no_journal_ = true;
  }
}

void PartsIndex::remove_all(std::vector<OldPart>& parts) noexcept {
  for (const OldPart& part : parts) {
    remove_part(storage_, path_, set_.id, part);
  }
  parts.clear();
}

void PartsIndex::sync() {
  name_.check();
  storage_.open(path_, storage::Access::read_write)->sync();
  storage_.sync_directory(path_);
  replaced_.remove_parts();
}

void PartsIndex::drop_steps(std::uint64_t steps, bool synced) {
  PartSet set = set_;
  std::erase_if(set.mappings, [&](Mapping& mapping) {
    if (!set.variables[mapping.variable].stepped) {
      return false;
    }
    mapping.steps = std::min(mapping.steps, steps - std::min(steps, mapping.first_step));
    return mapping.steps == 0;
  });
  std::vector<CommitRow> commits = commits_;
  std::erase_if(commits, [&](const CommitRow& row) {
    return row.step != CommitRow::no_step && row.step >= steps;
  });
  CommitRow row;
  row.modified_ns = model::wall_clock_ns();
  commits.push_back(row);
  replace({definitions_, &set, attributes_, commits, &scalars_, profile_}, synced);
  set_ = std::move(set);
  commits_ = std::move(commits);
  last_.clear();  // counted in mappings
  steps_ = std::min(steps, steps_);
}

void PartsIndex::move_parts(const std::vector<std::string>& paths, bool synced) {
  PartSet set = set_;
  for (std::size_t p = 0; p < set.parts.size(); ++p) {
    set.parts[p].path = layout::name_in_index(path_, paths[p]);
  }
  replace({definitions_, &set, attributes_, commits_, &scalars_, profile_}, synced);
  set_ = std::move(set);
}

}  // namespace sluice::commit
