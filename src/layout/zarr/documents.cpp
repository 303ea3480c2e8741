// The documents of a store that Sluice writes, of what its manifest says.
#include <limits>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "layout/lengths.hpp"
#include "layout/netcdf4/rules.hpp"
#include "layout/zarr/fill_value.hpp"
#include "layout/zarr/manifest.hpp"
#include "layout/zarr/node_order.hpp"
#include "layout/zarr/seal.hpp"
#include "model/fill.hpp"

namespace sluice::layout::zarr {

using model::Definition;
using model::Dims;

namespace {

/// Does a node's document say it already, by value and type?
bool says(const Json& attributes, const model::Attribute& attribute) {
  const auto found = attributes.find(attribute.name);
  if (found == attributes.end()) {
    return false;
  }
  if (attribute.name == fill_name && says_coded(*found, attribute.value)) {
    return true;
  }
  const auto held = value_of(*found, model::kind_of(attribute.value));
  return held && held->index() == attribute.value.index() &&
         json_of(*held) == json_of(attribute.value);
}

const Json& kept_attributes(const Manifest& manifest, const std::string& owner) {
  static const auto* const empty = new Json(Json::object());  // as in layout/formats
  const auto kept = manifest.kept.attributes.find(owner);
  return kept != manifest.kept.attributes.end() ? kept->second : *empty;
}

/// The attributes of a manifest by the node that they belong to.
class NodeAttributes {
 public:
  explicit NodeAttributes(const Manifest& manifest) : manifest_(manifest) {
    for (const model::Attribute& attribute : manifest.attributes) {
      of_[attribute.owner].push_back(&attribute);
    }
  }

  /// Those that were read, as they were, and those that have been set since. `type`: of the owner,
  /// where that is a variable.
  Json of(const std::string& owner, const Type* type = nullptr) const {
    Json json = kept_attributes(manifest_, owner);
    const auto found = of_.find(owner);
    if (found == of_.end()) {
      return json;
    }
    const bool are_new = json.empty();
    json = are_new ? Json::object() : std::move(json);
    for (const model::Attribute* const attribute : found->second) {
      if (!are_new && says(json, *attribute)) {
        continue;
      }
      const bool is_fill = type != nullptr && attribute->name == fill_name;
      Json value =
          is_fill ? fill_attribute_json(attribute->value, *type) : json_of(attribute->value);
      if (are_new) {
        // operator[] of the object searches all names, and these are all different.
        json.get_ref<Json::object_t&>().emplace_back(attribute->name, std::move(value));
      } else {
        json[attribute->name] = std::move(value);
      }
    }
    return json;
  }

 private:
  const Manifest& manifest_;
  std::unordered_map<std::string_view, std::vector<const model::Attribute*>> of_;
};

Json own_json(const Manifest& manifest) {
  Json variables = Json::array();
  for (const Stored& stored : manifest.arrays) {
    const Definition& d = stored.definition;
    variables.push_back({{"name", d.name},
                         {"steps", d.stepped},
                         {"partial", d.partial},
                         {"compress", d.compress},
                         {"dimensions", d.dimensions}});
    if (d.varying) {
      variables.back()["varying"] = true;
    }
    if (d.gives_fill) {
      variables.back()["fill"] = true;
    }
  }
  Json kinds = Json::array();
  for (const model::Attribute& attribute : manifest.attributes) {
    const bool is_of_another = manifest.kept.documents.count(attribute.owner) != 0 &&
                               says(kept_attributes(manifest, attribute.owner), attribute);
    if (!is_of_another) {
      kinds.push_back({attribute.owner, attribute.name, attribute.value.index()});
    }
  }
  Json drops = Json::array();
  for (const Drop& drop : manifest.drops) {
    drops.push_back({drop.rows, drop.steps});
  }
  return {{seal_name, std::string(seal_digits, '0')},
          {"version", store_version},
          {"drops", std::move(drops)},
          {"steps", manifest.steps},
          {"commits", manifest.rows},
          {"checksum_chunk_words", manifest.checksum_chunk_words},
          {"checksum_chunks", manifest.checksum_chunks},
          {"has_time", manifest.has_time},
          {"variables", std::move(variables)},
          {"attribute_kinds", std::move(kinds)}};
}

Array plain_array(const Type& type, const Dims& shape, const Dims& chunk) {
  Array array;
  array.type = type;
  array.shape = shape;
  array.chunk = array.inner = chunk;
  return array;
}

/// The documents below the root, by name, in the order in which they came.
class Nodes {
 public:
  Nodes(const Manifest& manifest, const NodeAttributes& attributes)
      : manifest_(manifest), attributes_(attributes) {}

