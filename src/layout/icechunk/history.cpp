#include "layout/icechunk/history.hpp"

#include <algorithm>

#include "layout/icechunk/repository.hpp"
#include "layout/zarr/metadata.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::icechunk {

namespace {

/// The tail is long when it has so many chunks, and so many for each of its nodes: where there are
/// many nodes, short manifests would make the lists of them in the snapshots long.
constexpr std::size_t most_tail_refs = 1024;
constexpr std::size_t most_tail_refs_a_node = 64;

std::vector<Range> extents_of(const Refs& refs) {
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

ArrayRefs refs_of(const Node& node, const Refs& refs) {
  ArrayRefs array;
  array.node = node.id;
  for (const auto& [index, ref] : refs) {
    array.refs.push_back(ref);
  }
  return array;
}

/// Adds the file of a manifest, whose arrays are in any order.
ManifestFile write(Manifest manifest, std::vector<Document>& documents) {
  manifest.id = new_object_id();
  std::sort(manifest.arrays.begin(), manifest.arrays.end(),
            [](const ArrayRefs& a, const ArrayRefs& b) { return a.node < b.node; });
  documents.push_back({manifest_name(manifest.id), encode(manifest)});
  ManifestFile file{manifest.id, documents.back().bytes.size(), 0};
  for (const ArrayRefs& array : manifest.arrays) {
    file.refs += static_cast<std::uint32_t>(array.refs.size());
  }
  return file;
}

}  // namespace

History::History(const Snapshot& snapshot) : snapshot_(snapshot.id) {
  for (const ManifestFile& file : snapshot.files) {
    files_[file.id] = file;
  }
  for (const Node& node : snapshot.nodes) {
    nodes_[node.path.substr(1)].node = node;
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

void History::set_chunk(const std::string& node, ChunkRef ref, const ReadRefs& read) {
  State& state = state_of(node);
  std::vector<ManifestRef>& manifests = state.node.manifests;
  const auto holding =
      std::find_if(manifests.begin(), manifests.end(),
                   [&](const ManifestRef& kept) { return is_inside(ref.index, kept.extents); });
  if (holding != manifests.end()) {
    state.tail.merge(read(state.node, *holding));
    manifests.erase(holding);
  }
  changes_.chunks[node].insert(ref.index);
  auto index = ref.index;
  state.tail[std::move(index)] = std::move(ref);
}

void History::drop_chunks(const std::string& node, std::uint32_t first, const ReadRefs& read) {
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
      state.tail.merge(read(state.node, ref));
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

bool History::is_tail_long() const {
  std::size_t refs = 0;
  std::size_t nodes = 0;
  for (const auto& [name, state] : nodes_) {
    refs += state.tail.size();
    nodes += state.tail.empty() ? 0 : 1;
  }
  return refs >= std::max(most_tail_refs, nodes * most_tail_refs_a_node);
}

void History::keep_unchanged(std::vector<Document>& documents) {
  std::vector<std::pair<Node*, Refs>> kept;
  Manifest manifest;
  for (auto& [name, state] : nodes_) {
    Refs changed;
    const auto changes = changes_.chunks.find(name);
    if (changes != changes_.chunks.end()) {
      for (const auto& index : changes->second) {
        changed.insert(state.tail.extract(index));
      }
    }
    if (!state.tail.empty()) {
      manifest.arrays.push_back(refs_of(state.node, state.tail));
      kept.emplace_back(&state.node, std::move(state.tail));
    }
    state.tail = std::move(changed);
  }
  if (kept.empty()) {
    return;
  }
  const ManifestFile file = write(std::move(manifest), documents);
  files_[file.id] = file;
  for (const auto& [node, refs] : kept) {
    node->manifests.push_back({file.id, extents_of(refs)});
  }
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
  std::vector<Document> documents;
  if (is_tail_long()) {
    keep_unchanged(documents);
  }
  Snapshot snapshot;
  snapshot.id = new_object_id();
  snapshot.parent = snapshot_;
  snapshot.written_us = written_us;
  snapshot.message = message;
  Manifest manifest;
  for (const auto& [name, state] : nodes_) {
    if (!state.tail.empty()) {
      manifest.arrays.push_back(refs_of(state.node, state.tail));
    }
  }
  ManifestFile tail;
  if (!manifest.arrays.empty()) {
    tail = write(std::move(manifest), documents);
  }
  std::set<ObjectId> used;
  for (const auto& [name, state] : nodes_) {
    snapshot.nodes.push_back(state.node);
    if (!state.tail.empty()) {
      snapshot.nodes.back().manifests.push_back({tail.id, extents_of(state.tail)});
    }
    for (const ManifestRef& ref : snapshot.nodes.back().manifests) {
      used.insert(ref.id);
    }
  }
  std::sort(snapshot.nodes.begin(), snapshot.nodes.end(),
            [](const Node& a, const Node& b) { return a.path < b.path; });
  for (const ObjectId& id : used) {
    const auto known = files_.find(id);
    snapshot.files.push_back(known != files_.end() ? known->second : tail);
  }
  documents.push_back({log_name(snapshot.id), encode(log_of(snapshot.id))});
  documents.push_back({snapshot_name(snapshot.id), encode(snapshot)});
  snapshot_ = snapshot.id;
  changes_ = {};
  return documents;
}

}  // namespace sluice::layout::icechunk
