#include "layout/zarr/metadata.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "layout/zarr/chunk_grid.hpp"
#include "layout/zarr/fill_value.hpp"
#include "model/type_names.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::zarr {

using model::Dims;
using model::ValueKind;

namespace {

/// The names of Zarr are those of Sluice.
std::string name_of(const Type& type) {
  if (type.kind == Kind::string) {
    throw Error(Code::internal, "type " + type_name(type) + " in a Zarr store");
  }
  return type_name(type);
}

Json bytes_codec() { return {{"name", "bytes"}, {"configuration", {{"endian", "little"}}}}; }

Json chain(const Array& array) {
  Json codecs = Json::array({bytes_codec()});
  for (const codec::Filter& filter : array.filters) {
    const auto& p = filter.parameters;
    // Its levels end at 9; the header of every chunk says what is inside.
    const std::uint32_t level = std::min<std::uint32_t>(9, p.at(3));
    codecs.push_back({{"name", "blosc"},
                      {"configuration",
                       {{"typesize", p.at(0)},
                        {"cname", p.at(2) == codec::zstd_id ? "zstd" : "zlib"},
                        {"clevel", level},
                        {"shuffle", p.at(1) != 0 ? "shuffle" : "noshuffle"},
                        {"blocksize", 0}}}});
  }
  return codecs;
}

/// A codec or another extension that has no configuration may be its bare name.
Json named(const Json& extension) {
  return extension.is_string() ? Json::object({{"name", extension}}) : extension;
}

/// The compressor inside Blosc, as a parameter of the filter: 0 if it is only read, empty if it is
/// not. The header of every chunk says it too, and how bytes are shuffled.
std::optional<std::uint32_t> inside_blosc(const Json& configuration) {
  const std::string name = configuration.value("cname", "");
  if (name == "lz4" || name == "lz4hc" || name == "blosclz") {
    return 0;
  }
  const std::uint32_t filter = name == "zstd" ? codec::zstd_id : codec::deflate_id;
  const bool is_held = name == "zstd" || name == "zlib";
  return is_held && codec::find_method(filter) ? std::optional(filter) : std::nullopt;
}

/// Shuffled, then compressed, then with a checksum: each once or not.
bool is_chain_of_hdf5(const codec::Pipeline& filters) {
  const auto place = [](std::uint32_t id) {
    return id == codec::shuffle_id ? 0 : id == codec::fletcher32_id ? 2 : 1;
  };
  return std::adjacent_find(filters.begin(), filters.end(), [&](const auto& a, const auto& b) {
           return place(a.id) >= place(b.id);
         }) == filters.end();
}

/// What a chain of codecs is; `why` where it is nothing that can be read here.
void take_chain(const Json& codecs, Array& array, std::string& why) {
  bool has_bytes = false;
  for (const Json& one : codecs) {
    const Json entry = named(one);
    const Json configuration = entry.value("configuration", Json::object());
    const std::string name = entry.value("name", "");
    if (name == "bytes") {
      has_bytes = true;
      array.big_endian = configuration.value("endian", "little") == "big";
    } else if (name == "shuffle") {  // of version 2, as fletcher32
      array.filters.push_back({codec::shuffle_id, {configuration.value("elementsize", 4U)}});
    } else if (name == "fletcher32") {
      array.filters.push_back({codec::fletcher32_id, {}});
    } else if (name == "zstd" && codec::find_method(codec::zstd_id)) {
      array.filters.push_back({codec::zstd_id, {}});
    } else if (name == "zlib" && codec::find_method(codec::deflate_id)) {  // of version 2
      array.filters.push_back({codec::deflate_id, {configuration.value("level", 1U)}});
    } else if (name == "gzip" && codec::find_method(codec::gzip_id)) {
      array.filters.push_back({codec::gzip_id, {}});
    } else if (const auto inside = inside_blosc(configuration); name == "blosc" && inside) {
      array.filters.push_back({codec::blosc_id,
                               {configuration.value("typesize", 1U),
                                configuration.value("shuffle", "") == "shuffle" ? 1U : 0U, *inside,
                                configuration.value("clevel", 1U)}});
    } else {
      const std::string cname = configuration.value("cname", "");
      why = "codec " + name + (cname.empty() ? "" : " with " + cname);
    }
  }
  const bool is_one = array.filters.size() <= 1 || is_chain_of_hdf5(array.filters);
  if (!has_bytes || !is_one) {
    why = why.empty() ? "an unusual chain of codecs" : why;
  }
}

bool is_plain_index(const Json& codecs) {
  if (!codecs.is_array() || codecs.size() != 2) {
    return false;
  }
  const Json first = named(codecs[0]);
  return first.value("name", "") == "bytes" &&
         first.value("configuration", Json::object()).value("endian", "little") == "little" &&
         named(codecs[1]).value("name", "") == "crc32c";
}

void take_codecs(const Json& codecs, Array& array, const std::string& name, std::string& why) {
  array.inner = array.chunk;
  const bool is_shard = codecs.is_array() && codecs.size() == 1 &&
                        named(codecs[0]).value("name", "") == "sharding_indexed";
  if (!is_shard) {
    take_chain(codecs, array, why);
    return;
  }
  const Json configuration = named(codecs[0]).value("configuration", Json::object());
  array.sharded = true;
  array.inner = dims_of(configuration.value("chunk_shape", Json()), name);
  array.index_first = configuration.value("index_location", "end") == "start";
  if (!is_plain_index(configuration.value("index_codecs", Json()))) {
    why = "an index of shards in another form";
  }
  if (array.inner.rank() != array.chunk.rank()) {
    refuse_array(name, "inner chunks with another number of dimensions");
  }
  const Tiling::Lengths each = array.lengths;
  for (int d = 0; d < array.inner.rank(); ++d) {
    const auto at = static_cast<std::size_t>(d);
    const auto is_whole = [&](std::uint64_t length) { return length % array.inner[d] == 0; };
    if (array.inner[d] == 0 || !is_whole(array.chunk[d]) ||
        (!each.empty() && !std::all_of(each[at].begin(), each[at].end(), is_whole))) {
      refuse_array(name, "a shard that is not made of whole inner chunks");
    }
  }
  take_chain(configuration.value("codecs", Json::array()), array, why);
}

}  // namespace

