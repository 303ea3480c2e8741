#include "layout/zarr/chunk_grid.hpp"

#include <algorithm>

#include "layout/plausible.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::zarr {

using model::Dims;
using Lengths = std::vector<std::uint64_t>;

void refuse_array(const std::string& name, const std::string& why) {
  throw Error(Code::damaged, name + ": " + document_name + ": " + why);
}

Json dims_json(const Dims& dims) {
  Json json = Json::array();
  for (const std::uint64_t n : dims) {
    json.push_back(n);
  }
  return json;
}

Dims dims_of(const Json& json, const std::string& name) {
  if (!json.is_array() || json.size() > static_cast<std::size_t>(model::max_rank)) {
    refuse_array(name, "a shape that is none, or has too many dimensions");
  }
  Dims dims;
  for (const Json& n : json) {
    if (!n.is_number_unsigned()) {
      refuse_array(name, "a shape with something else than numbers");
    }
    dims.push_back(n.get<std::uint64_t>());
  }
  return dims;
}

namespace {

/// [3, 3, 3, 1] as [[3, 3], 1]; as it is where that is not shorter.
Json run_lengths(const Lengths& lengths) {
  Json runs = Json::array();
  for (std::size_t i = 0; i < lengths.size();) {
    std::size_t next = i + 1;
    while (next < lengths.size() && lengths[next] == lengths[i]) {
      ++next;
    }
    if (next - i > 1) {
      runs.push_back(Json::array({lengths[i], next - i}));
    } else {
      runs.push_back(lengths[i]);
    }
    i = next;
  }
  return runs.size() < lengths.size() ? runs : Json(lengths);
}

std::uint64_t positive(const Json& json, const std::string& name) {
  if (!json.is_number_unsigned() || json.get<std::uint64_t>() == 0) {
    refuse_array(name, "a rectilinear grid with a length that is no positive number");
  }
  return json.get<std::uint64_t>();
}

/// The lengths of one dimension, as many of them as cover `extent`.
Lengths lengths_of(const Json& json, std::uint64_t extent, const std::string& name) {
  Lengths lengths;
  std::uint64_t end = 0;
  if (json.empty()) {
    refuse_array(name, "a rectilinear grid with a dimension without chunks");
  }
  for (const Json& one : json) {
    const bool is_run = one.is_array();
    if (is_run && one.size() != 2) {
      refuse_array(name, "a rectilinear grid with a run that is no pair of a length and a count");
    }
    const std::uint64_t length = positive(is_run ? one[0] : one, name);
    const std::uint64_t count = is_run ? positive(one[1], name) : 1;
    // Chunks beyond the extent hold nothing; the first is kept, so that there is one at all.
    for (std::uint64_t i = 0; i < count && (end < extent || lengths.empty()); ++i) {
      require_plausible_tiles(name + ": a dimension", lengths.size() + 1, most_listed_tiles);
      lengths.push_back(length);
      if (__builtin_add_overflow(end, length, &end)) {
        refuse_array(name, "a rectilinear grid beyond 64 bits");
      }
    }
  }
  if (end < extent) {
    refuse_array(name, "a rectilinear grid of " + std::to_string(end) +
                           " elements for a dimension of " + std::to_string(extent));
  }
  return lengths;
}

void take_rectilinear(const Json& configuration, Array& array, const std::string& name,
                      std::string& why) {
  if (configuration.value("kind", "") != "inline") {
    why = "a rectilinear chunk grid of kind " + configuration.value("kind", "(none)");
    return;
  }
  const Json& shapes = configuration.at("chunk_shapes");
  if (!shapes.is_array() || shapes.size() != static_cast<std::size_t>(array.shape.rank())) {
    refuse_array(name, "chunks with another number of dimensions than the array");
  }
  array.lengths.resize(shapes.size());
  for (int d = 0; d < array.shape.rank(); ++d) {
    const auto at = static_cast<std::size_t>(d);
    if (!shapes[at].is_array()) {
      array.chunk.push_back(positive(shapes[at], name));
      continue;
    }
    array.lengths[at] = lengths_of(shapes[at], array.shape[d], name);
    array.chunk.push_back(*std::max_element(array.lengths[at].begin(), array.lengths[at].end()));
  }
}

}  // namespace

Json chunk_grid_json(const Array& array) {
  if (array.lengths.empty()) {
    return {{"name", "regular"}, {"configuration", {{"chunk_shape", dims_json(array.chunk)}}}};
  }
  Json shapes = Json::array();
  for (int d = 0; d < array.chunk.rank(); ++d) {
    const Lengths& lengths = array.lengths[static_cast<std::size_t>(d)];
    shapes.push_back(lengths.empty() ? Json(array.chunk[d]) : run_lengths(lengths));
  }
  return {{"name", "rectilinear"},
          {"configuration", {{"kind", "inline"}, {"chunk_shapes", std::move(shapes)}}}};
}

void take_chunk_grid(const Json& grid, Array& array, const std::string& name, std::string& why) {
  const std::string kind = grid.value("name", "");
  if (kind == "rectilinear") {
    take_rectilinear(grid.at("configuration"), array, name, why);
    return;
  }
  if (kind != "regular") {
    why = "a chunk grid of kind " + kind;
    return;
  }
  array.chunk = dims_of(grid.at("configuration").at("chunk_shape"), name);
  if (array.chunk.rank() != array.shape.rank()) {
    refuse_array(name, "chunks with another number of dimensions than the array");
  }
  for (const std::uint64_t n : array.chunk) {
    if (n == 0) {
      refuse_array(name, "chunks without elements");
    }
  }
}

}  // namespace sluice::layout::zarr
