// What a commit of a store makes visible, and how it is taken back.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <unordered_set>

#include "layout/zarr/planner.hpp"

namespace sluice::layout::zarr {

using model::Definition;

namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

template <class T>
void put(std::vector<std::byte>& out, std::uint64_t at, const T& value) {
  std::memcpy(out.data() + at, &value, sizeof(T));
}

}  // namespace

std::unique_ptr<ZarrPlanner> ZarrPlanner::append(storage::File& file,
                                                 const PlannerOptions& options) {
  auto planner = create(file, options);
  planner->load();
  return planner;
}

void ZarrPlanner::load() {
  const Manifest manifest = read_manifest(file_);
  if (!manifest.ours) {
    throw Error(Code::unsupported,
                file_.path() +
                    ": format zarr: steps can be appended only to a store that Sluice wrote: write "
                    "a new one");
  }
  rows_ = read_rows(file_, manifest);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].step != CommitRow::no_step && rows_[i].step > i) {
      throw Error(Code::damaged, file_.path() + ": " + commits_name + ": row " + std::to_string(i) +
                                     " names step " + std::to_string(rows_[i].step));
    }
  }
  first_new_row_ = rows_.size();
  drops_ = manifest.drops;
  attributes_ = manifest.attributes;
  state_.steps = manifest.steps;
  state_.checksum_chunk_words = manifest.checksum_chunk_words;
  state_.checksum_chunks = manifest.checksum_chunks;
  state_.has_time = manifest.has_time;
  kept_ = manifest.kept;
  for (const Stored& stored : manifest.arrays) {
    load(stored);
  }
  for (auto& [name, text] : documents_of(this->manifest())) {
    if (name.size() > std::strlen(document_name) &&
        kept_.documents.count(name.substr(0, name.size() - std::strlen(document_name) - 1)) != 0) {
      untouched_.emplace(name, text);
    }
  }
  written_ = untouched_;
  history_.begin(state());
}

void ZarrPlanner::load(const Stored& stored) {
  const Definition& d = stored.definition;
  add(d);
  Made& made = made_.back();
  const int lead = d.stepped ? 1 : 0;
  made.tiling = d.stepped ? stored.array.tiling().without_front() : stored.array.tiling();
  made.exists = true;
  made.is_ours = kept_.documents.count(d.name) == 0;
  if (!made.is_ours) {
    return;
  }
  if (stored.array.sharded) {
    made.shard_rows = stored.array.chunk[lead] / stored.array.inner[lead];
  }
  if (made.shard_rows != 0 && options_.whole_objects) {
    throw Error(Code::unsupported,
                file_.path() + ": " + d.name +
                    ": has shards, which several ranks write; on an object store it can only be "
                    "read: write a new store");
  }
  if (!d.stepped) {
    find_data(static_cast<std::uint32_t>(made_.size() - 1));
  }
}

/// Was a variable without steps written by an earlier run? One that was has its first object, but
/// for a partial one.
void ZarrPlanner::find_data(std::uint32_t variable) {
  constexpr std::uint64_t most_looked_for = 1 << 18;  // a shape may claim any number
  const std::uint64_t shards = shards_of(variable);
  bool& has_data = made_[variable].has_data;
  for (std::uint64_t shard = 0; shard < std::min(shards, most_looked_for) && !has_data; ++shard) {
    has_data = file_.object_bytes(object_of(variable, shard, 0)).has_value();
  }
  if (!has_data && shards > most_looked_for) {
    throw Error(Code::unsupported,
                file_.path() + ": " + definitions_[variable].name + ": none of its first " +
                    std::to_string(most_looked_for) +
                    " objects is there, and it has more: whether it was written is not known: "
                    "write a new store");
  }
}

ZarrPlanner::State ZarrPlanner::state() const {
  State now = state_;
  now.rows = rows_.size();
  now.drops = drops_.size();
  now.exists.clear();
  now.has_data.clear();
  for (const Made& made : made_) {
    now.exists.push_back(made.exists);
    now.has_data.push_back(made.has_data);
  }
  return now;
}

void ZarrPlanner::drop_steps(std::uint64_t steps, std::int64_t modified_ns) {
  drops_.push_back({rows_.size(), steps});
  state_.steps = steps;
  for (Made& made : made_) {
    made.left.reset();
  }
  CommitRow row;
  row.modified_ns = modified_ns;
  rows_.push_back(row);
}

Manifest ZarrPlanner::manifest() const {
  Manifest manifest;
  manifest.ours = true;
  manifest.steps = state_.steps;
  manifest.rows = rows_.size();
  manifest.drops = drops_;
  manifest.checksum_chunk_words = state_.checksum_chunk_words;
  manifest.checksum_chunks = state_.checksum_chunks;
  manifest.has_time = state_.has_time;
  manifest.kept = kept_;
  std::unordered_set<std::string_view> later;
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    if (state_.has_time && definitions_[v].name == time_name) {
      continue;  // of an earlier run, known so that nobody puts it
    }
    if (made_[v].exists && made_[v].is_ours) {
      manifest.arrays.push_back({definitions_[v], array_of(v)});
    } else if (!made_[v].exists) {
      later.insert(definitions_[v].name);
    }
  }
  // An attribute of a variable comes with it.
  for (const model::Attribute& attribute : attributes_) {
    if (later.count(attribute.owner) == 0) {
      manifest.attributes.push_back(attribute);
    }
  }
  return manifest;
}

