#include "layout/hdf5/dataset_facts.hpp"

#include <algorithm>
#include <array>

#include "codec/plugins.hpp"

namespace sluice::layout::hdf5 {

using model::Dims;

Extents extents_of(hid_t space) {
  Extents extents;
  const auto rank = static_cast<int>(checked(H5Sget_simple_extent_ndims(space), "dataspace"));
  if (rank > model::max_rank) {
    return extents;
  }
  std::array<hsize_t, model::max_rank> dims{};
  std::array<hsize_t, model::max_rank> limits{};
  checked(H5Sget_simple_extent_dims(space, dims.data(), limits.data()), "dataspace");
  for (int d = 0; d < rank; ++d) {
    extents.dims.push_back(dims[static_cast<std::size_t>(d)]);
    extents.limits.push_back(limits[static_cast<std::size_t>(d)]);
  }
  return extents;
}

namespace {

std::string filter_name(const codec::Filter& filter) {
  switch (filter.id) {
    case H5Z_FILTER_DEFLATE:
      return "deflate";  // even in a build that cannot decode it
    case H5Z_FILTER_SZIP:
      return "szip";
    case H5Z_FILTER_NBIT:
      return "nbit";
    case H5Z_FILTER_SCALEOFFSET:
      return "scaleoffset";
    default:
      break;
  }
  if (codec::is_plugin(filter.id)) {
    return codec::plugin_name(filter.id) + codec::loss_of({filter});
  }
  const auto method = codec::find_method(filter.id);
  return method ? method->name : "filter " + std::to_string(filter.id);
}

}  // namespace

codec::Pipeline all_filters_of(hid_t list) {
  codec::Pipeline filters;
  const hid_t count_of_filters = checked(H5Pget_nfilters(list), "filters");
  for (int i = 0; i < count_of_filters; ++i) {
    unsigned flags = 0;
    unsigned config = 0;
    std::array<unsigned, codec::most_filter_values> values{};
    std::size_t count = values.size();
    const H5Z_filter_t id = H5Pget_filter2(list, static_cast<unsigned>(i), &flags, &count,
                                           values.data(), 0, nullptr, &config);
    checked(id, "filters");
    const auto used = static_cast<std::ptrdiff_t>(std::min(count, values.size()));
    filters.push_back({static_cast<std::uint32_t>(id), {values.begin(), values.begin() + used}});
  }
  return filters;
}

codec::Pipeline filters_of(hid_t list) {
  codec::Pipeline filters = all_filters_of(list);
  // There may be more values than fit: it is not known what they mean.
  const bool is_whole =
      std::all_of(filters.begin(), filters.end(), [](const codec::Filter& filter) {
        return filter.parameters.size() < codec::most_filter_values;
      });
  return is_whole && codec::can_decode(filters) ? filters : codec::Pipeline{};
}

Dims chunk_of(hid_t list, int rank, const std::string& path) {
  std::array<hsize_t, model::max_rank> chunk{};
  if (checked(H5Pget_chunk(list, model::max_rank, chunk.data()), path) != rank) {
    throw Error(Code::damaged, path + ": its chunks have another number of dimensions");
  }
  return Dims(std::span<const std::uint64_t>(reinterpret_cast<const std::uint64_t*>(chunk.data()),
                                             static_cast<std::size_t>(rank)));
}

bool has_plain_edges(hid_t dataset, const std::string& path) {
  const Handle list = own(H5Dget_create_plist(dataset), path);
  unsigned options = 0;
  check(H5Pget_chunk_opts(list.get(), &options), path);
  return (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0;
}

std::uint64_t most_own_words(hid_t list, std::uint64_t file_bytes) {
  // No filter makes less of them: 8 bytes of a row of 64 are a checksum, and 4 of a record of
  // checksums, which has at most 152. A greater limit would let a small file take much memory.
  constexpr std::uint64_t least_share = 64;
  const std::uint64_t words = file_bytes / sizeof(std::uint64_t);
  return checked(H5Pget_nfilters(list), "filters") == 0 ? words : words * least_share;
}

std::string storage_text(hid_t list) {
  if (checked(H5Pget_external_count(list), "external files") > 0) {
    return "external";
  }
  switch (H5Pget_layout(list)) {
    case H5D_CONTIGUOUS:
      return "contiguous";
    case H5D_COMPACT:
      return "compact";
    case H5D_VIRTUAL:
      return "virtual";
    case H5D_LAYOUT_ERROR:
      throw library_error("layout");
    default:
      break;
  }
  std::string text = "chunked";
  for (const codec::Filter& filter : all_filters_of(list)) {
    text += ", " + filter_name(filter);
  }
  return text;
}

std::string foreign_type(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_STRING:
      return "variable-length strings";
    case H5T_COMPOUND:
      return "compound";
    case H5T_ENUM:
      return "enumeration";
    case H5T_VLEN:
      return "variable-length lists";
    case H5T_REFERENCE:
      return "references";
    case H5T_OPAQUE:
      return "opaque";
    case H5T_ARRAY:
      return "arrays as elements";
    case H5T_INTEGER:
    case H5T_FLOAT:
    case H5T_BITFIELD:
      return "numbers of " + std::to_string(8 * H5Tget_size(type)) + " bits, unusual layout";
    default:
      return "unknown";
  }
}

}  // namespace sluice::layout::hdf5
