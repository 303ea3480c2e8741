#include "layout/icechunk/history.hpp"

#include <algorithm>

#include "layout/zarr/metadata.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::icechunk {

namespace {

/// Of a manifest that is written anew with every snapshot.
constexpr std::uint32_t most_tail_refs = 1024;

std::vector<Range> extents_of(const std::map<std::vector<std::uint32_t>, ChunkRef>& refs) {
  std::vector<Range> extents;
  for (const auto& [index, ref] : refs) {
    extents.resize(index.size(), {~0U, 0});
    for (std::size_t d = 0; d < index.size(); ++d) {
      extents[d].first = std::min(extents[d].first, index[d]);
      extents[d].second = std::max(extents[d].second, index[d] + 1);
    }
  }
  return extents;
}

/// What the snapshot says of an array besides its document.
void take_grid(Node& node) {
  const zarr::Json document =
      zarr::parse(std::as_bytes(std::span(node.document)), node.path, zarr::document_name);
  node.is_array = document.value("node_type", "") == "array";
  node.shape.clear();
  node.dimensions.clear();
  if (!node.is_array) {
    return;
  }
  const zarr::Json& shape = document.at("shape");
  const zarr::Json& chunk = document.at("chunk_grid").at("configuration").at("chunk_shape");
  for (std::size_t d = 0; d < shape.size(); ++d) {
    node.shape.emplace_back(shape.at(d).get<std::uint64_t>(), chunk.at(d).get<std::uint64_t>());
  }
  for (const zarr::Json& name : document.value("dimension_names", zarr::Json::array())) {
    node.dimensions.push_back(name.is_string() ? std::optional(name.get<std::string>())
                                               : std::nullopt);
  }
}

}  // namespace

History::History(Repository& repository, const std::set<std::string>& rewritten)
    : snapshot_(repository.snapshot().id) {
  for (const ManifestFile& file : repository.snapshot().files) {
    files_[file.id] = file;
  }
  for (const Node& node : repository.snapshot().nodes) {
    State& state = nodes_[node.path.substr(1)];
    state.node = node;
    state.rewrites = rewritten.count(node.path.substr(1)) != 0;
    if (state.rewrites) {
      state.tail = repository.chunks(node);
      state.node.manifests.clear();
    }
  }
}

History::State& History::state_of(const std::string& node) {
  const auto [at, is_new] = nodes_.try_emplace(node);
  if (is_new) {
    at->second.node.id = new_node_id();
    at->second.node.path = "/" + node;
    changes_.made.insert(node);
  }
  return at->second;
}

void History::set_document(const std::string& node, std::string document) {
  State& state = state_of(node);
  if (state.node.document == document) {
    return;
  }
  state.node.document = std::move(document);
  take_grid(state.node);
  changes_.updated.insert(node);
}

void History::set_chunk(const std::string& node, ChunkRef ref, bool rewrites) {
  State& state = state_of(node);
  state.rewrites = rewrites;
  changes_.chunks[node].insert(ref.index);
  auto index = ref.index;
  state.tail[std::move(index)] = std::move(ref);
}

void History::drop_chunks(const std::string& node, std::uint32_t first,
                          const std::function<Manifest(const ObjectId&)>& manifest_of) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) {
    return;
  }
  State& state = found->second;
  std::vector<ManifestRef> kept;
  for (const ManifestRef& ref : state.node.manifests) {
    if (ref.extents.empty() || ref.extents[0].second <= first) {
      kept.push_back(ref);
    } else if (ref.extents[0].first < first) {
      tail_ = {};  // it no longer has all that the tail has
      for (const ArrayRefs& array : manifest_of(ref.id).arrays) {
        for (const ChunkRef& chunk : array.refs) {
          if (array.node == state.node.id && !chunk.index.empty() &&
              chunk.index[0] >= ref.extents[0].first) {
            state.tail.emplace(chunk.index, chunk);
          }
        }
      }
    }
  }
  state.node.manifests = std::move(kept);
  for (auto at = state.tail.begin(); at != state.tail.end();) {
    const bool is_dropped = !at->first.empty() && at->first[0] >= first;
    if (is_dropped) {
      changes_.chunks[node].insert(at->first);
    }
    at = is_dropped ? state.tail.erase(at) : std::next(at);
  }
}

