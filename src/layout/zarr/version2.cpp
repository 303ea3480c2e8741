#include "layout/zarr/version2.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>
#include <utility>

#include "layout/zarr/fill_value.hpp"
#include "layout/zarr/walk.hpp"
#include "model/type_names.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::zarr {

namespace {

constexpr const char* array_file = ".zarray";
constexpr const char* group_file = ".zgroup";
constexpr const char* attributes_file = ".zattrs";
constexpr const char* consolidated_file = ".zmetadata";
/// In which xarray keeps the names of dimensions.
constexpr const char* dimensions_name = "_ARRAY_DIMENSIONS";

/// The document by which the store was opened; "" where it is of another kind.
std::string root_name(storage::File& file) {
  std::istringstream names(version2_documents);
  for (std::string name; names >> name;) {
    if (file.object_bytes(name).value_or(0) != 0) {
      return name;
    }
  }
  return "";
}

Json document_of(storage::File& file, const std::string& name) {
  if (name == root_name(file)) {
    std::vector<std::byte> text(file.object_bytes(name).value_or(0));
    text.resize(file.read(0, text));
    return parse(text, file.path(), name);
  }
  const std::vector<std::byte> text = read_document(file, name);
  return text.empty() ? Json::object() : parse(text, file.path(), name);
}

/// The name of version 3 for a type such as "<f4"; where there is none, the type as it is.
std::string type_name_of(const Json& dtype) {
  if (!dtype.is_string()) {
    return "of several fields";
  }
  const auto text = dtype.get<std::string>();
  const auto known = model::numpy_type_named(text);
  return known && known->type.kind != Kind::string ? type_name(known->type) : text;
}

Json codec_json(const char* name, Json configuration = Json::object()) {
  return {{"name", name}, {"configuration", std::move(configuration)}};
}

/// -1 and 0 stand for a program's own choice.
int level_in(const Json& compressor, const char* name) {
  return std::clamp(compressor.value(name, 1), 1, 9);
}

/// The compressor as a codec of version 3; version 2 names zlib, which version 3 has not.
Json compressor_json(const Json& compressor, std::uint64_t element_bytes) {
  const auto id = compressor.at("id").get<std::string>();
  if (id != "blosc") {
    return codec_json(id.c_str(), {{"level", level_in(compressor, "level")}});
  }
  // -1 is Blosc's own choice: bits for bytes, bytes for larger elements.
  const int shuffle = compressor.value("shuffle", 1);
  const bool is_bits = shuffle == 2 || (shuffle == -1 && element_bytes == 1);
  return codec_json("blosc", {{"cname", compressor.value("cname", "")},
                              {"clevel", level_in(compressor, "clevel")},
                              {"typesize", element_bytes},
                              {"shuffle", is_bits        ? "bitshuffle"
                                          : shuffle == 0 ? "noshuffle"
                                                         : "shuffle"}});
}

/// Those of numcodecs that HDF5 has too; kerchunk lists compressors among them.
Json filter_json(const Json& filter, std::uint64_t element_bytes) {
  const std::string id = filter.value("id", "");
  if (id == "shuffle") {
    return codec_json("shuffle", {{"elementsize", filter.value("elementsize", 4U)}});
  }
  if (id == "fletcher32") {
    return codec_json("fletcher32");
  }
  if (id == "zlib" || id == "gzip" || id == "zstd" || id == "blosc") {
    return compressor_json(filter, element_bytes);
  }
  return codec_json(("filter " + id).c_str());
}

std::uint64_t element_bytes_of(const std::string& dtype) {
  const std::size_t digits = dtype.find_first_of("0123456789");
  std::uint32_t bytes = 1;
  if (digits != std::string::npos) {
    std::from_chars(dtype.data() + digits, dtype.data() + dtype.size(), bytes);
  }
  return bytes;
}

Json codecs_of(const Json& document, bool is_big) {
  Json codecs = Json::array({codec_json("bytes", {{"endian", is_big ? "big" : "little"}})});
  const Json filters = document.value("filters", Json());
  const Json& dtype = document.at("dtype");
  const std::uint64_t element_bytes =
      dtype.is_string() ? element_bytes_of(dtype.get<std::string>()) : 1;
  for (const Json& filter : filters.is_array() ? filters : Json::array()) {
    codecs.push_back(filter_json(filter, element_bytes));
  }
  if (document.value("order", "C") != "C" && document.at("shape").size() > 1) {
    codecs.push_back(codec_json("order F"));
  }
  const Json compressor = document.value("compressor", Json());
  if (compressor.is_object()) {
    codecs.push_back(compressor_json(compressor, element_bytes));
  }
  return codecs;
}

Json fill_of_version2(const Json& document, const std::string& type) {
  Json fill = document.value("fill_value", Json());
  if (!fill.is_null()) {
    return fill;
  }
  if (type.rfind("complex", 0) == 0) {
    return Json::array({0, 0});
  }
  return type == "bool" ? Json(false) : Json(0);
}

/// In version 2 it is the fill value by which programs know missing values; in version 3 an
/// attribute. As a number.
void say_missing(const Json& document, const std::string& type, Json& attributes) {
  const Json fill = document.value("fill_value", Json());
  const bool is_floating = type.rfind("float", 0) == 0;
  const bool is_integer = type.rfind("int", 0) == 0 || type.rfind("uint", 0) == 0;
  if (is_floating && (fill.is_number() || fill.is_string())) {
    attributes.emplace("_FillValue", Json(float_of(fill)));
  } else if (is_integer && fill.is_number_integer()) {
    attributes.emplace("_FillValue", Json(fill));
  }
}

Json array_node(const Json& document, Json attributes) {
  const Json& dtype = document.at("dtype");
  const std::string type = type_name_of(dtype);
  const bool is_big = dtype.is_string() && dtype.get<std::string>().rfind('>', 0) == 0;
  Json names = attributes.value(dimensions_name, Json::array());
  attributes.erase(dimensions_name);
  say_missing(document, type, attributes);
  return {{"zarr_format", 3},
          {"node_type", "array"},
          {"shape", document.at("shape")},
          {"data_type", type},
          {"chunk_grid",
           {{"name", "regular"}, {"configuration", {{"chunk_shape", document.at("chunks")}}}}},
          {"chunk_key_encoding",
           {{"name", "v2"},
            {"configuration", {{"separator", document.value("dimension_separator", ".")}}}}},
          {"fill_value", fill_of_version2(document, type)},
          {"codecs", codecs_of(document, is_big)},
          {"attributes", std::move(attributes)},
          {"dimension_names", std::move(names)}};
}

/// "g/x/.zarray" is the document .zarray of the node g/x.
std::pair<std::string, std::string> node_and_document(const std::string& key) {
  const std::size_t slash = key.rfind('/');
  return slash == std::string::npos ? std::pair(std::string(), key)
                                    : std::pair(key.substr(0, slash), key.substr(slash + 1));
}

Json consolidated(const Json& metadata) {
  std::map<std::string, Json> attributes;
  for (const auto& [key, document] : metadata.items()) {
    const auto [node, name] = node_and_document(key);
    if (name == attributes_file) {
      attributes[node] = document;
    }
  }
  const auto attributes_of = [&](const std::string& node) {
    const auto found = attributes.find(node);
    return found == attributes.end() ? Json::object() : found->second;
  };
  Json nodes = Json::object();
  for (const auto& [key, document] : metadata.items()) {
    const auto [node, name] = node_and_document(key);
    if (name == array_file) {
      nodes[node] = array_node(document, attributes_of(node));
    } else if (name == group_file && !node.empty()) {
      nodes[node] = group_document(attributes_of(node));
    }
  }
  Json root = group_document(attributes_of(""));
  root["consolidated_metadata"] = {{"metadata", std::move(nodes)}};
  return root;
}

/// What .zmetadata would say: the documents of every node.
Json metadata2_below(storage::File& file) {
  Json metadata = Json::object();
  const auto take = [&](const std::string& node, const char* name) {
    const std::string key = node + "/" + name;
    const std::vector<std::byte> text = read_document(file, key);
    if (!text.empty()) {
      metadata[key] = parse(text, file.path(), key);
    }
    return !text.empty();
  };
  walk_nodes(file, [&](const std::string& node) {
    const bool is_array = take(node, array_file);
    if (!is_array && !take(node, group_file)) {
      return Node::none;
    }
    take(node, attributes_file);
    return is_array ? Node::array : Node::group;
  });
  return metadata;
}

}  // namespace

