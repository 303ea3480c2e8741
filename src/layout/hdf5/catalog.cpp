#include "layout/hdf5/catalog.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "layout/hdf5/types.hpp"

namespace sluice::layout::hdf5 {

using model::Box;
using model::Dims;

namespace {

/// Files below this are not worth a number in the message.
constexpr std::array<unsigned char, 8> signature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

/// HDF5 allows the signature at 0, 512, 1024, ... (behind a user block).
bool has_signature(storage::File& file) {
  const std::uint64_t size = file.size();
  for (std::uint64_t at = 0; at + signature.size() <= size; at = at == 0 ? 512 : at * 2) {
    std::array<std::byte, signature.size()> bytes{};
    if (file.read(at, bytes) == bytes.size() &&
        std::memcmp(bytes.data(), signature.data(), signature.size()) == 0) {
      return true;
    }
  }
  return false;
}

struct Extents {
  Dims dims;
  Dims limits;
};

Extents extents_of(hid_t space) {
  Extents extents;
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank > model::max_rank) {
    return extents;
  }
  std::array<hsize_t, model::max_rank> dims{};
  std::array<hsize_t, model::max_rank> limits{};
  H5Sget_simple_extent_dims(space, dims.data(), limits.data());
  for (int d = 0; d < rank; ++d) {
    extents.dims.push_back(dims[static_cast<std::size_t>(d)]);
    extents.limits.push_back(limits[static_cast<std::size_t>(d)]);
  }
  return extents;
}

void read_fill(hid_t list, model::Definition& definition) {
  H5D_fill_value_t state = H5D_FILL_VALUE_UNDEFINED;
  if (H5Pfill_value_defined(list, &state) < 0 || state != H5D_FILL_VALUE_USER_DEFINED) {
    return;
  }
  definition.partial = true;
  if (H5Pget_fill_value(list, H5T_NATIVE_DOUBLE, &definition.fill) < 0) {
    definition.fill = 0;  // strings, booleans and complex numbers are filled with zeros
  }
}

std::string filter_name(H5Z_filter_t id) {
  switch (id) {
    case H5Z_FILTER_DEFLATE:
      return "deflate";
    case H5Z_FILTER_SHUFFLE:
      return "shuffle";
    case H5Z_FILTER_FLETCHER32:
      return "fletcher32";
    case H5Z_FILTER_SZIP:
      return "szip";
    case H5Z_FILTER_NBIT:
      return "nbit";
    case H5Z_FILTER_SCALEOFFSET:
      return "scaleoffset";
    default:
      return "filter " + std::to_string(id);
  }
}

std::string storage_text(hid_t list) {
  if (H5Pget_external_count(list) > 0) {
    return "external";
  }
  switch (H5Pget_layout(list)) {
    case H5D_CONTIGUOUS:
      return "contiguous";
    case H5D_COMPACT:
      return "compact";
    case H5D_VIRTUAL:
      return "virtual";
    default:
      break;
  }
  std::string text = "chunked";
  const int filters = H5Pget_nfilters(list);
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    unsigned config = 0;
    std::size_t values = 0;
    text += ", " + filter_name(H5Pget_filter2(list, static_cast<unsigned>(i), &flags, &values,
                                              nullptr, 0, nullptr, &config));
  }
  return text;
}

/// What to call a type that has no Sluice counterpart.
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

}  // namespace

std::unique_ptr<Catalog> Catalog::open(storage::File& file) {
  std::unique_ptr<Catalog> catalog(new Catalog);
  catalog->open_file(file);
  catalog->load_log();
  catalog->list_datasets();
  return catalog;
}

void Catalog::open_file(storage::File& file) {
  if (!has_signature(file)) {
    throw Error(Code::format, file.path() + ": not an HDF5 file (no signature)");
  }
  const QuietErrors quiet;
  state_.file = &file;
  const Handle access = access_list(state_);
  const hid_t opened = H5Fopen(file.path().c_str(), H5F_ACC_RDONLY, access.get());
  if (opened < 0) {
    const std::string why = last_error();
    const bool is_short = why.find("truncated") != std::string::npos;
    throw Error(is_short ? Code::truncated : Code::format,
                file.path() + ": cannot be opened: libhdf5: " + why);
  }
  hdf5_ = Handle(opened);
}

void Catalog::require_ours() const {
  if (!ours_) {
    throw Error(Code::format,
                state_.file->path() + ": not written by Sluice: steps cannot be appended to it");
  }
}