void History::keep_tail() {
  if (tail_.refs == 0) {
    return;
  }
  bool is_used = false;
  for (auto& [name, state] : nodes_) {
    std::map<std::vector<std::uint32_t>, ChunkRef> fresh;
    const auto changed = changes_.chunks.find(name);
    if (state.rewrites) {
      continue;
    }
    if (changed != changes_.chunks.end()) {
      for (const auto& index : changed->second) {
        auto moved = state.tail.extract(index);
        if (!moved.empty()) {
          fresh.insert(std::move(moved));
        }
      }
    }
    if (!state.tail.empty()) {
      state.node.manifests.push_back({tail_.id, extents_of(state.tail)});
      is_used = true;
    }
    state.tail = std::move(fresh);
  }
  if (is_used) {
    files_[tail_.id] = tail_;
  }
  tail_ = {};
}

Manifest History::tail_manifest() const {
  Manifest manifest;
  manifest.id = new_object_id();
  for (const auto& [name, state] : nodes_) {
    if (state.tail.empty()) {
      continue;
    }
    ArrayRefs array;
    array.node = state.node.id;
    for (const auto& [index, ref] : state.tail) {
      array.refs.push_back(ref);
    }
    manifest.arrays.push_back(std::move(array));
  }
  std::sort(manifest.arrays.begin(), manifest.arrays.end(),
            [](const ArrayRefs& a, const ArrayRefs& b) { return a.node < b.node; });
  return manifest;
}

TransactionLog History::log_of(const ObjectId& id) const {
  TransactionLog log;
  log.id = id;
  for (const auto& [name, state] : nodes_) {
    const bool is_new = changes_.made.count(name) != 0;
    const bool is_updated = !is_new && changes_.updated.count(name) != 0;
    if (is_new) {
      (state.node.is_array ? log.new_arrays : log.new_groups).push_back(state.node.id);
    } else if (is_updated) {
      (state.node.is_array ? log.updated_arrays : log.updated_groups).push_back(state.node.id);
    }
    const auto chunks = changes_.chunks.find(name);
    if (chunks != changes_.chunks.end()) {
      log.chunks.push_back({state.node.id, {chunks->second.begin(), chunks->second.end()}});
    }
  }
  for (auto* ids : {&log.new_groups, &log.new_arrays, &log.updated_arrays, &log.updated_groups}) {
    std::sort(ids->begin(), ids->end());
  }
  std::sort(log.chunks.begin(), log.chunks.end(),
            [](const UpdatedChunks& a, const UpdatedChunks& b) { return a.node < b.node; });
  return log;
}

std::vector<Document> History::seal(const std::string& message, std::uint64_t written_us) {
  if (tail_.refs >= most_tail_refs) {
    keep_tail();
  }
  std::vector<Document> documents;
  Snapshot snapshot;
  snapshot.id = new_object_id();
  snapshot.parent = snapshot_;
  snapshot.written_us = written_us;
  snapshot.message = message;
  const Manifest manifest = tail_manifest();
  tail_ = {};
  if (!manifest.arrays.empty()) {
    documents.push_back({manifest_name(manifest.id), encode(manifest)});
    tail_.id = manifest.id;
    tail_.bytes = documents.back().bytes.size();
    for (const ArrayRefs& array : manifest.arrays) {
      tail_.refs += static_cast<std::uint32_t>(array.refs.size());
    }
  }
  std::set<ObjectId> used;
  for (const auto& [name, state] : nodes_) {
    snapshot.nodes.push_back(state.node);
    if (!state.tail.empty()) {
      snapshot.nodes.back().manifests.push_back({tail_.id, extents_of(state.tail)});
    }
    for (const ManifestRef& ref : snapshot.nodes.back().manifests) {
      used.insert(ref.id);
    }
  }
  std::sort(snapshot.nodes.begin(), snapshot.nodes.end(),
            [](const Node& a, const Node& b) { return a.path < b.path; });
  for (const ObjectId& id : used) {
    const auto known = files_.find(id);
    snapshot.files.push_back(known != files_.end() ? known->second : tail_);
  }
  documents.push_back({log_name(snapshot.id), encode(log_of(snapshot.id))});
  documents.push_back({snapshot_name(snapshot.id), encode(snapshot)});
  snapshot_ = snapshot.id;
  changes_ = {};
  return documents;
}

}  // namespace sluice::layout::icechunk
