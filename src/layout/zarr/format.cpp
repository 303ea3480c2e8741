#include "layout/zarr/format.hpp"

#include <algorithm>

#include "layout/encoding.hpp"
#include "layout/zarr/catalog.hpp"
#include "layout/zarr/planner.hpp"
#include "layout/zarr/references.hpp"
#include "layout/zarr/version2.hpp"
#include "model/name.hpp"
#include "model/reserved_name.hpp"

namespace sluice::layout::zarr {

namespace {

/// c-blosc decodes blocks up to (INT_MAX - 255 * 4) / 3 bytes, and a chunk is written as one block.
constexpr std::uint64_t most_blosc_bytes = 715'827'542;

/// Of the chunk that is asked for, as far as the variable fills it; 0: the library chooses one.
std::uint64_t chunk_bytes(const model::Definition& d) {
  if (d.chunk.empty() || d.chunk.rank() != d.shape.rank()) {
    return 0;
  }
  std::uint64_t bytes = d.type.bytes;
  for (int i = 0; i < d.chunk.rank(); ++i) {
    const std::uint64_t extent = std::max<std::uint64_t>(1, d.shape[i]);
    bytes = model::checked_product(bytes, std::min(d.chunk[i], extent), "chunk");
  }
  return bytes;
}

}  // namespace

std::string refuse_name(const std::string& name) {
  if (name.find('\\') != std::string::npos) {
    return "holds no name with a backslash, which its programs take for a slash";
  }
  if (("/" + name + "/").find("/" + std::string(document_name) + "/") != std::string::npos) {
    return "has documents of its own called " + std::string(document_name) +
           ", so that no variable or group can be";
  }
  return "";
}

std::string refuse_definition(const model::Definition& definition) {
  if (is_encoded(definition) && chunk_bytes(definition) > most_blosc_bytes) {
    throw Error(Code::unsupported,
                "define " + definition.name + ": a compressed chunk of " +
                    std::to_string(chunk_bytes(definition)) +
                    " bytes: Blosc, by which Zarr stores are compressed, decodes at most " +
                    std::to_string(most_blosc_bytes) + ": choose smaller chunks, or compress none");
  }
  if (model::is_reserved(definition.name)) {
    throw Error(Code::bad_name, "define " + definition.name +
                                    ": Zarr stores keep the group sluice: choose another name");
  }
  return refuse_name(definition.name);
}

std::string refuse_attribute(const model::Attribute& attribute) {
  if (attribute.owner.empty() && attribute.name == "sluice") {
    throw Error(Code::bad_name, "attribute sluice: Zarr stores keep this name: choose another");
  }
  if (std::string why = refuse_name(attribute.owner); !why.empty()) {
    return why;
  }
  const auto* text = std::get_if<std::string>(&attribute.value);
  const auto* texts = std::get_if<std::vector<std::string>>(&attribute.value);
  const bool is_readable =
      (text == nullptr || model::is_utf8(*text)) &&
      (texts == nullptr || std::all_of(texts->begin(), texts->end(), model::is_utf8));
  return is_readable ? "" : "holds text as UTF-8, which this is not";
}

constinit const Format format_row{
    .name = "zarr",
    .option = "zarr",
    .endings = ".zarr",
    .many = true,
    .names = true,
    .attributes = true,
    .times = true,
    .time_variable = true,
    .checksums = true,
    .tiled = true,
    .varying = true,
    .length_variable = true,
    .text = false,
    .complex = true,
    .compress = true,
    .quantization = true,
    .rectilinear = true,
    .manifest = document_name,
    .read_manifests = version2_documents,
    .references = references_ending,
    .most_tile_bytes = most_tile_bytes,
    .instead = "use format hdf5 or netcdf4",
    .create = [](storage::File& file, const PlannerOptions& options) -> std::unique_ptr<Planner> {
      return ZarrPlanner::create(file, options);
    },
    .append = [](storage::File& file, const PlannerOptions& options) -> std::unique_ptr<Planner> {
      return ZarrPlanner::append(file, options);
    },
    .open = [](storage::File& file) -> std::unique_ptr<Catalog> { return ZarrCatalog::open(file); },
    .match = [](storage::File& file) { return is_zarr(file) ? Match::certain : Match::none; },
    .refuse_definition = refuse_definition,
    .refuse_attribute = refuse_attribute,
    .filters = pipeline_in_zarr,
    .stale_documents = stale_documents,
};

}  // namespace sluice::layout::zarr
