#include "layout/hdf5/array_reader.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "codec/quantise.hpp"
#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/fill.hpp"
#include "layout/netcdf4/rules.hpp"
#include "layout/plausible.hpp"
#include "model/fill.hpp"
#include "model/fill_attribute.hpp"
#include "model/kinds.hpp"
#include "model/number_text.hpp"

namespace sluice::layout::hdf5 {

using model::Dims;

namespace {

/// With a longer last dimension, characters are not text.
constexpr std::uint64_t most_characters = 1 << 20;

Dims without_back(const Dims& dims) {
  return Dims(std::span<const std::uint64_t>(dims.begin(), dims.end() - 1));
}

/// Can it stand for other bytes than those in the file, because text ends early or late?
bool is_padded_otherwise(hid_t type) {
  if (H5Tget_class(type) != H5T_STRING || H5Tget_size(type) == 1) {
    return false;
  }
  return H5Tget_strpad(type) != H5T_STR_NULLPAD;
}

class ArrayReader {
 public:
  ArrayReader(const OpenFile& file, DimensionNames& dimensions, const FoundArray& found)
      : file_(file),
        dimensions_(dimensions),
        dataset_(found.dataset),
        path_(found.path),
        name_(found.name),
        type_(found.stored.type),
        extents_(found.extents),
        is_stepped_in_set_(found.is_stepped_in_set) {
    array_.variable.big_endian = found.stored.big_endian;
  }

  ReadArray read();

 private:
  bool is_netcdf() const { return file_.log.profile == Profile::netcdf4; }
  bool is_prototype() const { return path_ != name_; }
  void count_steps();
  bool has_characters() const;
  bool is_text_of_others() const;
  void take_off_characters();
  bool take_steps_in_a_row();
  model::Definition describe() const;
  model::Definition describe(const Dims& shape) const;
  bool are_plain_steps() const;
  void take_storage(hid_t list, bool is_whole);
  void take_rounding();
  void take_fill_attribute();