codec::Pipeline pipeline_in_zarr(const codec::Pipeline& pipeline) {
  if (pipeline.empty()) {
    return {};
  }
  const bool shuffles = pipeline[0].id == codec::shuffle_id;
  const codec::Filter& last = pipeline.back();
  return {{codec::blosc_id,
           {shuffles ? pipeline[0].parameters.at(0) : 1U, shuffles ? 1U : 0U, last.id,
            last.parameters.empty() ? 1U : last.parameters[0]}}};
}

Json array_document(const Array& array, const Json& attributes) {
  Json codecs = chain(array);
  if (array.sharded) {
    codecs = Json::array(
        {{{"name", "sharding_indexed"},
          {"configuration",
           {{"chunk_shape", dims_json(array.inner)},
            {"codecs", std::move(codecs)},
            {"index_codecs", Json::array({bytes_codec(), Json::object({{"name", "crc32c"}})})},
            {"index_location", array.index_first ? "start" : "end"}}}}});
  }
  Json names = Json::array();
  for (const std::string& name : array.dimensions) {
    names.push_back(name);
  }
  return {
      {"zarr_format", 3},
      {"node_type", "array"},
      {"shape", dims_json(array.shape)},
      {"data_type", name_of(array.type)},
      {"chunk_grid", chunk_grid_json(array)},
      {"chunk_key_encoding",
       {{"name", "default"}, {"configuration", {{"separator", std::string(1, array.separator)}}}}},
      {"fill_value", fill_json(array.fill, array.type)},
      {"codecs", std::move(codecs)},
      {"attributes", attributes},
      {"dimension_names", std::move(names)},
      {"storage_transformers", Json::array()}};
}

