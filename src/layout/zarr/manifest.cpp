#include "layout/zarr/manifest.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "codec/checksum.hpp"
#include "layout/zarr/fill_value.hpp"
#include "layout/zarr/objects.hpp"
#include "layout/zarr/references.hpp"
#include "layout/zarr/seal.hpp"
#include "layout/zarr/version2.hpp"
#include "layout/zarr/walk.hpp"
#include "model/name.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::zarr {

using model::Definition;

namespace {

constexpr std::size_t crc_bytes = 4;

struct Told {
  bool stepped = false;
  bool partial = false;
  bool varying = false;
  bool fill = false;  ///< says its fill value, and is not partial
  std::string compress;
  std::vector<std::string> dimensions;
};

/// What Sluice says of its own variables and attributes, beside what their documents say.
struct Own {
  std::map<std::string, Told> told;
  std::map<std::string, std::size_t> order;
  std::map<std::pair<std::string, std::string>, model::ValueKind> kinds;
  std::set<std::string> owners;  ///< groups of its variables, and whatever has its attributes

  const Told* find(const std::string& name) const {
    const auto known = told.find(name);
    return known != told.end() ? &known->second : nullptr;
  }
};

/// What Sluice claims of itself must be possible, before anything is computed with it.
void check_own(const Manifest& manifest, const std::string& path) {
  const std::uint64_t each = manifest.checksum_chunk_words;
  std::uint64_t words = 0;
  if (each > most_checksum_words || (each == 0 && manifest.checksum_chunks != 0) ||
      __builtin_mul_overflow(each, manifest.checksum_chunks, &words)) {
    throw Error(Code::damaged, path + ": " + document_name + ": checksums of impossible sizes");
  }
  if (manifest.steps > manifest.rows) {
    throw Error(Code::damaged, path + ": " + document_name + ": more steps than commits");
  }
}

/// What Sluice says of itself in the root's attribute.
void take_own(const Json& own, Manifest& manifest, Own& into) {
  manifest.ours = true;
  manifest.steps = own.at("steps").get<std::uint64_t>();
  manifest.rows = own.at("commits").get<std::uint64_t>();
  manifest.checksum_chunk_words = own.at("checksum_chunk_words").get<std::uint64_t>();
  manifest.checksum_chunks = own.at("checksum_chunks").get<std::uint64_t>();
  manifest.has_time = own.at("has_time").get<bool>();
  for (const Json& drop : own.at("drops")) {
    manifest.drops.push_back({drop.at(0).get<std::uint64_t>(), drop.at(1).get<std::uint64_t>()});
  }
  for (const Json& variable : own.at("variables")) {
    const auto name = variable.at("name").get<std::string>();
    into.order.emplace(name, into.order.size());
    for (std::size_t at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
      into.owners.insert(name.substr(0, at));
    }
    into.told[name] = {variable.at("steps").get<bool>(),
                       variable.at("partial").get<bool>(),
                       variable.value("varying", false),
                       variable.value("fill", false),
                       variable.at("compress").get<std::string>(),
                       variable.at("dimensions").get<std::vector<std::string>>()};
  }
  for (const Json& kind : own.at("attribute_kinds")) {
    const auto owner = kind.at(0).get<std::string>();
    into.kinds[{owner, kind.at(1).get<std::string>()}] =
        static_cast<model::ValueKind>(kind.at(2).get<std::size_t>());
    into.owners.insert(owner);
  }
}

/// The option that gives what another program chose.
std::string compress_of(const codec::Pipeline& filters) {
  if (filters.size() != 1 || filters[0].id != codec::blosc_id) {
    return codec::pipeline_text(filters);
  }
  const auto& p = filters[0].parameters;
  codec::Pipeline pipeline;
  if (p.at(1) != 0 && p.at(0) > 1) {
    pipeline.push_back({codec::shuffle_id, {p.at(0)}});
  }
  pipeline.push_back({p.at(2), {p.at(3)}});
  return codec::pipeline_text(pipeline);
}

Definition definition_of(const std::string& name, const Array& array, const Told* told) {
  Definition d;
  d.name = name;
  d.type = array.type;
  d.fill = array.fill;
  d.stepped = told != nullptr && told->stepped && array.shape.rank() > 0;
  d.partial = told != nullptr && told->partial;
  d.gives_fill = told != nullptr && told->fill && !d.partial;
  d.compress = told != nullptr ? told->compress : compress_of(array.filters);
  for (int i = d.stepped ? 1 : 0; i < array.shape.rank(); ++i) {
    d.shape.push_back(array.shape[i]);
  }
  d.varying = told != nullptr && told->varying && d.stepped && !d.shape.empty();
  if (told != nullptr) {
    d.dimensions = told->dimensions;
    if (!d.dimensions.empty() && d.dimensions.size() != static_cast<std::size_t>(d.shape.rank())) {
      throw Error(Code::damaged, name + ": names of " + std::to_string(d.dimensions.size()) +
                                     " dimensions, and has " + std::to_string(d.shape.rank()));
    }
  } else if (array.dimensions.size() == static_cast<std::size_t>(d.shape.rank())) {
    d.dimensions = array.dimensions;
  }
  return d;
}

/// Has an array of uint64 a `_FillValue` that attributes cannot hold, and that is its fill value? A
/// `_FillValue` says which elements are missing, and not what absent chunks read as: one that
/// differs is no fill value.
bool has_large_fill(const Json& node) {
  const Json fill = node.value("attributes", Json::object()).value(fill_name, Json());
  const bool is_large = fill.is_number_unsigned() && !value_of(fill, std::nullopt).has_value();
  return is_large && node.value("data_type", Json()) == "uint64" &&
         node.value("fill_value", Json()) == fill;
}

/// Of the node `owner`; those of an array that Sluice made have its own among them.
void take_attributes(const Json& node, const std::string& owner, const Own& own,
                     Manifest& manifest) {
  Json kept = Json::object();
  const Json attributes = node.value("attributes", Json::object());
  for (const auto& [name, value] : attributes.items()) {
    const bool is_own_name = owner.empty() ? name == own_name
                                           : name == varying_attribute &&
                                                 (manifest.is_copy || own.find(owner) != nullptr);
    if (is_own_name && (manifest.ours || manifest.is_copy)) {
      continue;
    }
    const auto known = own.kinds.find({owner, name});
    const auto kind = known != own.kinds.end() ? std::optional(known->second) : std::nullopt;
    std::optional<model::AttributeValue> held;
    if (name == fill_name && (!kind || *kind == model::ValueKind::text)) {
      held = coded_number(value, node.value("data_type", Json()));
    }
    if (!held) {
      held =
          value_of(kind && name == fill_name ? fill_attribute_number(value, *kind) : value, kind);
    }
    if (held) {
      manifest.attributes.push_back({owner, name, *held});
    } else if (name != fill_name || !has_large_fill(node)) {
      manifest.unread_attributes.push_back(
          {(owner.empty() ? "the file" : owner) + ": attribute " + name, why_no_value(value)});
    }
    if (manifest.ours) {
      kept.get_ref<Json::object_t&>().emplace_back(name, value);
    }
  }
  if (!kept.empty()) {
    manifest.kept.attributes[owner] = std::move(kept);
  }
}

bool is_own(const Manifest& manifest, const std::string& name) {
  return (manifest.ours || manifest.is_copy) &&
         (name == own_name || name.rfind(std::string(own_name) + "/", 0) == 0);
}

/// All nodes below the root, by name; of a root that is an array, itself.
Json nodes_in(const Json& root, const Manifest& manifest, const std::string& path) {
  if (!manifest.is_array) {
    return root.at("consolidated_metadata").at("metadata");
  }
  Json nodes = Json::object();
  nodes[model::stem_of(path)] = root;
  return nodes;
}

/// Sluice never compresses the commits: a program that copies all arrays does.
bool are_copied(const Json& commits, const std::string& path) {
  std::string why;
  const auto array = array_in(commits, path + ": " + commits_name, why);
  return array && !array->filters.empty();
}

/// What the attribute of the root says of a store of Sluice; nothing of another's. A program that
/// copies variables copies the attribute, too, and not what it speaks of.
Own own_of(const Json& root, const Json& nodes, const std::string& path, bool may_be_ours,
           Manifest& manifest) {
  Own own;
  const Json claim = root.value("attributes", Json::object()).value(own_name, Json());
  const bool is_claimed = !manifest.is_array && claim.is_object() && claim.contains("version");
  const bool has_commits = nodes.contains(commits_name);
  if (!is_claimed) {
    if (may_be_ours && has_commits) {
      throw Error(Code::damaged, path + ": " + document_name +
                                     ": has commits of Sluice, and its attribute \"sluice\" is "
                                     "lost: restore it from a copy");
    }
    return own;
  }
  manifest.is_copy = !may_be_ours || !(has_commits || nodes.contains(own_name));
  if (manifest.is_copy) {
    return own;
  }
  if (claim["version"].get<int>() > store_version) {
    throw Error(Code::version,
                path + ": a newer version of Sluice wrote this store: update Sluice");
  }
  if (!has_commits) {
    throw Error(Code::damaged, path + ": " + document_name + ": does not have the array " +
                                   commits_name + ", its list of commits: restore it from a copy");
  }
  manifest.is_copy = are_copied(nodes.at(commits_name), path);
  if (!manifest.is_copy) {
    take_own(claim, manifest, own);
    check_own(manifest, path);
  }
  return own;
}

/// In a store of Sluice: did another program make the node?
bool is_of_another(const Manifest& manifest, const Own& own, const std::string& name,
                   bool is_array) {
  if (!manifest.ours) {
    return false;
  }
  return is_array ? own.find(name) == nullptr && !(manifest.has_time && name == time_name)
                  : own.owners.count(name) == 0;
}

/// An array of another program among others. What cannot be understood in its document need not be
/// damage: it is said of this array, and the others are read.
std::optional<Array> array_of_another(const Json& node, const std::string& name, std::string& why) {
  try {
    return array_in(node, name, why);
  } catch (const Error& e) {
    const std::string place = name + ": " + document_name + ": ";
    why = e.what();
    why = why.rfind(place, 0) == 0 ? why.substr(place.size()) : why;
    return std::nullopt;
  }
}

void take_array(const Json& node, const std::string& name, const std::string& path, const Own& own,
                Manifest& manifest) {
  std::string why;
  const bool is_one_of_many = !manifest.is_array;
  const bool is_of_others = !manifest.ours || is_of_another(manifest, own, name, true);
  const auto array = is_one_of_many && is_of_others ? array_of_another(node, name, why)
                                                    : array_in(node, path + ": " + name, why);
  if (!array) {
    manifest.unreadable.push_back({name, why});
    return;
  }
  manifest.arrays.push_back({definition_of(name, *array, own.find(name)), *array});
  manifest.arrays.back().definition.along_steps = manifest.has_time && name == time_name;
  if (model::Definition& made = manifest.arrays.back().definition;
      has_large_fill(node) && !made.gives_fill) {
    made.partial = true;
  }
}

/// Groups without attributes and without a node below them.
std::vector<std::string> empty_groups_of(const Json& nodes, const Manifest& manifest) {
  std::set<std::string> used;
  std::vector<std::string> groups;
  for (const auto& [name, node] : nodes.items()) {
    for (std::size_t at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
      used.insert(name.substr(0, at));
    }
    if (node.value("node_type", "") == "group" && !is_own(manifest, name) &&
        node.value("attributes", Json::object()).empty()) {
      groups.push_back(name);
    }
  }
  std::erase_if(groups, [&](const std::string& group) { return used.count(group) != 0; });
  return groups;
}

/// `may_be_ours`: false for what Sluice writes no stores as.
Manifest manifest_of(const Json& root, const std::string& path, bool may_be_ours) {
  Manifest manifest;
  const std::string kind = root.value("node_type", "");
  const bool is_group = kind == "group";
  if (!is_group && kind != "array") {
    throw Error(Code::damaged, path + ": " + document_name + ": neither a group nor an array");
  }
  manifest.is_array = !is_group;
  const Json nodes = nodes_in(root, manifest, path);
  const Own own = own_of(root, nodes, path, may_be_ours, manifest);
  if (is_group) {
    take_attributes(root, "", own, manifest);
  }
  for (const auto& [name, node] : nodes.items()) {
    if (is_group) {
      model::check_read_name(name, path + ": " + document_name);
    }
    if (is_own(manifest, name)) {
      continue;
    }
    take_attributes(node, name, own, manifest);
    const bool is_array = node.value("node_type", "") == "array";
    if (is_of_another(manifest, own, name, is_array)) {
      manifest.kept.documents[name] = node;
    }
    if (is_array) {
      take_array(node, name, path, own, manifest);
    }
  }
  manifest.empty_groups = empty_groups_of(nodes, manifest);
  std::stable_sort(manifest.arrays.begin(), manifest.arrays.end(),
                   [&](const Stored& a, const Stored& b) {
                     const auto place = [&](const Stored& s) {
                       const auto found = own.order.find(s.definition.name);
                       return found != own.order.end() ? found->second : own.order.size();
                     };
                     return place(a) < place(b);
                   });
  return manifest;
}

std::vector<std::byte> root_text(storage::File& file) {
  std::vector<std::byte> text(file.object_bytes(document_name).value_or(0));
  text.resize(file.read(0, text));
  return text;
}

/// What consolidated metadata would say of the nodes below the root.
Json metadata_below(storage::File& file) {
  Json nodes = Json::object();
  walk_nodes(file, [&](const std::string& node) {
    const std::vector<std::byte> text = read_document(file, in_folder(node));
    if (text.empty()) {
      return Node::none;
    }
    const Json& document = nodes[node] = parse(text, file.path(), in_folder(node));
    return document.value("node_type", "") == "group" ? Node::group : Node::array;
  });
  return nodes;
}

bool is_bare_group(const Json& root) {
  return root.value("node_type", "") == "group" &&
         !root.value("consolidated_metadata", Json()).is_object();
}

Manifest read_version3(storage::File& file) {
  if (file.object_bytes(document_name).value_or(0) == 0) {
    throw Error(Code::format,
                file.path() + ": no root document of a Zarr store (" + document_name + ")");
  }
  const std::vector<std::byte> text = root_text(file);
  Json root = parse(text, file.path());
  if (root.value("zarr_format", 0) != 3) {
    throw Error(Code::version, file.path() + ": not version 3 of Zarr");
  }
  if (is_bare_group(root)) {
    root["consolidated_metadata"] = {{"metadata", metadata_below(file)}};
  }
  Manifest manifest = manifest_of(root, file.path(), true);
  if (manifest.ours || manifest.is_copy) {  // a store that lost its commits is no copy
    manifest.is_sealed =
        check_seal({reinterpret_cast<const char*>(text.data()), text.size()}, root, file.path());
  }
  return manifest;
}

}  // namespace

