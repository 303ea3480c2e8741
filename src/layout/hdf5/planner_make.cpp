// Making the objects of a file: groups, datasets, attributes, the log in /sluice.
#include <algorithm>
#include <array>

#include "layout/chunking.hpp"
#include "layout/hdf5/planner.hpp"
#include "layout/hdf5/types.hpp"

namespace sluice::layout::hdf5 {

namespace {

using model::Dims;

/// A dataset that grows along its first dimension, in chunks of `chunk`.
Handle make_growing(hid_t file, const char* name, hid_t type, const Dims& dims, const Dims& chunk) {
  std::array<hsize_t, model::max_rank> extent{};
  std::array<hsize_t, model::max_rank> limit{};
  std::array<hsize_t, model::max_rank> tile{};
  for (int d = 0; d < dims.rank(); ++d) {
    const auto i = static_cast<std::size_t>(d);
    extent[i] = dims[d];
    limit[i] = d == 0 ? H5S_UNLIMITED : dims[d];
    tile[i] = chunk[d];
  }
  const Handle space = own(H5Screate_simple(dims.rank(), extent.data(), limit.data()), name);
  const Handle list = own(H5Pcreate(H5P_DATASET_CREATE), name);
  check(H5Pset_chunk(list.get(), dims.rank(), tile.data()), name);
  check(H5Pset_obj_track_times(list.get(), false), name);
  return own(H5Dcreate2(file, name, type, space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT), name);
}

bool is_number(const Type& type) {
  return type.kind != Kind::string && type.kind != Kind::boolean && type.kind != Kind::c64 &&
         type.kind != Kind::c128;
}

/// A fill value set by the user is also what marks a variable as partial when the file is opened.
void set_fill(hid_t list, const model::Definition& definition) {
  if (is_number(definition.type)) {
    check(H5Pset_fill_value(list, H5T_NATIVE_DOUBLE, &definition.fill), definition.name);
    return;
  }
  const Handle type = file_type(definition.type);
  const std::vector<std::byte> zeros(definition.type.bytes);
  check(H5Pset_fill_value(list, type.get(), zeros.data()), definition.name);
}

/// netCDF's attribute must have the type of the variable.
void write_fill_attribute(hid_t dataset, const model::Definition& definition) {
  const Handle type = file_type(definition.type);
  const Handle space = dataspace({1});
  const Handle attribute =
      own(H5Acreate2(dataset, "_FillValue", type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
          definition.name);
  check(H5Awrite(attribute.get(), H5T_NATIVE_DOUBLE, &definition.fill), definition.name);
}

/// Rows of one 4 KiB chunk: a commit rewrites at most that much in place.
constexpr std::uint64_t rows_per_chunk = 4096 / (CommitRow::words * 8);
constexpr std::uint64_t times_per_chunk = 4096 / 8;

}  // namespace

void Hdf5Planner::make_log() {
  make_groups(std::string(group_name) + "/x");
  const Handle group = own(H5Gopen2(hdf5_.get(), group_name, H5P_DEFAULT), group_name);
  write_attribute(group.get(), "format_major", std::int32_t{format_major});
  write_attribute(group.get(), "format_minor", std::int32_t{format_minor});
  write_attribute(group.get(), "written_by", std::string("Sluice"));
  const Handle commits = make_growing(hdf5_.get(), commits_name, H5T_STD_U64LE,
                                      {0, CommitRow::words}, {rows_per_chunk, CommitRow::words});
  write_attribute(commits.get(), "columns",
                  std::string("step, time (bits of float64), first checksum word, checksum words, "
                              "mtime in ns, unused, unused, unused"));
}

void Hdf5Planner::make_groups(const std::string& path) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string group = path.substr(0, slash);
    if (checked(H5Lexists(hdf5_.get(), group.c_str(), H5P_DEFAULT), group) == 0) {
      own(H5Gcreate2(hdf5_.get(), group.c_str(), H5P_DEFAULT, creation_order_.get(), H5P_DEFAULT),
          group);
    }
  }
}

hid_t Hdf5Planner::dataset(std::uint32_t variable) {
  Made& made = made_[variable];
  if (!made.dataset) {
    const std::string& name = definitions_[variable].name;
    made.dataset = own(H5Dopen2(hdf5_.get(), name.c_str(), H5P_DEFAULT), name);
  }
  return made.dataset.get();
}

void Hdf5Planner::make(std::uint32_t variable, const Dims& tile) {
  const model::Definition& definition = definitions_[variable];
  const Handle list = own(H5Pcreate(H5P_DATASET_CREATE), definition.name);
  check(H5Pset_obj_track_times(list.get(), false), definition.name);
  check(H5Pset_attr_creation_order(list.get(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED),
        definition.name);
  if (definition.partial) {
    set_fill(list.get(), definition);
  }
  make_groups(definition.name);
  made_[variable].tile = tile;
  if (definition.stepped) {
    make_stepped(variable, list.get());
  } else {
    make_fixed(variable, list.get());
  }
  made_[variable].exists = true;
  if (definition.partial && is_number(definition.type)) {
    write_fill_attribute(dataset(variable), definition);
  }
}

void Hdf5Planner::make_fixed(std::uint32_t variable, hid_t list) {
  const model::Definition& definition = definitions_[variable];
  const Handle type = file_type(definition.type);
  const Handle space = dataspace(definition.shape);
  check(H5Pset_layout(list, H5D_CONTIGUOUS), definition.name);
  check(H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY), definition.name);
  check(H5Pset_fill_time(list, H5D_FILL_TIME_NEVER), definition.name);
  made_[variable].dataset = own(H5Dcreate2(hdf5_.get(), definition.name.c_str(), type.get(),
                                           space.get(), H5P_DEFAULT, list, H5P_DEFAULT),
                                definition.name);
}