  const OpenFile& file_;
  DimensionNames& dimensions_;
  hid_t dataset_;
  const std::string& path_;
  const std::string& name_;
  Type type_;
  Extents extents_;
  bool is_stepped_in_set_;
  H5D_layout_t layout_ = H5D_LAYOUT_ERROR;
  Dims chunk_;  ///< what is not chunked counts as one
  ReadArray array_;
};

ReadArray ArrayReader::read() {
  StoredVariable& variable = array_.variable;
  const Handle type = own(H5Dget_type(dataset_), path_);
  const Handle list = own(H5Dget_create_plist(dataset_), path_);
  layout_ = H5Pget_layout(list.get());
  const bool is_chunked = layout_ == H5D_CHUNKED;
  chunk_ = is_chunked ? chunk_of(list.get(), extents_.dims.rank(), path_) : extents_.dims;
  bool is_whole = !is_padded_otherwise(type.get());
  if (has_characters()) {
    is_whole = *(chunk_.end() - 1) == *(extents_.dims.end() - 1);
    take_off_characters();
  }
  const bool is_in_a_row = !is_prototype() && take_steps_in_a_row();
  if (!is_in_a_row) {
    variable.definition = describe();
    variable.definition.along_steps = file_.log.is_there && !variable.definition.stepped &&
                                      !chunk_.empty() && extents_.limits[0] == H5S_UNLIMITED;
  }
  const bool is_stacked = variable.definition.stepped && !is_in_a_row;
  if (is_prototype()) {
    variable.definition.stepped = true;
    is_whole = is_whole && are_plain_steps();
  }
  variable.tile = is_stacked ? chunk_.without_front() : chunk_;
  // A chunk with several steps is not a tile of one step.
  is_whole = is_whole && (!is_chunked || !is_stacked || chunk_[0] == 1);
  if (is_in_a_row && (!is_chunked || array_.arrangement.slot % chunk_[0] != 0)) {
    is_whole = false;  // copied into another layout by another program
    variable.tile = variable.definition.shape;
  }
  take_storage(list.get(), is_whole);
  take_rounding();
  const Handle element =
      element_type(type.get(), variable.definition.type, array_.arrangement.is_in_characters);
  read_fill(list.get(), element.get(), variable.definition);
  take_fill_attribute();
  if (variable.definition.partial && is_recorded_fill(file_.recorded, name_)) {
    variable.definition.partial = false;
    variable.definition.gives_fill = true;
  }
  if (!file_.log.is_there) {
    forget_unasked_fill(dataset_, variable.definition);
  }
  if (is_stacked) {
    count_steps();
  }
  return std::move(array_);
}

/// Programs of netCDF, and of HDF5 by resizing datasets, add steps that are not in the log. What
/// such a program made itself in a file of HDF5 may grow for another reason.
void ArrayReader::count_steps() {
  const model::Definition& definition = array_.variable.definition;
  const std::uint64_t steps = array_.arrangement.steps = extents_.dims[0];
  const bool counts =
      is_netcdf() || (file_.log.profile == Profile::stacked && layout_ != H5D_VIRTUAL &&
                      is_recorded(file_.recorded, definition));
  if (!counts) {
    return;
  }
  if (steps > file_.log.steps && steps > most_tiles_of_a_file(file_.holder.size())) {
    throw Error(Code::damaged, file_.path() + ": " + name_ + ": claims " + std::to_string(steps) +
                                   " steps, more than the file can have");
  }
  array_.steps = steps;
}

/// Is it text as netCDF stores it?
bool ArrayReader::has_characters() const {
  const int rank = extents_.dims.rank();
  return (is_netcdf() || is_text_of_others()) && rank > 0 && type_ == string_type(1) &&
         extents_.dims[rank - 1] != 0 && extents_.dims[rank - 1] <= most_characters &&
         is_yes(H5Aexists(dataset_, text_attribute), path_);
}

/// Does a file by netCDF say that its characters are text as Sluice has it?
bool ArrayReader::is_text_of_others() const {
  if (file_.log.is_there || !file_.has_netcdf_provenance) {
    return false;
  }
  const std::string encoding =
      model::lower_case(read_text_attribute(dataset_, text_attribute).value_or(""));
  return encoding == "utf-8" || encoding == "utf8" || encoding == "ascii";
}

void ArrayReader::take_off_characters() {
  type_ = string_type(static_cast<std::uint32_t>(*(extents_.dims.end() - 1)));
  extents_ = {without_back(extents_.dims), without_back(extents_.limits)};
  chunk_ = without_back(chunk_);
  array_.arrangement.is_in_characters = true;
}

/// VTKHDF: does the dataset say that its steps follow one another?
bool ArrayReader::take_steps_in_a_row() {
  if (file_.log.profile != Profile::vtkhdf || extents_.dims.empty() ||
      !is_yes(H5Aexists(dataset_, step_rows_attribute), name_)) {
    return false;
  }
  const auto held = read_attribute(dataset_, step_rows_attribute);
  const auto* rows = held ? std::get_if<std::vector<std::int64_t>>(&*held) : nullptr;
  const bool is_possible = rows != nullptr && rows->size() == 2 && (*rows)[1] >= 0 &&
                           (*rows)[0] >= (*rows)[1] && (*rows)[0] > 0;
  const std::uint64_t slot = is_possible ? static_cast<std::uint64_t>((*rows)[0]) : 0;
  const std::uint64_t steps = std::max<std::uint64_t>(1, file_.log.steps);
  std::uint64_t all = 0;
  if (!is_possible || __builtin_mul_overflow(slot, steps, &all)) {
    throw Error(Code::damaged, file_.path() + ": " + name_ + ": its attribute " +
                                   step_rows_attribute + " says impossible rows of a step");
  }
  Dims shape = extents_.dims;
  shape[0] = static_cast<std::uint64_t>((*rows)[1]);
  array_.variable.definition = describe(shape);
  array_.variable.definition.stepped = true;
  array_.arrangement.slot = slot;
  return true;
}

/// As a variable with steps, or a fixed one.
model::Definition ArrayReader::describe() const {
  const Dims& dims = extents_.dims;
  const bool may_grow = file_.log.is_there && !is_grouped(file_.log.profile) && dims.rank() > 0;
  const auto stepped = [&] {
    model::Definition definition = describe(dims.without_front());
    definition.stepped = true;
    return definition;
  };
  const bool grows =
      may_grow && layout_ == H5D_CHUNKED && extents_.limits[0] == H5S_UNLIMITED && chunk_[0] == 1;
  if (may_grow && is_stepped_in_set_) {
    return stepped();
  }
  // Another program's: its rows are no steps.
  if (grows && file_.log.profile == Profile::stacked && !file_.recorded.empty() &&
      !is_recorded_name(file_.recorded, name_) && dims[0] != file_.log.steps) {
    return describe(dims);
  }
  model::Definition likely = grows ? stepped() : describe(dims);
  if (may_grow && is_recorded_name(file_.recorded, name_) && !is_recorded(file_.recorded, likely)) {
    // Another program may have copied it into other chunks, or contiguous.
    model::Definition other = grows ? describe(dims) : stepped();
    return is_recorded(file_.recorded, other) ? other : likely;
  }
  return likely;
}

model::Definition ArrayReader::describe(const Dims& shape) const {
  model::Definition definition;
  definition.name = name_;
  definition.type = type_;
  definition.shape = shape;
  definition.varying =
      file_.log.is_there && is_yes(H5Aexists(dataset_, varying_attribute), name_) && !shape.empty();
  definition.dimensions =
      dimensions_.of(dataset_, name_, shape.rank(), array_.arrangement.is_in_characters);
  if (is_netcdf() && netcdf4::has_invented_names(definition)) {
    definition.dimensions.clear();
  }
  if (type_.bytes == 1 && type_.kind != Kind::string) {
    if (read_text_attribute(dataset_, flag_attribute) == flag_type) {
      definition.type = {Kind::boolean, 1};
    }
  }
  return definition;
}

/// Grouped form: are the variable's datasets as Sluice writes them, not copies of another program
/// in chunks?
bool ArrayReader::are_plain_steps() const {
  const std::uint64_t steps = file_.log.steps;
  for (const std::uint64_t step : {std::uint64_t{0}, steps == 0 ? 0 : steps - 1}) {
    const std::string path = file_.log.group_of(step) + "/" + name_;
    if (!has_link(file_.hdf5, path)) {
      continue;
    }
    const Handle dataset = own(H5Dopen2(file_.hdf5, path.c_str(), H5P_DEFAULT), path);
    const Handle list = own(H5Dget_create_plist(dataset.get()), path);
    if (H5Pget_layout(list.get()) != H5D_CONTIGUOUS) {
      return false;
    }
  }
  return true;
}

void ArrayReader::take_storage(hid_t list, bool is_whole) {
  StoredVariable& variable = array_.variable;
  const bool is_external = checked(H5Pget_external_count(list), path_) > 0;
  if (layout_ == H5D_CHUNKED && is_whole && !is_external) {
    variable.filters = filters_of(list);
    variable.definition.compress = codec::pipeline_text(variable.filters);
  }
  const bool plain = checked(H5Pget_nfilters(list), path_) == 0 && !is_external;
  variable.placeable = plain && is_whole && (layout_ == H5D_CHUNKED || layout_ == H5D_CONTIGUOUS);
  variable.storage = storage_text(list);
}

/// Steps that are appended are rounded as those before them.
void ArrayReader::take_rounding() {
  model::Definition& definition = array_.variable.definition;
  for (const codec::Quantiser& row : codec::quantisers()) {
    if (!file_.log.is_there || definition.compress.empty() ||
        !is_yes(H5Aexists(dataset_, row.attribute), name_)) {
      continue;
    }
    const auto value = read_attribute(dataset_, row.attribute);
    const auto kept = value ? only_number(*value) : std::nullopt;
    if (kept && *kept >= 1 && *kept <= row.most_of_double) {
      definition.compress = codec::Rounding{&row, *kept}.text() + "+" + definition.compress;
      return;
    }
  }
}

/// nccopy keeps the attribute of a partial variable, but not always the fill value of the dataset.
void ArrayReader::take_fill_attribute() {
  constexpr const char* attribute_name = model::fill_attribute_name;
  model::Definition& definition = array_.variable.definition;
  if (!file_.log.is_there || definition.partial || !model::is_real(definition.type.kind) ||
      !is_recorded_name(file_.recorded, name_) ||
      !is_yes(H5Aexists(dataset_, attribute_name), name_)) {
    return;
  }
  const Handle attribute = own(H5Aopen(dataset_, attribute_name, H5P_DEFAULT), attribute_name);
  const Handle space = own(H5Aget_space(attribute.get()), attribute_name);
  const Handle type = own(H5Aget_type(attribute.get()), attribute_name);
  const auto held = stored_type(type.get());
  if (checked(H5Sget_simple_extent_npoints(space.get()), attribute_name) != 1 || !held ||
      !(held->type == definition.type)) {
    return;  // of another type it is not Sluice's, and the variable may not hold its value
  }
  std::vector<std::byte> element(definition.type.bytes);
  check(H5Aread(attribute.get(), file_type(definition.type).get(), element.data()), attribute_name);
  definition.partial = true;
  definition.fill = model::fill_element(element);
}

}  // namespace

ReadArray read_array(const OpenFile& file, DimensionNames& dimensions, const FoundArray& found) {
  return ArrayReader(file, dimensions, found).read();
}

}  // namespace sluice::layout::hdf5