  void put(const std::string& name, Json document) {
    if (names_.insert(name).second) {
      // operator[] of the object searches all names.
      nodes_.get_ref<Json::object_t&>().emplace_back(name, std::move(document));
    }
  }
  /// Every group on the way to a node.
  void put_groups(const std::string& name) {
    for (std::size_t at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
      const std::string group = name.substr(0, at);
      if (names_.count(group) == 0) {
        put(group, group_document(attributes_.of(group)));
      }
    }
  }
  /// What another program made, where Sluice has made nothing of that name.
  void put_kept() {
    for (const auto& [name, document] : manifest_.kept.documents) {
      Json node = document;
      Json attributes = attributes_.of(name);
      if (!attributes.empty()) {
        node["attributes"] = std::move(attributes);
      }
      put_groups(name);
      put(name, std::move(node));
    }
  }
  Json take() { return std::move(nodes_); }

 private:
  const Manifest& manifest_;
  const NodeAttributes& attributes_;
  Json nodes_ = Json::object();
  std::unordered_set<std::string> names_;
};

/// A fill value that attributes do not hold, so that it is none of them (zarr/fill_value).
std::optional<Json> large_fill(const model::Definition& definition) {
  if (!definition.has_fill() || definition.type.kind != Kind::u64 || fill_attribute(definition)) {
    return std::nullopt;
  }
  return fill_json(definition.fill, definition.type);
}

Json nodes_of(const Manifest& manifest, const NodeAttributes& attributes_of) {
  Nodes nodes(manifest, attributes_of);
  for (const Stored& stored : manifest.arrays) {
    const std::string& name = stored.definition.name;
    nodes.put_groups(name);
    Json attributes = attributes_of.of(name, &stored.definition.type);
    if (const auto fill = large_fill(stored.definition); fill && !attributes.contains(fill_name)) {
      attributes[fill_name] = *fill;
    }
    if (stored.definition.varying) {
      attributes[varying_attribute] = length_name(name);
    }
    nodes.put(name, array_document(stored.array, attributes));
  }
  if (manifest.has_time) {
    nodes.put(time_name, array_document(time_array(manifest.steps), attributes_of.of(time_name)));
  }
  nodes.put_kept();
  for (const model::Attribute& attribute : manifest.attributes) {
    if (!attribute.owner.empty()) {
      nodes.put_groups(attribute.owner + "/");  // a group without variables
    }
  }
  nodes.put(own_name, group_document(Json::object()));
  nodes.put(commits_name, array_document(commits_array(manifest.rows), Json::object()));
  if (manifest.checksum_chunk_words != 0) {
    const std::uint64_t words = manifest.checksum_chunk_words;
    Array array = plain_array(type_of(Kind::u64), {words * manifest.checksum_chunks}, {words});
    array.dimensions = {"word"};
    nodes.put(checksums_name, array_document(array, Json::object()));
  }
  return nodes.take();
}

}  // namespace

Array time_array(std::uint64_t steps) {
  Array array = plain_array(type_of(Kind::f64), {steps}, {rows_per_object});
  array.fill = model::fill_bytes(std::numeric_limits<double>::quiet_NaN(), array.type).value();
  array.dimensions = {netcdf4::step_dimension};
  return array;
}

Array commits_array(std::uint64_t rows) {
  Array array = plain_array(type_of(Kind::u64), {rows, CommitRow::words},
                            {rows_per_object, CommitRow::words});
  array.dimensions = {"commit", "column"};
  return array;
}

Documents documents_of(const Manifest& manifest) {
  const NodeAttributes attributes_of(manifest);
  Json nodes = by_group(nodes_of(manifest, attributes_of));
  Documents documents;
  for (const auto& [name, document] : nodes.items()) {
    documents[in_folder(name)] = text_of(document);
  }
  Json attributes = attributes_of.of("");
  attributes[own_name] = own_json(manifest);
  Json root = group_document(attributes);
  root["consolidated_metadata"] = {{"kind", "inline"}, {"must_understand", false}};
  root["consolidated_metadata"]["metadata"] = std::move(nodes);
  documents[document_name] = sealed_text(std::move(root));
  return documents;
}

}  // namespace sluice::layout::zarr