void Hdf5Planner::make_stepped(std::uint32_t variable, hid_t list) {
  const model::Definition& definition = definitions_[variable];
  const Handle type = file_type(definition.type);
  const int rank = definition.shape.rank() + 1;
  std::array<hsize_t, model::max_rank> extent{};
  std::array<hsize_t, model::max_rank> limit{};
  std::array<hsize_t, model::max_rank> chunk{};
  limit[0] = H5S_UNLIMITED;
  chunk[0] = 1;
  for (int d = 1; d < rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    extent[i] = limit[i] = definition.shape[d - 1];
    chunk[i] = made_[variable].tile[d - 1];
  }
  const Handle space = own(H5Screate_simple(rank, extent.data(), limit.data()), definition.name);
  check(H5Pset_chunk(list, rank, chunk.data()), definition.name);
  made_[variable].dataset = own(H5Dcreate2(hdf5_.get(), definition.name.c_str(), type.get(),
                                           space.get(), H5P_DEFAULT, list, H5P_DEFAULT),
                                definition.name);
}

void Hdf5Planner::make_all() {
  const QuietErrors quiet;
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    if (!made_[v].exists) {
      const Dims& shape = definitions_[v].shape;
      make(v, choose_tile(shape, definitions_[v].type.bytes, Decomposition(shape.rank())));
    }
    if (definitions_[v].stepped) {
      extend(v, steps_);
    }
  }
}

void Hdf5Planner::apply_attributes() {
  std::vector<model::Attribute> waiting;
  for (model::Attribute& attribute : pending_) {
    const auto known = std::find_if(definitions_.begin(), definitions_.end(),
                                    [&](const auto& d) { return d.name == attribute.owner; });
    const bool is_variable = known != definitions_.end();
    if (is_variable && !made_[static_cast<std::size_t>(known - definitions_.begin())].exists) {
      waiting.push_back(std::move(attribute));  // until a commit makes the variable
      continue;
    }
    if (!is_variable && !attribute.owner.empty()) {
      make_groups(attribute.owner + "/x");
    }
    const std::string owner = attribute.owner.empty() ? "/" : attribute.owner;
    hid_t object = H5Oopen(hdf5_.get(), owner.c_str(), H5P_DEFAULT);
    checked(object, owner);
    const Handle holder(object);
    write_attribute(object, attribute.name, attribute.value);
    applied_.push_back(std::move(attribute));
  }
  pending_ = std::move(waiting);
}

void Hdf5Planner::append_time(std::uint64_t step, double time) {
  const bool taken = std::any_of(definitions_.begin(), definitions_.end(),
                                 [](const model::Definition& d) { return d.name == time_name; });
  if (taken || (!has_time_ && std::isnan(time))) {
    return;
  }
  if (!has_time_) {
    make_growing(hdf5_.get(), time_name, H5T_IEEE_F64LE, {0}, {times_per_chunk});
    has_time_ = true;
  }
  const Handle dataset = own(H5Dopen2(hdf5_.get(), time_name, H5P_DEFAULT), time_name);
  const hsize_t extent = step + 1;
  check(H5Dset_extent(dataset.get(), &extent), time_name);
  const Handle space = own(H5Dget_space(dataset.get()), time_name);
  const hsize_t start = step;
  const hsize_t count = 1;
  check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &start, nullptr, &count, nullptr),
        time_name);
  const Handle one = own(H5Screate_simple(1, &count, nullptr), time_name);
  check(H5Dwrite(dataset.get(), H5T_NATIVE_DOUBLE, one.get(), space.get(), H5P_DEFAULT, &time),
        time_name);
}

void Hdf5Planner::append_row(const CommitRow& row) {
  const Handle dataset = own(H5Dopen2(hdf5_.get(), commits_name, H5P_DEFAULT), commits_name);
  const hsize_t extent[2] = {rows_ + 1, CommitRow::words};
  check(H5Dset_extent(dataset.get(), extent), commits_name);
  const Handle space = own(H5Dget_space(dataset.get()), commits_name);
  const hsize_t start[2] = {rows_, 0};
  const hsize_t count[2] = {1, CommitRow::words};
  check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, count, nullptr),
        commits_name);
  const Handle one = own(H5Screate_simple(2, count, nullptr), commits_name);
  const auto words = row.pack();
  check(
      H5Dwrite(dataset.get(), H5T_NATIVE_UINT64, one.get(), space.get(), H5P_DEFAULT, words.data()),
      commits_name);
  ++rows_;
}

}  // namespace sluice::layout::hdf5