Json group_document(const Json& attributes) {
  return {{"zarr_format", 3}, {"node_type", "group"}, {"attributes", attributes}};
}

std::optional<Array> array_in(const Json& document, const std::string& name, std::string& why) {
  Array array;
  try {
    array.shape = dims_of(document.at("shape"), name);
    take_chunk_grid(document.at("chunk_grid"), array, name, why);
    if (!why.empty() || !document.at("data_type").is_string()) {
      why = why.empty() ? "an array of another kind" : why;
      return std::nullopt;
    }
    const std::string type = document.at("data_type").get<std::string>();
    const auto known = model::type_named(type);
    if (!known) {
      why = "data type " + type;
      return std::nullopt;
    }
    array.type = *known;
    const Json keys = named(document.at("chunk_key_encoding"));
    array.prefixed = keys.value("name", "") == "default";
    array.separator = keys.value("configuration", Json::object())
                          .value("separator", array.prefixed ? "/" : ".")
                          .at(0);
    if (array.separator != '.' && array.separator != '/') {
      refuse_array(name, "a separator of chunks that is neither . nor /");
    }
    try {
      array.fill = fill_of(document.at("fill_value"), array.type);
    } catch (const Error& e) {
      refuse_array(name, e.what());
    }
    take_codecs(document.at("codecs"), array, name, why);
    for (const Json& one : document.value("dimension_names", Json::array())) {
      array.dimensions.push_back(one.is_string() ? one.get<std::string>() : "");
    }
    model::checked_product(array.shape.volume(), array.type.bytes, "array");
    model::checked_product(array.chunk.volume(), array.type.bytes, "chunk");
    array.inner_count();
  } catch (const Json::exception& e) {
    refuse_array(name, e.what());
  } catch (const std::out_of_range&) {
    refuse_array(name, "a separator without a character");
  }
  return why.empty() ? std::optional(array) : std::nullopt;
}

Json json_of(const model::AttributeValue& value) {
  return std::visit(
      [](const auto& held) -> Json {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_floating_point_v<T>) {
          return float_json(held);
        } else if constexpr (std::is_same_v<T, std::vector<float>> ||
                             std::is_same_v<T, std::vector<double>>) {
          Json list = Json::array();
          for (const auto one : held) {
            list.push_back(float_json(one));
          }
          return list;
        } else {
          return held;
        }
      },
      value);
}

namespace {

template <class T>
model::AttributeValue vector_of(const Json& json) {
  std::vector<T> values;
  for (const Json& one : json) {
    if constexpr (std::is_floating_point_v<T>) {
      values.push_back(static_cast<T>(float_of(one)));
    } else {
      values.push_back(one.get<T>());
    }
  }
  return values;
}

template <class Is>
bool all_are(const Json& json, Is&& is) {
  return std::all_of(json.begin(), json.end(), [&](const Json& one) { return is(one); });
}

/// An integer that T holds.
template <class T>
bool is_integer(const Json& json) {
  if (json.is_number_unsigned()) {
    return json.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  }
  return json.is_number_integer() && json.get<std::int64_t>() >= std::numeric_limits<T>::min();
}

bool is_large(const Json& json) {
  return json.is_number_integer() && !is_integer<std::int64_t>(json);
}

/// A number that T holds as it is, or a word for one.
template <class T>
bool is_real(const Json& json) {
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    return text == "NaN" || text == "Infinity" || text == "-Infinity";
  }
  if (!json.is_number()) {
    return false;
  }
  const auto value = json.get<double>();
  constexpr double most_exact = 9007199254740992.0;  // 2^53
  const bool is_exact = !json.is_number_integer() || std::abs(value) <= most_exact;
  return is_exact && (!std::isfinite(value) || static_cast<double>(static_cast<T>(value)) == value);
}