std::string in_folder(const std::string& node) {
  return node.empty() ? document_name : node + "/" + document_name;
}

Manifest read_manifest(storage::File& file) {
  std::string place = file.path();
  try {
    if (is_references(file)) {
      const Json documents = read_references(file).documents(file.path());
      return manifest_of(version3_of_documents(documents), file.path(), false);
    }
    if (is_version2(file)) {
      Manifest manifest = manifest_of(version3_of(file), file.path(), false);
      manifest.version = 2;
      return manifest;
    }
    place += std::string(": ") + document_name;
    return read_version3(file);
  } catch (const Json::exception& e) {  // a value of another type than it should be
    throw Error(Code::damaged, place + ": " + e.what());
  }
}

std::vector<CommitRow> read_rows(storage::File& file, const Manifest& manifest) {
  constexpr std::uint64_t object_bytes = rows_per_object * CommitRow::words * 8;
  std::vector<CommitRow> rows;
  for (std::uint64_t first = 0; first < manifest.rows; first += rows_per_object) {
    const std::string name =
        std::string(commits_name) + "/c." + std::to_string(first / rows_per_object) + ".0";
    const auto bytes = read_object(file, name, new_addresses(object_bytes), object_bytes);
    const std::uint64_t count = std::min(rows_per_object, manifest.rows - first);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::array<std::uint64_t, CommitRow::words> row{};
      std::memcpy(row.data(), bytes.data() + i * sizeof(row), sizeof(row));
      rows.push_back(CommitRow::unpack(row));
    }
  }
  return rows;
}

