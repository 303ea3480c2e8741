#include "commit/tools/virtualize.hpp"

#include <algorithm>
#include <set>

#include "commit/publish/recovery.hpp"
#include "commit/tools/unread.hpp"
#include "layout/formats/formats.hpp"
#include "layout/formats/stores.hpp"
#include "layout/netcdf4/rules.hpp"
#include "layout/zarr/fill_value.hpp"
#include "layout/zarr/metadata.hpp"
#include "layout/zarr/version2.hpp"
#include "model/fill_attribute.hpp"
#include "model/name.hpp"
#include "model/type_names.hpp"
#include "sluice/error.hpp"

namespace sluice::commit {

using layout::EncodedTiles;
using layout::StoredVariable;
using layout::zarr::Json;
using model::Dims;

namespace {

/// Contiguous data is divided into chunks of this size at most, where that needs no partial one.
constexpr std::uint64_t most_contiguous_bytes = 64ULL << 20;
/// So many chunks at most where one would be of that size.
constexpr std::uint64_t most_parts_each = 16;

class References {
 public:
  References(layout::Catalog& catalog, std::string url) : catalog_(catalog), url_(std::move(url)) {}

  Virtualized make() {
    refs_[".zgroup"] = group;
    attributes_ = catalog_.attributes();
    layout::show_owners(catalog_.variables(), attributes_);
    put_attributes("", Json::object());
    for (std::uint32_t v = 0; v < catalog_.variables().size(); ++v) {
      const std::string& name = layout::shown_name(catalog_.variables()[v]);
      if (const std::string why = put(v); !why.empty()) {
        result_.left_out.emplace_back(name, why);
      } else {
        put_groups(name);
        ++result_.variables;
      }
    }
    put_other_groups();
    for (const layout::UnreadableDataset& other : unreadable_in(catalog_)) {
      result_.left_out.emplace_back(other.name, other.type);
    }
    const Json root{{"version", 1}, {"refs", std::move(refs_)}};
    result_.text = root.dump(1, ' ', false, Json::error_handler_t::replace);
    return std::move(result_);
  }

 private:
  static constexpr const char* group = "{\"zarr_format\": 2}";

  /// Every group on the way to a node.
  void put_groups(const std::string& name) {
    for (std::size_t at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
      const std::string node = name.substr(0, at);
      if (groups_.insert(node).second) {
        refs_[node + "/.zgroup"] = group;
        put_attributes(node, Json::object());
      }
    }
  }

  /// Those with attributes and without a variable that is referred to.
  void put_other_groups() {
    std::set<std::string> variables;
    for (const StoredVariable& stored : catalog_.variables()) {
      variables.insert(layout::shown_name(stored));
    }
    for (const model::Attribute& attribute : attributes_) {
      if (!attribute.owner.empty() && variables.count(attribute.owner) == 0) {
        put_groups(attribute.owner + "/");
      }
    }
  }

  void put_attributes(const std::string& node, Json attributes) {
    for (const model::Attribute& attribute : attributes_) {
      if (attribute.owner == node) {
        attributes[attribute.name] = layout::zarr::json_of(attribute.value);
      }
    }
    if (!attributes.empty()) {
      refs_[(node.empty() ? "" : node + "/") + ".zattrs"] =
          attributes.dump(-1, ' ', false, Json::error_handler_t::replace);
    }
  }

  /// Why it cannot be referred to; "" where it is.
  std::string put(std::uint32_t v) {
    const StoredVariable& stored = catalog_.variables()[v];
    const model::Definition& d = stored.definition;
    const auto filters = layout::zarr::numcodecs_filters(stored.filters);
    if (!stored.placeable && stored.filters.empty()) {
      return "is stored " + stored.storage + ", not in chunks of this file";
    }
    if (!filters) {
      return "is stored " + stored.storage + ": numcodecs lacks a filter of these";
    }
    const std::string dtype = model::numpy_type(d.type, stored.big_endian);
    const bool is_line = stored.filters.empty() && stored.tile == d.shape && !d.shape.empty();
    const std::uint64_t parts = is_line ? parts_of(d) : 1;
    Json chunks;
    has_holes_ = d.shape.volume() == 0;
    if (std::string why = chunks_of(v, parts, chunks); !why.empty()) {
      return why;
    }
    put_array(stored, dtype, *filters, parts);
    const std::string folder = layout::shown_name(stored) + "/";
    for (auto& [key, range] : chunks.items()) {
      refs_[folder + key] = range;
      ++result_.chunks;
    }
    return "";
  }

  /// In how many equal parts contiguous data divides along its slowest dimension: one where no
  /// number of parts near the least one divides it, as of a prime number of rows.
  static std::uint64_t parts_of(const model::Definition& d) {
    const std::uint64_t bytes = d.bytes_per_step();
    if (bytes <= most_contiguous_bytes) {
      return 1;
    }
    const std::uint64_t least = bytes / most_contiguous_bytes + 1;
    const std::uint64_t most = std::min(d.shape[0], least * most_parts_each);
    for (std::uint64_t parts = least; parts <= most; ++parts) {
      if (d.shape[0] % parts == 0) {
        return parts;
      }
    }
    return 1;
  }

