#include "crash/plain_store.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "codec/checksum.hpp"
#include "layout/formats/formats.hpp"

namespace sluice::test {

namespace {

using Json = nlohmann::json;
using Numbers = std::vector<std::uint64_t>;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t no_chunk = ~std::uint64_t{0};

Json document(const storage::MemoryStorage& storage, const std::string& path) {
  const Bytes bytes = storage.contents(path);
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  return Json::parse(text, text + bytes.size());
}

std::uint64_t count_of(const Numbers& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t n : shape) {
    count *= n;
  }
  return count;
}

/// The position of number `index` in a grid, the last dimension fastest.
Numbers position(std::uint64_t index, const Numbers& grid) {
  Numbers at(grid.size());
  for (std::size_t d = grid.size(); d-- > 0;) {
    at[d] = index % grid[d];
    index /= grid[d];
  }
  return at;
}

Numbers grid_over(const Numbers& shape, const Numbers& piece) {
  Numbers grid(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    grid[d] = (shape[d] + piece[d] - 1) / piece[d];
  }
  return grid;
}

Numbers scaled(Numbers at, const Numbers& by) {
  for (std::size_t d = 0; d < at.size(); ++d) {
    at[d] *= by[d];
  }
  return at;
}

/// Where the objects of a regular or rectilinear grid begin along each dimension, and their end.
std::vector<Numbers> starts_of(const Numbers& shape, const Json& grid) {
  const bool is_regular = grid.contains("chunk_shape");
  const Json& lengths = grid.at(is_regular ? "chunk_shape" : "chunk_shapes");
  std::vector<Numbers> all;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    Numbers starts{0};
    if (lengths.at(d).is_number()) {
      while (starts.back() < shape[d]) {
        starts.push_back(starts.back() + lengths[d].get<std::uint64_t>());
      }
    } else {
      for (const Json& one : lengths[d]) {
        const bool is_run = one.is_array();
        for (std::uint64_t i = 0; i < (is_run ? one.at(1).get<std::uint64_t>() : 1); ++i) {
          starts.push_back(starts.back() + (is_run ? one.at(0) : one).get<std::uint64_t>());
        }
      }
    }
    all.push_back(starts);
  }
  return all;
}

std::uint64_t element_bytes(const std::string& type) {
  const std::size_t digits = type.find_first_of("0123456789");
  return digits == std::string::npos ? 1 : std::stoull(type.substr(digits)) / 8;
}

class ArrayView {
 public:
  ArrayView(const storage::MemoryStorage& storage, std::string folder, const Json& array)
      : storage_(storage),
        folder_(std::move(folder)),
        shape_(array.at("shape").get<Numbers>()),
        starts_(starts_of(shape_, array.at("chunk_grid").at("configuration"))),
        element_bytes_(element_bytes(array.at("data_type").get<std::string>())) {
    Json codecs = array.at("codecs");
    is_sharded_ = codecs.at(0).at("name") == "sharding_indexed";
    if (is_sharded_) {
      const Json sharding = codecs.at(0).at("configuration");
      inner_ = sharding.at("chunk_shape").get<Numbers>();
      is_index_first_ = sharding.value("index_location", "end") == "start";
      codecs = sharding.at("codecs");
    }
    is_plain_ = codecs.size() == 1;
  }

  std::uint64_t digest() {
    Numbers grid;
    for (const Numbers& along : starts_) {
      grid.push_back(along.size() - 1);
    }
    for (std::uint64_t i = 0; i < count_of(grid); ++i) {
      take_object(position(i, grid));
    }
    return digest_.value();
  }