std::vector<Document> stale_documents(storage::File& file) {
  std::vector<Document> stale;
  if (is_references(file) || is_version2(file) || !is_zarr(file)) {
    return stale;
  }
  const Manifest manifest = read_manifest(file);
  const Json root = parse(root_text(file), file.path());
  if (!manifest.ours || is_bare_group(root)) {
    return stale;  // of a bare group the nodes' own documents are all that there is
  }
  for (const auto& [node, document] : root.at("consolidated_metadata").at("metadata").items()) {
    if (manifest.kept.documents.count(node) != 0) {
      continue;  // another program's, which may have changed it since
    }
    const std::string name = in_folder(node);
    const std::string text = text_of(document);
    const std::uint64_t there = file.object_bytes(name).value_or(0);
    const auto now = there != 0 && there == text.size() ? read_whole(file, name, there)
                                                        : std::vector<std::byte>{};
    const auto wanted = std::as_bytes(std::span(text));
    if (!std::equal(now.begin(), now.end(), wanted.begin(), wanted.end())) {
      stale.push_back({name, {wanted.begin(), wanted.end()}});
    }
  }
  return stale;
}

bool is_zarr(storage::File& file) {
  std::byte first{};
  if (is_version2(file)) {
    return true;
  }
  const bool has_root = is_references(file) || file.object_bytes(document_name).value_or(0) != 0;
  return has_root && file.read(0, {&first, 1}) == 1 && first == std::byte{'{'};
}

std::uint64_t index_bytes(std::uint64_t entries) {
  return model::checked_product(entries, sizeof(IndexEntry), "index of a shard") + crc_bytes;
}

std::vector<std::byte> encode_index(const std::vector<IndexEntry>& entries) {
  std::vector<std::byte> bytes(index_bytes(entries.size()));
  std::memcpy(bytes.data(), entries.data(), bytes.size() - crc_bytes);
  const std::uint32_t sum = codec::crc32c(std::span(bytes).first(bytes.size() - crc_bytes));
  std::memcpy(bytes.data() + bytes.size() - crc_bytes, &sum, crc_bytes);
  return bytes;
}

std::vector<IndexEntry> decode_index(std::span<const std::byte> bytes, const std::string& what) {
  std::uint32_t sum = 0;
  const auto body = bytes.first(bytes.size() - crc_bytes);
  std::memcpy(&sum, bytes.data() + body.size(), crc_bytes);
  if (sum != codec::crc32c(body)) {
    throw Error(Code::damaged, what + "the index does not match its checksum");
  }
  std::vector<IndexEntry> entries(body.size() / sizeof(IndexEntry));
  std::memcpy(entries.data(), body.data(), body.size());
  return entries;
}

}  // namespace sluice::layout::zarr