bool is_version2(storage::File& file) {
  std::byte first{};
  return !root_name(file).empty() && file.read(0, {&first, 1}) == 1 && first == std::byte{'{'};
}

Json version3_of(storage::File& file) {
  const std::string name = root_name(file);
  try {
    const Json root = document_of(file, name);
    if (name == consolidated_file && root.contains("record_size")) {
      throw Error(Code::unsupported,
                  file.path() +
                      ": references of kerchunk in Parquet: make a JSON file of them, as "
                      "to_kerchunk(FILE, format=\"json\") of VirtualiZarr writes one");
    }
    if (name == consolidated_file) {
      return consolidated(root.at("metadata"));
    }
    if (root.value("zarr_format", 0) != 2) {
      throw Error(Code::version, file.path() + ": " + name + ": not version 2 of Zarr");
    }
    const Json attributes = document_of(file, attributes_file);
    if (name == array_file) {
      return array_node(root, attributes);
    }
    Json metadata = metadata2_below(file);
    metadata[attributes_file] = attributes;
    return consolidated(metadata);
  } catch (const Json::exception& e) {
    throw Error(Code::damaged, file.path() + ": " + name + ": " + e.what());
  }
}

std::optional<Json> numcodecs_filters(const codec::Pipeline& pipeline) {
  Json filters = Json::array();
  for (const codec::Filter& filter : pipeline) {
    const auto first = filter.parameters.empty() ? 1U : filter.parameters[0];
    switch (filter.id) {
      case codec::shuffle_id:
        filters.push_back({{"id", "shuffle"}, {"elementsize", first}});
        break;
      case codec::deflate_id:
        filters.push_back({{"id", "zlib"}, {"level", first}});
        break;
      case codec::zstd_id:
        filters.push_back({{"id", "zstd"}, {"level", first}});
        break;
      case codec::fletcher32_id:
        filters.push_back({{"id", "fletcher32"}});
        break;
      default:
        return std::nullopt;
    }
  }
  return filters;
}

Json version3_of_documents(const Json& documents) {
  if (documents.contains(array_file)) {
    return array_node(documents[array_file], documents.value(attributes_file, Json::object()));
  }
  if (!documents.contains(document_name)) {
    const bool has_all = documents.contains(consolidated_file);
    return consolidated(has_all ? documents[consolidated_file].at("metadata") : documents);
  }
  Json root = documents[document_name];
  Json nodes = Json::object();
  for (const auto& [key, document] : documents.items()) {
    const auto [node, name] = node_and_document(key);
    if (name == document_name && !node.empty()) {
      nodes[node] = document;
    }
  }
  if (root.value("node_type", "") == "group") {
    root["consolidated_metadata"] = {{"metadata", std::move(nodes)}};
  }
  return root;
}

}  // namespace sluice::layout::zarr