 private:
  void take_object(const Numbers& at) {
    std::string name = folder_ + "/c";
    for (const std::uint64_t n : at) {
      name += "." + std::to_string(n);
    }
    const auto paths = storage_.paths();
    if (!std::binary_search(paths.begin(), paths.end(), name)) {
      return;  // fill values
    }
    const Bytes bytes = storage_.contents(name);
    digest_.update(std::as_bytes(std::span(at)));
    Numbers origin;
    Numbers chunk;
    for (std::size_t d = 0; d < at.size(); ++d) {
      origin.push_back(starts_[d].at(at[d]));
      chunk.push_back(starts_[d].at(at[d] + 1) - origin.back());
    }
    if (!is_sharded_) {
      inner_ = chunk;
      take_chunk(origin, bytes, name);
      return;
    }
    const Numbers grid = grid_over(chunk, inner_);
    const std::uint64_t index_bytes = count_of(grid) * 16;
    if (bytes.size() < index_bytes + 4) {
      throw std::runtime_error(name + ": too short for its index");
    }
    const auto index = std::span(bytes).subspan(
        is_index_first_ ? 0 : bytes.size() - index_bytes - 4, index_bytes + 4);
    std::uint32_t sum = 0;
    std::memcpy(&sum, index.data() + index_bytes, sizeof sum);
    if (sum != codec::crc32c(index.first(index_bytes))) {
      throw std::runtime_error(name + ": the index does not match its checksum");
    }
    for (std::uint64_t i = 0; i < count_of(grid); ++i) {
      std::uint64_t entry[2];
      std::memcpy(entry, index.data() + i * sizeof entry, sizeof entry);
      if (entry[0] == no_chunk && entry[1] == no_chunk) {
        continue;
      }
      if (entry[0] > bytes.size() || entry[1] > bytes.size() - entry[0]) {
        throw std::runtime_error(name + ": the index points behind its end");
      }
      Numbers start = scaled(position(i, grid), inner_);
      for (std::size_t d = 0; d < start.size(); ++d) {
        start[d] += origin[d];
      }
      take_chunk(start, std::span(bytes).subspan(entry[0], entry[1]), name);
    }
  }

  /// Is it inside the array? The rest of a chunk is undefined.
  void take_chunk(const Numbers& origin, std::span<const std::byte> bytes,
                  const std::string& name) {
    if (!is_plain_) {
      digest_.update(bytes);
      return;
    }
    if (bytes.size() != count_of(inner_) * element_bytes_) {
      throw std::runtime_error(name + ": a chunk of " + std::to_string(bytes.size()) + " bytes");
    }
    const std::uint64_t row = inner_.empty() ? 1 : inner_.back();
    for (std::uint64_t first = 0; first < count_of(inner_); first += row) {
      Numbers at = position(first, inner_);
      bool is_inside = true;
      for (std::size_t d = 0; d < at.size(); ++d) {
        at[d] += origin[d];
        is_inside = is_inside && at[d] < shape_[d];
      }
      if (is_inside) {
        const std::uint64_t count = at.empty() ? 1 : std::min(row, shape_.back() - at.back());
        digest_.update(bytes.subspan(first * element_bytes_, count * element_bytes_));
      }
    }
  }

  const storage::MemoryStorage& storage_;
  const std::string folder_;
  const Numbers shape_;
  const std::vector<Numbers> starts_;  ///< of objects along each dimension, and where they end
  Numbers inner_;
  const std::uint64_t element_bytes_;
  bool is_sharded_ = false;
  bool is_index_first_ = false;
  bool is_plain_ = false;
  codec::Checksum digest_;
};

}  // namespace

bool is_store_there(storage::MemoryStorage& storage, const std::string& path) {
  return storage.exists(path + "/zarr.json") ||
         storage.exists(path + "/" + layout::format_named("icechunk").manifest);
}

std::optional<Snapshot> plain_store_snapshot(const storage::MemoryStorage& storage,
                                             const std::string& path) {
  const auto paths = storage.paths();
  if (!std::binary_search(paths.begin(), paths.end(), path + "/zarr.json")) {
    return std::nullopt;
  }
  const Json root = document(storage, path + "/zarr.json");
  Snapshot snapshot;
  const auto take = [&](const std::string& name, const Json& node) {
    const std::string text = node.dump();
    snapshot.items[name + " document"] = codec::checksum(std::as_bytes(std::span(text)));
  };
  take("root attributes", root.at("attributes"));
  for (const auto& [name, node] : root.at("consolidated_metadata").at("metadata").items()) {
    take(name, node);
    if (node.at("node_type") == "array") {
      snapshot.items[name + " values"] = ArrayView(storage, path + "/" + name, node).digest();
    }
  }
  return snapshot;
}

std::string stale_document(storage::MemoryStorage& storage, const std::string& path) {
  if (!storage.exists(path + "/zarr.json")) {
    return "";  // a repository has each document once
  }
  const Json root = document(storage, path + "/zarr.json");
  for (const auto& [name, node] : root.at("consolidated_metadata").at("metadata").items()) {
    const std::string file = path + "/" + name + "/zarr.json";
    if (!storage.exists(file) || document(storage, file) != node) {
      return file;
    }
  }
  return "";
}

}  // namespace sluice::test