/// The objects of the commits and the times that have new rows, whole.
std::vector<Document> ZarrPlanner::row_documents() {
  std::vector<Document> documents;
  const std::size_t first = first_new_row_ / rows_per_object * rows_per_object;
  for (std::size_t begin = first; begin < rows_.size(); begin += rows_per_object) {
    constexpr std::size_t row_bytes = CommitRow::words * 8;
    std::vector<std::byte> bytes(rows_per_object * row_bytes);
    for (std::size_t i = begin; i < std::min(rows_.size(), begin + rows_per_object); ++i) {
      put(bytes, (i - begin) * row_bytes, rows_[i].pack());
    }
    documents.push_back(
        {std::string(commits_name) + "/c." + std::to_string(begin / rows_per_object) + ".0",
         std::move(bytes)});
  }
  if (state_.has_time) {
    add_time_documents(documents);
  }
  return documents;
}

void ZarrPlanner::add_time_documents(std::vector<Document>& documents) {
  std::vector<double>& times = times_.of_step;
  for (; times_.rows < rows_.size(); ++times_.rows) {
    const CommitRow& row = rows_[times_.rows];
    if (row.step != CommitRow::no_step) {
      times.resize(std::max<std::size_t>(times.size(), row.step + 1), std::nan(""));
      times[row.step] = row.time;
    }
  }
  std::uint64_t first_new = state_.steps;
  for (std::size_t i = first_new_row_; i < rows_.size(); ++i) {
    first_new = std::min(first_new, rows_[i].step);  // no_step is beyond any
  }
  // With the first time come the steps before, which have none.
  first_new = written_.count(std::string(time_name) + "/" + document_name) == 0 ? 0 : first_new;
  for (std::uint64_t begin = first_new / rows_per_object * rows_per_object; begin < state_.steps;
       begin += rows_per_object) {
    std::vector<std::byte> bytes(rows_per_object * sizeof(double));
    for (std::uint64_t i = 0; i < rows_per_object; ++i) {
      put(bytes, i * sizeof(double), begin + i < times.size() ? times[begin + i] : std::nan(""));
    }
    documents.push_back({std::string(time_name) + "/c." + std::to_string(begin / rows_per_object),
                         std::move(bytes)});
  }
}

std::vector<std::pair<std::string, std::uint64_t>> ZarrPlanner::object_sizes() const {
  std::vector<std::pair<std::string, std::uint64_t>> sizes;
  for (const storage::Segment& object : objects_) {
    if (object.file_bytes != 0) {
      sizes.emplace_back(object.name, object.file_bytes);
    }
  }
  for (const Planned& planned : planned_) {
    for (const Shard& shard : planned.shards) {
      if (planned.encoded && shard.next != 0) {
        sizes.emplace_back(shard.segment.name, shard.next);
      }
    }
  }
  return sizes;
}

MetadataUpdate ZarrPlanner::seal() {
  make_untouched();
  MetadataUpdate update;
  update.objects = objects_;
  for (const Planned& planned : planned_) {
    for (const Shard& shard : planned.shards) {
      if (planned.encoded && shard.next == 0) {  // an object without a chunk is no object
        update.objects.push_back({0, 0, 0, shard.segment.name});
      }
      if (!shard.index.empty()) {
        update.fresh.push_back({shard.segment.address, encode_index(shard.index)});
      }
    }
  }
  update.before = row_documents();
  for (const auto& [name, text] : documents_of(manifest())) {
    if (name == document_name) {
      update.manifest = {document_name, bytes_of(text)};
      continue;
    }
    std::string& written = written_[name];
    if (written != text) {
      written = text;
      update.after.push_back({name, bytes_of(text)});
    }
  }
  return update;
}

void ZarrPlanner::planned() {
  history_.plan(state());
  first_new_row_ = rows_.size();
}

void ZarrPlanner::abandon() {
  makes_all_ = false;
  state_ = history_.abandon();
  rows_.resize(state_.rows);
  times_ = {};  // taken anew from the rows that are left
  drops_.resize(state_.drops);
  first_new_row_ = std::min(first_new_row_, rows_.size());
  written_ = untouched_;  // all of Sluice's come again with the next commit
  for (std::size_t v = 0; v < made_.size(); ++v) {
    made_[v].exists = v < state_.exists.size() && state_.exists[v];
    made_[v].has_data = v < state_.has_data.size() && state_.has_data[v];
    made_[v].left.reset();
  }
}

}  // namespace sluice::layout::zarr
