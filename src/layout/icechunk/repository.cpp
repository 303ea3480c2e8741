#include "layout/icechunk/repository.hpp"

#include <algorithm>
#include <utility>

#include "layout/zarr/metadata.hpp"
#include "layout/zarr/walk.hpp"
#include "model/name.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::icechunk {

namespace {

constexpr std::size_t most_ref_bytes = 4096;
constexpr std::size_t piece_bytes = 64 << 10;

/// What the store was opened at: a ref, or a snapshot.
std::vector<std::byte> begin_of(storage::File& store) {
  std::vector<std::byte> bytes;
  for (std::size_t got = piece_bytes; got == piece_bytes && bytes.size() < most_metadata_bytes;) {
    const std::size_t done = bytes.size();
    bytes.resize(done + piece_bytes);
    got = store.read(done, std::span(bytes).subspan(done));
    bytes.resize(done + got);
  }
  return bytes;
}

std::optional<ObjectId> snapshot_in(std::span<const std::byte> ref) {
  if (ref.size() > most_ref_bytes || ref.empty() || ref[0] != std::byte{'{'}) {
    return std::nullopt;
  }
  const auto json = zarr::Json::parse(ref.begin(), ref.end(), nullptr, false);
  const bool is_ref = json.is_object() && json.contains("snapshot") && json["snapshot"].is_string();
  return is_ref ? object_id_of(json["snapshot"].get_ref<const std::string&>()) : std::nullopt;
}

}  // namespace

bool is_inside(const std::vector<std::uint32_t>& index, const std::vector<Range>& extents) {
  for (std::size_t d = 0; d < index.size(); ++d) {
    if (index[d] < extents[d].first || index[d] >= extents[d].second) {
      return false;
    }
  }
  return true;
}

std::string ref_name(const std::string& branch) { return "refs/branch." + branch + "/ref.json"; }
std::string tag_name(const std::string& tag) { return "refs/tag." + tag + "/ref.json"; }
std::string snapshot_name(const ObjectId& id) { return "snapshots/" + text_of(id); }
std::string manifest_name(const ObjectId& id) { return "manifests/" + text_of(id); }
std::string log_name(const ObjectId& id) { return "transactions/" + text_of(id); }
std::string chunk_name(const ObjectId& id) { return "chunks/" + text_of(id); }

std::string ref_text(const ObjectId& id) { return R"({"snapshot":")" + text_of(id) + "\"}"; }

void check_ref(const std::string& name, const std::string& what) {
  constexpr std::size_t most_bytes = 200;
  const bool is_plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return c > ' ' && c < 0x7f && c != '/' && c != '@' && c != '*' && c != '\\';
  });
  if (name.empty() || name.size() > most_bytes || !is_plain || name[0] == '.') {
    throw Error(Code::bad_name,
                what + ": " + model::quoted(name) +
                    " is no name of a branch or a tag: use up to 200 letters, digits, dots, dashes "
                    "and underscores, not beginning with a dot");
  }
}

bool is_repository(storage::File& store) {
  if (store.objects() == nullptr) {
    return false;
  }
  std::vector<std::byte> begin(most_ref_bytes);
  begin.resize(store.read(0, begin));
  return is_metadata(begin) || snapshot_in(begin).has_value();
}

Repository::Repository(storage::File& store, const std::string& branch) : store_(store) {
  const bool is_default = branch == default_branch;
  std::vector<std::byte> file =
      is_default ? std::vector<std::byte>{} : zarr::read_document(store, ref_name(branch));
  const bool is_there = is_default || !file.empty();
  file = file.empty() ? begin_of(store) : file;
  std::string what = store.path();
  if (!is_metadata(file)) {
    const auto id = snapshot_in(file);
    if (!id) {
      throw Error(Code::damaged, what + ": its ref names no snapshot of Icechunk");
    }
    ref_ = is_there ? file : std::vector<std::byte>{};
    what += "/" + snapshot_name(*id);
    file = zarr::read_document(store, snapshot_name(*id));
    if (file.empty()) {
      throw Error(Code::damaged, what + ": is not there, and a ref leads to it");
    }
  }
  snapshot_ = decode_snapshot(file, what);
  for (const Node& node : snapshot_.nodes) {
    if (node.path.empty() || node.path[0] != '/') {
      throw Error(Code::damaged, what + ": a node with the path " + model::quoted(node.path));
    }
    for (const ManifestRef& ref : node.manifests) {
      if (ref.extents.size() != node.shape.size()) {
        throw Error(Code::damaged, what + ": " + model::quoted(node.path) + ": a manifest of " +
                                       std::to_string(ref.extents.size()) + " dimensions");
      }
    }
    nodes_[node.path.substr(1)] = &node;
  }
}

const Node* Repository::find(const std::string& path) const {
  const auto found = nodes_.find(path);
  return found == nodes_.end() ? nullptr : found->second;
}

Manifest Repository::manifest(storage::File& store, const ObjectId& id) {
  const std::string what = store.path() + "/" + manifest_name(id);
  const std::vector<std::byte> file = zarr::read_document(store, manifest_name(id));
  if (file.empty()) {
    throw Error(Code::damaged, what + ": is not there, and a snapshot leads to it");
  }
  return decode_manifest(file, what);
}

void Repository::add(const storage::File& store, const Node& node, const ManifestRef& ref,
                     const Manifest& manifest, Refs& chunks) {
  for (const ArrayRefs& array : manifest.arrays) {
    for (const ChunkRef& chunk : array.refs) {
      if (array.node != node.id) {
        break;
      }
      if (chunk.index.size() != node.shape.size()) {
        throw Error(Code::damaged, store.path() + "/" + manifest_name(ref.id) + ": " +
                                       model::quoted(node.path) + ": a chunk of " +
                                       std::to_string(chunk.index.size()) + " dimensions");
      }
      if (is_inside(chunk.index, ref.extents)) {
        chunks.emplace(chunk.index, chunk);
      }
    }
  }
}

Refs Repository::chunks_in(storage::File& store, const Node& node, const ManifestRef& ref) {
  Refs chunks;
  add(store, node, ref, manifest(store, ref.id), chunks);
  return chunks;
}

const Refs& Repository::chunks(const Node& node) {
  if (const auto known = chunks_.find(node.id); known != chunks_.end()) {
    return known->second;
  }
  Refs chunks;
  for (const ManifestRef& ref : node.manifests) {
    auto known = manifests_.find(ref.id);
    if (known == manifests_.end()) {
      known = manifests_.emplace(ref.id, manifest(store_, ref.id)).first;
    }
    add(store_, node, ref, known->second, chunks);
  }
  return chunks_.emplace(node.id, std::move(chunks)).first->second;  // known once all succeeded
}

}  // namespace sluice::layout::icechunk