  void put_array(const StoredVariable& stored, const std::string& dtype, const Json& filters,
                 std::uint64_t parts) {
    const model::Definition& d = stored.definition;
    Dims shape = d.shape;
    Dims chunk = stored.tile;
    if (parts > 1) {
      chunk[0] /= parts;
    }
    for (int i = 0; i < chunk.rank(); ++i) {
      chunk[i] = std::max<std::uint64_t>(1, chunk[i]);
    }
    if (d.stepped) {
      shape = shape.with_front(catalog_.steps());
      chunk = chunk.with_front(1);
    }
    // Only where it is needed: xarray takes elements of this value for missing. Also where nobody
    // asked for it (hdf5/fill): what is not there reads as it all the same.
    const bool has_fill = has_holes_ && d.type.kind != Kind::string && says_fill(d);
    const Json array{{"zarr_format", 2},
                     {"shape", std::vector<std::uint64_t>(shape.begin(), shape.end())},
                     {"chunks", std::vector<std::uint64_t>(chunk.begin(), chunk.end())},
                     {"dtype", dtype},
                     {"order", "C"},
                     {"fill_value", has_fill ? layout::zarr::fill_json(d.fill, d.type) : Json()},
                     {"filters", filters.empty() ? Json() : filters},
                     {"compressor", Json()}};
    refs_[layout::shown_name(stored) + "/.zarray"] = array.dump();
    Json names = Json::array();
    for (const layout::netcdf4::Use& use : layout::netcdf4::uses_of(d)) {
      names.push_back(use.name);
    }
    if (names.size() > static_cast<std::size_t>(shape.rank())) {
      names.erase(names.size() - 1);  // of the letters of text
    }
    put_attributes(layout::shown_name(stored), {{"_ARRAY_DIMENSIONS", std::move(names)}});
  }

  /// Must the array say what absent chunks read as? Readers take zeros without it, so only where
  /// that is another value, or where zeros are missing values of this variable.
  bool says_fill(const model::Definition& d) const {
    return !d.fill.empty() || std::any_of(attributes_.begin(), attributes_.end(), [&](auto& a) {
      return a.owner == d.name && a.name == model::fill_attribute_name;
    });
  }

  std::string chunks_of(std::uint32_t v, std::uint64_t parts, Json& chunks) {
    const StoredVariable& stored = catalog_.variables()[v];
    const model::Definition& d = stored.definition;
    const std::uint64_t steps = d.stepped ? catalog_.steps() : 1;
    for (std::uint64_t step = 0; step < steps && d.shape.volume() != 0; ++step) {
      EncodedTiles tiles;
      if (stored.filters.empty()) {
        tiles.placement = catalog_.locate(v, step, model::whole(d.shape));
      } else {
        tiles = catalog_.locate_encoded(v, step, model::whole(d.shape));
      }
      const layout::Placement& placement = tiles.placement;
      has_holes_ = has_holes_ || placement.entries() < placement.tiles();
      for (std::uint64_t entry = 0; entry < placement.entries(); ++entry) {
        const std::uint64_t tile = placement.tile_at(entry);
        if (placement.address(tile) == layout::absent) {
          has_holes_ = true;
          continue;
        }
        if (!tiles.masks.empty() && tiles.masks[entry] != 0) {
          return "has chunks that its filters did not shrink, and so left as they were";
        }
        Dims at;
        const Dims start = placement.tile_box(tile).start;
        for (int i = 0; i < start.rank(); ++i) {
          at.push_back(start[i] / placement.tile()[i]);
        }
        const std::uint64_t bytes =
            tiles.sizes.empty() ? placement.tile_bytes() : tiles.sizes[entry];
        for (std::uint64_t part = 0; part < parts; ++part) {
          if (parts > 1) {
            at[0] = part;
          }
          layout::zarr::Array array;
          array.prefixed = false;
          const std::string key = array.object_name(d.stepped ? at.with_front(step) : at);
          chunks[key] =
              Json::array({url_, placement.address(tile) + part * (bytes / parts), bytes / parts});
        }
      }
    }
    return "";
  }

  layout::Catalog& catalog_;
  const std::string url_;
  std::vector<model::Attribute> attributes_;
  std::set<std::string> groups_;
  bool has_holes_ = false;  ///< of the variable that is being put: chunks that the file lacks
  nlohmann::json refs_ = nlohmann::json::object();  // sorted: there may be many
  Virtualized result_;
};

}  // namespace

Virtualized virtualize(storage::Storage& storage, const std::string& path, const std::string& url) {
  // JSON has no other text: references to other bytes would name a file that does not exist.
  if (!model::is_utf8(url)) {
    throw Error(Code::bad_name, path + ": the URL " + model::quoted(url) +
                                    " is not UTF-8, as references have to be: name the file "
                                    "otherwise (--url), or rename it");
  }
  if (layout::is_store(storage, path)) {
    throw Error(Code::unsupported, path + ": is a Zarr store, which readers of Zarr open as it is");
  }
  std::unique_ptr<layout::Catalog> catalog;
  const Committed committed = open_committed(storage, path, [&](storage::File& file) {
    catalog.reset();
    catalog = layout::open_catalog(layout::format_in(file, "auto"), file);
  });
  if (catalog->set() != nullptr) {
    throw Error(
        Code::unsupported,
        path + ": is the index of a set of parts: make one file of them with `sluice merge`");
  }
  if (committed.file->objects() != nullptr) {
    throw Error(Code::unsupported, path + ": is a reference file itself");
  }
  return References(*catalog, url).make();
}

}  // namespace sluice::commit