void Catalog::load_log() {
  const QuietErrors quiet;
  if (H5Lexists(hdf5_.get(), group_name, H5P_DEFAULT) <= 0 ||
      H5Lexists(hdf5_.get(), commits_name, H5P_DEFAULT) <= 0) {
    return;
  }
  const Handle group = own(H5Gopen2(hdf5_.get(), group_name, H5P_DEFAULT), group_name);
  const auto major = read_attribute(group.get(), "format_major");
  const auto* number = major ? std::get_if<std::int32_t>(&*major) : nullptr;
  if (number == nullptr) {
    throw Error(Code::format, state_.file->path() + ": /sluice has no format version");
  }
  if (*number > format_major) {
    throw Error(Code::version, state_.file->path() + ": written by Sluice format " +
                                   std::to_string(*number) + ".x, this library reads up to " +
                                   std::to_string(format_major) + ".x: use a newer Sluice");
  }
  ours_ = true;
  const Handle dataset = own(H5Dopen2(hdf5_.get(), commits_name, H5P_DEFAULT), commits_name);
  const Handle space = own(H5Dget_space(dataset.get()), commits_name);
  const Extents extents = extents_of(space.get());
  if (extents.dims.rank() != 2 || extents.dims[1] != CommitRow::words) {
    throw Error(Code::damaged, state_.file->path() + ": /sluice/commits has a wrong shape");
  }
  // A row is 64 bytes of the file: a table that claims more than the file holds is damaged.
  if (extents.dims[0] > state_.file->size() / (CommitRow::words * 8)) {
    throw Error(Code::damaged, state_.file->path() + ": /sluice/commits claims too many rows");
  }
  std::vector<std::uint64_t> words(extents.dims.volume());
  if (!words.empty()) {
    check(H5Dread(dataset.get(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, words.data()),
          commits_name);
  }
  for (std::size_t at = 0; at < words.size(); at += CommitRow::words) {
    commits_.push_back(CommitRow::unpack(&words[at]));
    if (commits_.back().step != CommitRow::no_step) {
      // Steps come one after the other; a number from a damaged row would be taken as a size.
      if (commits_.back().step > steps_) {
        throw Error(Code::damaged, state_.file->path() + ": /sluice/commits skips a step");
      }
      steps_ = commits_.back().step + 1;
    }
  }
  if (H5Lexists(hdf5_.get(), checksums_name, H5P_DEFAULT) > 0) {
    const Handle sums = own(H5Dopen2(hdf5_.get(), checksums_name, H5P_DEFAULT), checksums_name);
    const Handle list = own(H5Dget_create_plist(sums.get()), checksums_name);
    hsize_t chunk = 0;
    if (H5Pget_layout(list.get()) == H5D_CHUNKED && H5Pget_chunk(list.get(), 1, &chunk) == 1) {
      const Handle sums_space = own(H5Dget_space(sums.get()), checksums_name);
      checksum_chunk_words_ = chunk;
      checksum_chunks_ = extents_of(sums_space.get()).dims[0] / chunk;
    }
  }
}

herr_t Catalog::visit(hid_t, const char* name, const H5O_info_t* info, void* into) {
  if (info->type == H5O_TYPE_DATASET) {
    static_cast<std::vector<std::string>*>(into)->emplace_back(name);
  }
  return 0;
}

void Catalog::list_datasets() {
  const QuietErrors quiet;
  std::vector<std::string> paths;
#if H5_VERSION_GE(1, 12, 0)
  auto forward = [](hid_t object, const char* name, const H5O_info2_t* info, void* data) {
    H5O_info_t old{};
    old.type = info->type;
    return visit(object, name, &old, data);
  };
  check(H5Ovisit3(hdf5_.get(), H5_INDEX_NAME, H5_ITER_NATIVE, forward, &paths, H5O_INFO_BASIC),
        state_.file->path());
#else
  check(H5Ovisit2(hdf5_.get(), H5_INDEX_NAME, H5_ITER_NATIVE, visit, &paths, H5O_INFO_BASIC),
        state_.file->path());
#endif
  for (const std::string& path : paths) {
    if (path.rfind(std::string(group_name) + "/", 0) != 0) {
      add_dataset(path);
    }
  }
  has_time_ = ours_ && H5Lexists(hdf5_.get(), time_name, H5P_DEFAULT) > 0;
}

void Catalog::add_dataset(const std::string& path) {
  const Handle dataset = own(H5Dopen2(hdf5_.get(), path.c_str(), H5P_DEFAULT), path);
  const Handle type = own(H5Dget_type(dataset.get()), path);
  const Handle space = own(H5Dget_space(dataset.get()), path);
  const Handle list = own(H5Dget_create_plist(dataset.get()), path);
  const auto stored = stored_type(type.get());
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (!stored || rank < 0 || rank > model::max_rank ||
      H5Sget_simple_extent_type(space.get()) == H5S_NULL) {
    const bool is_null = H5Sget_simple_extent_type(space.get()) == H5S_NULL;
    unreadable_.push_back({path, !stored   ? foreign_type(type.get())
                                 : is_null ? "no data (null dataspace)"
                                           : "more than 8 dimensions"});
    return;
  }
  StoredVariable variable;
  model::Definition& definition = variable.definition;
  definition.name = path;
  definition.type = stored->type;
  variable.big_endian = stored->big_endian;
  const Extents extents = extents_of(space.get());
  Dims chunk = extents.dims;
  const H5D_layout_t layout = H5Pget_layout(list.get());
  if (layout == H5D_CHUNKED) {
    std::array<hsize_t, model::max_rank> c{};
    H5Pget_chunk(list.get(), model::max_rank, c.data());
    chunk = Dims(std::span<const std::uint64_t>(reinterpret_cast<const std::uint64_t*>(c.data()),
                                                static_cast<std::size_t>(rank)));
  }
  definition.stepped = ours_ && layout == H5D_CHUNKED && extents.limits[0] == H5S_UNLIMITED &&
                       chunk[0] == 1 && path != time_name;
  definition.shape = definition.stepped ? extents.dims.without_front() : extents.dims;
  variable.tile = definition.stepped ? chunk.without_front() : chunk;
  const bool plain = H5Pget_nfilters(list.get()) == 0 && H5Pget_external_count(list.get()) == 0;
  variable.placeable = plain && (layout == H5D_CHUNKED || layout == H5D_CONTIGUOUS);
  variable.storage = storage_text(list.get());
  read_fill(list.get(), definition);
  variables_.push_back(std::move(variable));
}

hid_t Catalog::dataset(std::uint32_t variable) {
  Handle& handle = open_datasets_[variable];
  if (!handle) {
    const std::string& name = variables_[variable].definition.name;
    const Handle access = own(H5Pcreate(H5P_DATASET_ACCESS), name);
    handle = own(H5Dopen2(hdf5_.get(), name.c_str(), access.get()), name);
  }
  return handle.get();
}

}  // namespace sluice::layout::hdf5