/// A number that a double holds as it is.
bool is_exact(const Json& json) {
  if (!json.is_number_integer()) {
    return json.is_number();
  }
  const auto value = json.get<double>();
  return is_integer<std::int64_t>(json) && value < 0x1p63 &&
         static_cast<std::int64_t>(value) == json.get<std::int64_t>();
}

bool are(const Json& json, bool (*is)(const Json&)) { return json.is_array() && all_are(json, is); }

template <class T>
std::optional<model::AttributeValue> integer_of(const Json& json) {
  return is_integer<T>(json) ? std::optional<model::AttributeValue>(json.get<T>()) : std::nullopt;
}

template <class T>
std::optional<model::AttributeValue> integers_of(const Json& json) {
  return are(json, is_integer<T>) ? std::optional(vector_of<T>(json)) : std::nullopt;
}

/// Nothing where the JSON is no value of that kind.
std::optional<model::AttributeValue> value_of_kind(const Json& json, ValueKind kind) {
  using Held = std::optional<model::AttributeValue>;
  switch (kind) {
    case ValueKind::int32:
      return integer_of<std::int32_t>(json);
    case ValueKind::int8:
      return integer_of<std::int8_t>(json);
    case ValueKind::int16:
      return integer_of<std::int16_t>(json);
    case ValueKind::uint8:
      return integer_of<std::uint8_t>(json);
    case ValueKind::uint16:
      return integer_of<std::uint16_t>(json);
    case ValueKind::float32:
      return is_real<float>(json) ? Held(static_cast<float>(float_of(json))) : std::nullopt;
    case ValueKind::float64:
      return is_real<double>(json) ? Held(float_of(json)) : std::nullopt;
    case ValueKind::int32_list:
      return integers_of<std::int32_t>(json);
    case ValueKind::int64_list:
      return integers_of<std::int64_t>(json);
    case ValueKind::int8_list:
      return integers_of<std::int8_t>(json);
    case ValueKind::int16_list:
      return integers_of<std::int16_t>(json);
    case ValueKind::uint8_list:
      return integers_of<std::uint8_t>(json);
    case ValueKind::uint16_list:
      return integers_of<std::uint16_t>(json);
    case ValueKind::float32_list:
      return are(json, is_real<float>) ? Held(vector_of<float>(json)) : std::nullopt;
    case ValueKind::float64_list:
      return are(json, is_real<double>) ? Held(vector_of<double>(json)) : std::nullopt;
    case ValueKind::text_list:
      return are(json, [](const Json& one) { return one.is_string(); })
                 ? Held(vector_of<std::string>(json))
                 : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<model::AttributeValue> value_of(const Json& json, std::optional<ValueKind> kind) {
  if (auto held = kind ? value_of_kind(json, *kind) : std::nullopt) {
    return held;
  }
  if (json.is_boolean()) {
    return json.get<bool>();
  }
  if (is_integer<std::int64_t>(json)) {
    return json.get<std::int64_t>();
  }
  if (json.is_number_float()) {
    return json.get<double>();
  }
  if (json.is_string()) {
    return json.get<std::string>();
  }
  if (!json.is_array() || json.empty()) {
    return std::nullopt;
  }
  if (all_are(json, is_integer<std::int64_t>)) {
    return vector_of<std::int64_t>(json);
  }
  if (all_are(json, is_exact)) {
    return vector_of<double>(json);
  }
  if (all_are(json, [](const Json& one) { return one.is_string(); })) {
    return vector_of<std::string>(json);
  }
  return std::nullopt;
}

std::string why_no_value(const Json& json) {
  if (is_large(json) || (json.is_array() && std::any_of(json.begin(), json.end(), is_large))) {
    return "numbers above 2^63 - 1";
  }
  if (json.is_null()) {
    return "null";
  }
  if (json.is_object()) {
    return "an object of JSON";
  }
  return json.empty() ? "an empty list" : "a list of objects, of lists, or of several types";
}

}  // namespace sluice::layout::zarr
