#include "layout/hdf5/catalog.hpp"

#include <algorithm>
#include <array>

#include "layout/hdf5/fill.hpp"
#include "layout/hdf5/index.hpp"
#include "layout/hdf5/signature.hpp"
#include "layout/hdf5/types.hpp"
#include "layout/netcdf4/scales.hpp"

namespace sluice::layout::hdf5 {

using model::Dims;

namespace {

/// The path of what is called `below` under `above`; "." is `above` itself.
std::string joined(const std::string& above, const std::string& below) {
  if (below == ".") {
    return above;
  }
  std::string path = above;
  if (!path.empty()) {
    path += '/';
  }
  return path.append(below);
}

/// A longer last dimension of characters is no text's.
constexpr std::uint64_t most_characters = 1 << 20;

Dims without_back(const Dims& dims) {
  return Dims(std::span<const std::uint64_t>(dims.begin(), dims.end() - 1));
}

struct Extents {
  Dims dims;
  Dims limits;
};

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

std::string filter_name(H5Z_filter_t id) {
  switch (id) {
    case H5Z_FILTER_DEFLATE:
      return "deflate";  // also in a build that cannot decode it
    case H5Z_FILTER_SZIP:
      return "szip";
    case H5Z_FILTER_NBIT:
      return "nbit";
    case H5Z_FILTER_SCALEOFFSET:
      return "scaleoffset";
    default:
      const auto method = codec::find_method(static_cast<std::uint32_t>(id));
      return method ? method->name : "filter " + std::to_string(id);
  }
}

/// Those of a dataset, where all of them can be undone here.
codec::Pipeline filters_of(hid_t list) {
  codec::Pipeline filters;
  const hid_t count_of_filters = checked(H5Pget_nfilters(list), "filters");
  for (int i = 0; i < count_of_filters; ++i) {
    unsigned flags = 0;
    unsigned config = 0;
    std::array<unsigned, 32> values{};
    std::size_t count = values.size();
    const H5Z_filter_t id = H5Pget_filter2(list, static_cast<unsigned>(i), &flags, &count,
                                           values.data(), 0, nullptr, &config);
    checked(id, "filters");
    const auto used = static_cast<std::ptrdiff_t>(std::min(count, values.size()));
    filters.push_back({static_cast<std::uint32_t>(id), {values.begin(), values.begin() + used}});
  }
  return codec::can_decode(filters) ? filters : codec::Pipeline{};
}

Dims chunk_of(hid_t list, int rank, const std::string& path) {
  std::array<hsize_t, model::max_rank> chunk{};
  if (checked(H5Pget_chunk(list, model::max_rank, chunk.data()), path) != rank) {
    throw Error(Code::damaged, path + ": its chunks have another number of dimensions");
  }
  return Dims(std::span<const std::uint64_t>(reinterpret_cast<const std::uint64_t*>(chunk.data()),
                                             static_cast<std::size_t>(rank)));
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
      throw Error(Code::format, "layout: libhdf5: " + last_error());
    default:
      break;
  }
  std::string text = "chunked";
  const hid_t filters = checked(H5Pget_nfilters(list), "filters");
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    unsigned config = 0;
    std::size_t values = 0;
    const H5Z_filter_t id = H5Pget_filter2(list, static_cast<unsigned>(i), &flags, &values, nullptr,
                                           0, nullptr, &config);
    text += ", " + filter_name(static_cast<H5Z_filter_t>(checked(id, "filters")));
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
  naming(file.path(), [&] {
    catalog->open_file(file);
    catalog->load_log();
    catalog->set_ = read_set(catalog->hdf5_.get(), file.path(), file.size() / 8);
    catalog->list_datasets();
  });
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

const char* Catalog::format() const {
  return grouped_ ? layout_grouped : netcdf_ ? layout_netcdf4 : layout_stacked;
}

void Catalog::require_ours() const {
  if (!ours_) {
    throw Error(Code::format,
                state_.file->path() + ": not written by Sluice: steps cannot be appended to it");
  }
}

namespace {

/// netCDF's programs copy a number, or a text, as a list of one.
std::optional<std::int32_t> only_number(const model::AttributeValue& value) {
  if (const auto* number = std::get_if<std::int32_t>(&value)) {
    return *number;
  }
  const auto* list = std::get_if<std::vector<std::int32_t>>(&value);
  return list != nullptr && list->size() == 1 ? std::optional((*list)[0]) : std::nullopt;
}

const std::string* only_text(const model::AttributeValue& value) {
  const auto* list = std::get_if<std::vector<std::string>>(&value);
  return list != nullptr && list->size() == 1 ? list->data() : std::get_if<std::string>(&value);
}

}  // namespace

void Catalog::load_log() {
  const QuietErrors quiet;
  if (!has_log(hdf5_.get(), state_.file->path())) {
    return;
  }
  const Handle group = own(H5Gopen2(hdf5_.get(), group_name, H5P_DEFAULT), group_name);
  const auto major = read_attribute(group.get(), version_attribute);
  const auto number = major ? only_number(*major) : std::nullopt;
  if (!number) {
    throw Error(Code::format, state_.file->path() + ": /sluice has no format version");
  }
  if (*number > format_major) {
    throw Error(Code::version, state_.file->path() + ": written by Sluice format " +
                                   std::to_string(*number) + ".x, this library reads up to " +
                                   std::to_string(format_major) + ".x: use a newer Sluice");
  }
  ours_ = true;
  load_contents(group.get());
  const auto arranged = read_attribute(group.get(), layout_attribute);
  const auto* layout_name = arranged ? only_text(*arranged) : nullptr;
  grouped_ = layout_name != nullptr && *layout_name == layout_grouped;
  netcdf_ = layout_name != nullptr && *layout_name == layout_netcdf4;
  if (layout_name != nullptr && !grouped_ && !netcdf_) {
    throw Error(Code::version, state_.file->path() + ": /sluice names an unknown layout: " +
                                   *layout_name + ": use a newer Sluice");
  }
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
    commits_.push_back(CommitRow::unpack(std::span(words).subspan(at).first<CommitRow::words>()));
    if (commits_.back().step != CommitRow::no_step) {
      // Steps come one after the other; a number from a damaged row would be taken as a size.
      if (commits_.back().step > steps_) {
        throw Error(Code::damaged, state_.file->path() + ": /sluice/commits skips a step");
      }
      steps_ = commits_.back().step + 1;
    }
  }
  load_checksums();
}

void Catalog::load_checksums() {
  if (!has_link(hdf5_.get(), checksums_name)) {
    return;
  }
  const Handle sums = own(H5Dopen2(hdf5_.get(), checksums_name, H5P_DEFAULT), checksums_name);
  const Handle list = own(H5Dget_create_plist(sums.get()), checksums_name);
  const Handle sums_space = own(H5Dget_space(sums.get()), checksums_name);
  const Dims words = extents_of(sums_space.get()).dims;
  hsize_t chunk = 0;
  if (H5Pget_layout(list.get()) != H5D_CHUNKED || H5Pget_chunk(list.get(), 1, &chunk) != 1 ||
      chunk == 0 || words.rank() != 1) {
    throw Error(Code::damaged, state_.file->path() + ": /sluice/checksums has a wrong layout");
  }
  checksum_chunk_words_ = chunk;
  checksum_chunks_ = words[0] / chunk;
}

herr_t Catalog::visit(hid_t, const char* name, const H5O_info_t* info, void* into) {
  auto& objects = *static_cast<Objects*>(into);
  if (info->type == H5O_TYPE_DATASET) {
    objects.datasets.emplace_back(name);
  } else if (info->type == H5O_TYPE_GROUP) {
    objects.groups.emplace_back(name);
  }
  return 0;
}

std::vector<std::string> Catalog::paths_below(const std::string& group) {
  Objects objects;
#if H5_VERSION_GE(1, 12, 0)
  auto forward = [](hid_t object, const char* name, const H5O_info2_t* info, void* data) {
    H5O_info_t old{};
    old.type = info->type;
    return visit(object, name, &old, data);
  };
  check(H5Ovisit_by_name3(hdf5_.get(), group.c_str(), H5_INDEX_NAME, H5_ITER_NATIVE, forward,
                          &objects, H5O_INFO_BASIC, H5P_DEFAULT),
        state_.file->path());
#else
  check(H5Ovisit_by_name2(hdf5_.get(), group.c_str(), H5_INDEX_NAME, H5_ITER_NATIVE, visit,
                          &objects, H5O_INFO_BASIC, H5P_DEFAULT),
        state_.file->path());
#endif
  const std::string above = group == "/" ? "" : group.substr(1);
  for (const std::string& below : objects.groups) {
    const std::string path = joined(above, below);
    if (!path.empty() && path != group_name && path.rfind(std::string(group_name) + "/", 0) != 0) {
      groups_.push_back(path);
    }
  }
  return std::move(objects.datasets);
}

namespace {

herr_t take_link(hid_t, const char* name, const H5L_info_t*, void* into) {
  static_cast<std::vector<std::string>*>(into)->emplace_back(name);
  return 0;
}

bool is_step_group(const std::string& name) {
  const std::string prefix = step_group_prefix;
  return name.rfind(prefix, 0) == 0 && name.size() >= prefix.size() + 6 &&
         name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
}

}  // namespace

bool Catalog::is_stepped_in_set(const std::string& name) const {
  return set_ && std::any_of(set_->variables.begin(), set_->variables.end(),
                             [&](const SetVariable& v) { return v.name == name && v.stepped; });
}

void Catalog::list_datasets() {
  const QuietErrors quiet;
  if (!grouped_) {
    for (const std::string& path : paths_below("/")) {
      if (path.rfind(std::string(group_name) + "/", 0) != 0) {
        add_dataset(path, path);
      }
    }
  } else {
    // Not through the groups of all steps: their number has no bound, and the prototypes say it.
    std::vector<std::string> links;
    hsize_t position = 0;
    check(H5Literate(hdf5_.get(), H5_INDEX_NAME, H5_ITER_NATIVE, &position, take_link, &links),
          state_.file->path());
    for (const std::string& link : links) {
      if (link == group_name || is_step_group(link)) {
        continue;
      }
      for (const std::string& below : paths_below("/" + link)) {
        const std::string path = joined(link, below);
        add_dataset(path, path);
      }
    }
    if (has_link(hdf5_.get(), prototypes_name)) {
      for (const std::string& below : paths_below(prototypes_name)) {
        add_dataset(prototype_path(below), below);
      }
    }
  }
  // The library's own, not a variable of that name: it grows in chunks of many steps.
  has_time_ =
      ours_ && std::any_of(variables_.begin(), variables_.end(), [](const auto& v) {
        return v.definition.name == time_name && !v.definition.stepped && v.storage == "chunked";
      });
}

void Catalog::add_dataset(const std::string& path, const std::string& name) {
  const Handle dataset = own(H5Dopen2(hdf5_.get(), path.c_str(), H5P_DEFAULT), path);
  if (netcdf4::is_plain_scale(dataset.get())) {
    return;
  }
  const Handle type = own(H5Dget_type(dataset.get()), path);
  const Handle space = own(H5Dget_space(dataset.get()), path);
  const Handle list = own(H5Dget_create_plist(dataset.get()), path);
  auto stored = stored_type(type.get());
  const auto rank = static_cast<int>(checked(H5Sget_simple_extent_ndims(space.get()), path));
  const H5S_class_t extent_class = H5Sget_simple_extent_type(space.get());
  checked(extent_class, path);
  const bool is_null = extent_class == H5S_NULL;
  if (!stored || rank > model::max_rank || is_null) {
    unreadable_.push_back({name, !stored   ? foreign_type(type.get())
                                 : is_null ? "no data (null dataspace)"
                                           : "more than 8 dimensions"});
    return;
  }
  StoredVariable variable;
  variable.big_endian = stored->big_endian;
  Extents extents = extents_of(space.get());
  const H5D_layout_t layout = H5Pget_layout(list.get());
  Dims chunk = layout == H5D_CHUNKED ? chunk_of(list.get(), rank, path) : extents.dims;
  bool is_whole = true;
  if (netcdf_ && rank > 0 && stored->type == string_type(1) && extents.dims[rank - 1] != 0 &&
      extents.dims[rank - 1] <= most_characters &&
      is_yes(H5Aexists(dataset.get(), text_attribute), path)) {
    is_whole = chunk[rank - 1] == extents.dims[rank - 1];
    stored->type = string_type(static_cast<std::uint32_t>(extents.dims[rank - 1]));
    extents = {without_back(extents.dims), without_back(extents.limits)};
    chunk = without_back(chunk);
    characters_.insert(static_cast<std::uint32_t>(variables_.size()));
  }
  const bool is_prototype = path != name;
  const bool is_stacked = (ours_ && !grouped_ && layout == H5D_CHUNKED &&
                           extents.limits[0] == H5S_UNLIMITED && chunk[0] == 1) ||
                          is_stepped_in_set(name);
  variable.definition = describe(dataset.get(), name, stored->type,
                                 is_stacked ? extents.dims.without_front() : extents.dims);
  variable.definition.stepped = is_stacked || is_prototype;
  variable.tile = is_stacked ? chunk.without_front() : chunk;
  const bool is_external = checked(H5Pget_external_count(list.get()), path) > 0;
  if (layout == H5D_CHUNKED && is_whole && !is_external) {
    variable.filters = filters_of(list.get());
    variable.definition.compress = codec::pipeline_text(variable.filters);
  }
  const bool plain = checked(H5Pget_nfilters(list.get()), path) == 0 && !is_external;
  variable.placeable = plain && is_whole && (layout == H5D_CHUNKED || layout == H5D_CONTIGUOUS);
  variable.storage = storage_text(list.get());
  const bool has_characters = is_characters(static_cast<std::uint32_t>(variables_.size()));
  read_fill(list.get(), element_type(type.get(), variable.definition.type, has_characters).get(),
            variable.definition);
  if (netcdf_ && is_stacked) {
    steps_ = std::max(steps_, extents.dims[0]);  // netCDF programs may have added some
  }
  variables_.push_back(std::move(variable));
}

model::Definition Catalog::describe(hid_t dataset, const std::string& name, const Type& type,
                                    const Dims& shape) {
  model::Definition definition;
  definition.name = name;
  definition.type = type;
  definition.shape = shape;
  definition.varying =
      ours_ && is_yes(H5Aexists(dataset, varying_attribute), name) && !shape.empty();
  definition.dimensions = dimensions_of(dataset, name, shape.rank());
  if (netcdf_ && netcdf4::has_invented_names(definition)) {
    definition.dimensions.clear();
  }
  if (type.bytes == 1 && type.kind != Kind::string) {
    const auto flag = read_attribute(dataset, flag_attribute);
    const auto* text = flag ? std::get_if<std::string>(&*flag) : nullptr;
    if (text != nullptr && *text == flag_type) {
      definition.type = {Kind::boolean, 1};
    }
  }
  return definition;
}

bool Catalog::is_grouped(std::uint32_t variable) const {
  return grouped_ && variables_[variable].definition.stepped;
}

hid_t Catalog::dataset(std::uint32_t variable, std::uint64_t step) {
  Open& open = open_datasets_[variable];
  const bool moves = is_grouped(variable);
  if (open.handle && (!moves || open.step == step)) {
    return open.handle.get();
  }
  const std::string& name = variables_[variable].definition.name;
  std::string path = name;
  open.handle.reset();
  if (moves) {
    path = step_group(step);
    path += "/" + name;
    if (!has_link(hdf5_.get(), path)) {
      return -1;
    }
  }
  open.step = step;
  open.handle = own(H5Dopen2(hdf5_.get(), path.c_str(), H5P_DEFAULT), path);
  return open.handle.get();
}

}  // namespace sluice::layout::hdf5
