// Which datasets a file has, under which names, and what they are.
#include <algorithm>
#include <map>

#include "codec/quantise.hpp"
#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/catalog.hpp"
#include "layout/hdf5/dataset_facts.hpp"
#include "layout/hdf5/fill.hpp"
#include "layout/hdf5/step_groups.hpp"
#include "layout/hdf5/types.hpp"
#include "layout/hdf5/virtual_sources.hpp"
#include "layout/netcdf4/scales.hpp"
#include "layout/vtkhdf/rules.hpp"
#include "model/fill.hpp"
#include "model/kinds.hpp"
#include "model/name.hpp"

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

}  // namespace

bool Catalog::is_stepped_in_set(const std::string& name) const {
  return set_ && std::any_of(set_->variables.begin(), set_->variables.end(),
                             [&](const SetVariable& v) { return v.name == name && v.stepped; });
}

bool Catalog::is_mapped(const std::string& name) {
  if (!set_) {
    return false;
  }
  if (!mapped_) {
    mapped_.emplace();
    for (const Mapping& mapping : set_->mappings) {
      mapped_->insert(set_->variables[mapping.variable].name);
    }
  }
  return mapped_->count(name) != 0;
}

hid_t Catalog::with_others() {
  if (!with_others_) {
    others_state_.file = state_.file;
    others_state_.others = &others_storage();
    const Handle access = access_list(others_state_);
    const std::string& path = state_.file->path();
    with_others_ = own(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), path);
  }
  return with_others_.get();
}

storage::Storage& Catalog::others_storage() {
  if (!others_storage_) {
    others_storage_ = storage::make_posix();
  }
  return *others_storage_;
}

void Catalog::list_datasets() {
  const QuietErrors quiet;
  // Does not visit the groups of all steps: their number is unbounded, and the prototypes describe
  // them.
  list(links_below(hdf5_.get(), "",
                   [&](const std::string& path) {
                     return (ours_ && path == group_name) || is_of_steps(profile_, path);
                   }),
       0);
  if (hdf5::is_grouped(profile_) && has_link(hdf5_.get(), prototypes_name)) {
    list(links_below(hdf5_.get(), prototypes_name, [](const std::string&) { return false; }),
         std::string(prototypes_name).size() + 1);
  }
  leave_copied_set();
  take_off_prefixes();
  // The library's own, not a variable of that name. In a copy by another program it may be fixed.
  has_time_ = ours_ && std::any_of(variables_.begin(), variables_.end(), [&](const auto& v) {
                return v.definition.name == time_name && !v.definition.stepped &&
                       v.definition.shape.rank() == 1 &&
                       (v.definition.along_steps || !is_log_growable_);
              });
}

/// netCDF stores a variable that has the name of a dimension, and is not its coordinates, with a
/// prefix that none of its programs shows.
void Catalog::take_off_prefixes() {
  std::set<std::string> names;
  for (const StoredVariable& variable : variables_) {
    names.insert(variable.definition.name);
  }
  const auto shown = [&](const std::string& name) {
    const std::string without = netcdf4::without_prefix(name);
    const bool is_of_netcdf = has_netcdf_provenance_ || plain_scales_.count(without) != 0;
    return is_of_netcdf && names.count(without) == 0 ? without : name;
  };
  for (StoredVariable& variable : variables_) {
    const std::string name = shown(variable.definition.name);
    variable.shown_as = name == variable.definition.name ? "" : name;
  }
  for (Growing& one : growing_) {
    one.name = one.is_dimension ? one.name : shown(one.name);
  }
}

void Catalog::list(const std::vector<NamedLink>& links, std::size_t prefix) {
  // A dataset is known by the name under which Sluice wrote it, otherwise by its first name.
  std::map<std::string, const NamedLink*> first;
  for (const NamedLink& link : links) {
    if (link.target == Target::dataset) {
      const NamedLink*& known = first.try_emplace(link.identity, &link).first->second;
      const bool is_better = is_recorded_name(link.path.substr(prefix)) || known->is_below_soft;
      if (is_better && !is_recorded_name(known->path.substr(prefix)) && !link.is_below_soft) {
        known = &link;
      }
    }
  }
  std::map<std::string, std::size_t> numbers;  // of variables, by identity
  for (const NamedLink& link : links) {
    const std::string name = link.path.substr(prefix);
    if (const std::size_t slash = name.rfind('/'); slash != std::string::npos) {
      used_groups_.insert(name.substr(0, slash));
    }
    switch (link.target) {
      case Target::group:
        if (prefix == 0 || profile_ == Profile::openpmd) {
          groups_.push_back(name);
        }
        break;
      case Target::dataset:
        if (profile_ == Profile::vtkhdf && vtkhdf::is_bookkeeping(name)) {
          break;  // the library's own, as its log
        }
        if (first.at(link.identity) == &link && add_readable(link.path, name)) {
          numbers[link.identity] = variables_.size() - 1;
        }
        break;
      case Target::datatype:
        others_.push_back({name, "a committed type"});
        break;
      default:
        if (ours_ && link.target == Target::unreadable) {
          throw Error(Code::damaged, link.path + ": " + link.why);
        }
        unreadable_.push_back({name, link.why});
        break;
    }
  }
  for (const NamedLink& link : links) {
    const bool is_own = profile_ == Profile::vtkhdf && vtkhdf::is_bookkeeping(link.path);
    if (link.target == Target::dataset && first.at(link.identity) != &link && !is_own) {
      const auto number = numbers.find(link.identity);
      add_name(link.path.substr(prefix), first.at(link.identity)->path.substr(prefix),
               number == numbers.end() ? nullptr : &variables_[number->second]);
    }
  }
}

void Catalog::add_name(const std::string& name, const std::string& known_as,
                       const StoredVariable* variable) {
  if (variable != nullptr) {
    StoredVariable other = *variable;
    const auto number = static_cast<std::uint32_t>(variable - variables_.data());
    if (is_characters(number)) {
      characters_.insert(static_cast<std::uint32_t>(variables_.size()));
    }
    if (const std::uint64_t rows = slot(number)) {
      slots_[static_cast<std::uint32_t>(variables_.size())] = rows;
    }
    other.definition.name = name;
    other.same_as = known_as;
    variables_.push_back(std::move(other));
    return;
  }
  const auto known = std::find_if(unreadable_.begin(), unreadable_.end(),
                                  [&](const UnreadableDataset& d) { return d.name == known_as; });
  if (known != unreadable_.end()) {
    unreadable_.push_back({name, known->type + ", the same as " + known_as});
  }
}

bool Catalog::add_readable(const std::string& path, const std::string& name) {
  const std::size_t before = variables_.size();
  try {
    add_dataset(path, name);
  } catch (const Error& e) {
    if (!concerns_object(e) || is_recorded_name(name)) {
      throw;
    }
    unreadable_.push_back({name, std::string("not readable here: ") + e.what()});
  }
  return variables_.size() != before;
}

void Catalog::add_dataset(const std::string& path, const std::string& name) {
  const Handle dataset = own(H5Dopen2(hdf5_.get(), path.c_str(), H5P_DEFAULT), path);
  if (netcdf4::is_plain_scale(dataset.get())) {
    plain_scales_.insert(name);
    if (!ours_ && netcdf4::use_of(dataset.get(), path).unlimited) {
      growing_.push_back({name.substr(name.rfind('/') + 1), true});
    }
    return;
  }
  const Handle type = own(H5Dget_type(dataset.get()), path);
  const Handle space = own(H5Dget_space(dataset.get()), path);
  const auto stored = stored_type(type.get());
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
  const Handle list = own(H5Dget_create_plist(dataset.get()), path);
  if (H5Pget_layout(list.get()) != H5D_VIRTUAL || is_mapped(name)) {
    add_array(dataset.get(), path, name, *stored, extents_of(space.get()));
    return;
  }
  const std::string missing = missing_source(list.get(), state_.file->path(), others_storage());
  if (!missing.empty()) {
    unreadable_.push_back({name, "virtual, made of other files: " + missing});
    return;
  }
  // Its length may depend on its sources.
  const Handle whole = own(H5Dopen2(with_others(), path.c_str(), H5P_DEFAULT), path);
  const Handle extent = own(H5Dget_space(whole.get()), path);
  add_array(whole.get(), path, name, *stored, extents_of(extent.get()));
}

void Catalog::add_array(hid_t dataset, const std::string& path, const std::string& name,
                        StoredType stored, Extents extents) {
  const int rank = extents.dims.rank();
  const Handle type = own(H5Dget_type(dataset), path);
  const Handle list = own(H5Dget_create_plist(dataset), path);
  StoredVariable variable;
  variable.big_endian = stored.big_endian;
  const H5D_layout_t layout = H5Pget_layout(list.get());
  Dims chunk = layout == H5D_CHUNKED ? chunk_of(list.get(), rank, path) : extents.dims;
  bool is_whole = !is_padded_otherwise(type.get());
  const bool has_characters = profile_ == Profile::netcdf4 && rank > 0 &&
                              stored.type == string_type(1) && extents.dims[rank - 1] != 0 &&
                              extents.dims[rank - 1] <= most_characters &&
                              is_yes(H5Aexists(dataset, text_attribute), path);
  if (has_characters) {
    is_whole = chunk[rank - 1] == extents.dims[rank - 1];
    stored.type = string_type(static_cast<std::uint32_t>(extents.dims[rank - 1]));
    extents = {without_back(extents.dims), without_back(extents.limits)};
    chunk = without_back(chunk);
    characters_.insert(static_cast<std::uint32_t>(variables_.size()));
  }
  if (!ours_ && extents.limits != extents.dims) {
    const bool is_dimension = netcdf4::is_scale(dataset);
    growing_.push_back({is_dimension ? name.substr(name.rfind('/') + 1) : name, is_dimension});
  }
  const bool is_in_a_row =
      path == name && add_in_a_row(dataset, name, stored.type, extents.dims, variable);
  if (!is_in_a_row) {
    variable.definition = describe(dataset, name, stored.type, extents, layout, chunk);
    variable.definition.along_steps = ours_ && !variable.definition.stepped && !chunk.empty() &&
                                      extents.limits[0] == H5S_UNLIMITED;
  }
  const bool is_stacked = variable.definition.stepped && !is_in_a_row;
  if (path != name) {  // a prototype
    variable.definition.stepped = true;
    is_whole = is_whole && are_plain_steps(name);
  }
  variable.tile = is_stacked ? chunk.without_front() : chunk;
  // A chunk with several steps is not a tile of one step.
  is_whole = is_whole && (layout != H5D_CHUNKED || !is_stacked || chunk[0] == 1);
  if (is_in_a_row && (layout != H5D_CHUNKED || !has_whole_chunks(chunk))) {
    is_whole = false;  // copied into another layout by another program
    variable.tile = variable.definition.shape;
  }
  take_storage(list.get(), is_whole, path, variable);
  take_rounding(dataset, variable.definition);
  read_fill(list.get(), element_type(type.get(), variable.definition.type, has_characters).get(),
            variable.definition);
  take_fill_attribute(dataset, variable.definition);
  if (is_stacked) {
    if (profile_ == Profile::netcdf4) {  // netCDF programs may add some
      steps_ = std::max(steps_, extents.dims[0]);
    }
  }
  variables_.push_back(std::move(variable));
}

void Catalog::take_fill_attribute(hid_t dataset, model::Definition& definition) {
  const char* name = "_FillValue";
  if (!ours_ || definition.partial || !model::is_real(definition.type.kind) ||
      !is_recorded_name(definition.name) || !is_yes(H5Aexists(dataset, name), definition.name)) {
    return;
  }
  const Handle attribute = own(H5Aopen(dataset, name, H5P_DEFAULT), name);
  const Handle space = own(H5Aget_space(attribute.get()), name);
  const Handle type = own(H5Aget_type(attribute.get()), name);
  const H5T_class_t kind = H5Tget_class(type.get());
  if (checked(H5Sget_simple_extent_npoints(space.get()), name) != 1 ||
      (kind != H5T_INTEGER && kind != H5T_FLOAT)) {
    return;
  }
  std::vector<std::byte> element(definition.type.bytes);
  check(H5Aread(attribute.get(), file_type(definition.type).get(), element.data()), name);
  definition.partial = true;
  definition.fill = model::fill_element(element);
}

/// Steps that are appended are rounded as those before them.
void Catalog::take_rounding(hid_t dataset, model::Definition& definition) const {
  for (const codec::Quantiser& row : codec::quantisers()) {
    if (!ours_ || definition.compress.empty() ||
        !is_yes(H5Aexists(dataset, row.attribute), definition.name)) {
      continue;
    }
    const auto value = read_attribute(dataset, row.attribute);
    const auto kept = value ? only_number(*value) : std::nullopt;
    if (kept && *kept >= 1 && *kept <= row.most_of_double) {
      definition.compress = codec::Rounding{&row, *kept}.text() + "+" + definition.compress;
      return;
    }
  }
}

void Catalog::take_storage(hid_t list, bool is_whole, const std::string& path,
                           StoredVariable& variable) {
  const H5D_layout_t layout = H5Pget_layout(list);
  const bool is_external = checked(H5Pget_external_count(list), path) > 0;
  if (layout == H5D_CHUNKED && is_whole && !is_external) {
    variable.filters = filters_of(list);
    variable.definition.compress = codec::pipeline_text(variable.filters);
  }
  const bool plain = checked(H5Pget_nfilters(list), path) == 0 && !is_external;
  variable.placeable = plain && is_whole && (layout == H5D_CHUNKED || layout == H5D_CONTIGUOUS);
  variable.storage = storage_text(list);
}

bool Catalog::are_plain_steps(const std::string& name) {
  for (const std::uint64_t step : {std::uint64_t{0}, steps_ == 0 ? 0 : steps_ - 1}) {
    const std::string path = group_of(step) + "/" + name;
    if (!has_link(hdf5_.get(), path)) {
      continue;
    }
    const Handle dataset = own(H5Dopen2(hdf5_.get(), path.c_str(), H5P_DEFAULT), path);
    const Handle list = own(H5Dget_create_plist(dataset.get()), path);
    if (H5Pget_layout(list.get()) != H5D_CONTIGUOUS) {
      return false;
    }
  }
  return true;
}

model::Definition Catalog::describe(hid_t dataset, const std::string& name, const Type& type,
                                    const Extents& extents, H5D_layout_t layout,
                                    const Dims& chunk) {
  const bool may_grow = ours_ && !hdf5::is_grouped(profile_) && extents.dims.rank() > 0;
  const auto stepped = [&] {
    model::Definition definition = describe(dataset, name, type, extents.dims.without_front());
    definition.stepped = true;
    return definition;
  };
  const bool grows =
      may_grow && layout == H5D_CHUNKED && extents.limits[0] == H5S_UNLIMITED && chunk[0] == 1;
  if (may_grow && is_stepped_in_set(name)) {
    return stepped();
  }
  model::Definition likely = grows ? stepped() : describe(dataset, name, type, extents.dims);
  if (may_grow && is_recorded_name(name) && !is_recorded(likely)) {
    // Another program may have copied it into other chunks, or contiguous.
    model::Definition other = grows ? describe(dataset, name, type, extents.dims) : stepped();
    return is_recorded(other) ? other : likely;
  }
  return likely;
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
  if (profile_ == Profile::netcdf4 && netcdf4::has_invented_names(definition)) {
    definition.dimensions.clear();
  }
  if (type.bytes == 1 && type.kind != Kind::string) {
    if (read_text_attribute(dataset, flag_attribute) == flag_type) {
      definition.type = {Kind::boolean, 1};
    }
  }
  return definition;
}

/// Of a scale with several dimensions; none of any other dataset.
std::vector<std::string> Catalog::names_by_number(hid_t dataset) {
  const std::vector<std::int32_t> numbers = netcdf4::dimension_numbers(dataset);
  if (!numbers.empty() && !numbered_scales_) {
    numbered_scales_ = netcdf4::numbered_scales(hdf5_.get());
  }
  std::vector<std::string> names;
  for (const std::int32_t number : numbers) {
    const auto scale = numbered_scales_->find(number);
    names.push_back(scale == numbered_scales_->end() ? "" : scale->second);
  }
  return names;
}

/// Names without that of the steps; none if the file does not have all of them.
std::vector<std::string> Catalog::dimensions_of(hid_t dataset, const std::string& name, int rank) {
  std::vector<std::string> names = netcdf4::dimension_labels(dataset);
  if (names.empty() && rank > 1) {
    names = names_by_number(dataset);
  }
  if (names.empty()) {
    names = netcdf4::dimension_names(hdf5_.get(), dataset, name);
  }
  const auto count = static_cast<std::ptrdiff_t>(names.size()) - rank;
  const bool has_characters = is_characters(static_cast<std::uint32_t>(variables_.size()));
  if (count > 0 && has_characters) {
    names.pop_back();
  }
  if (count > (has_characters ? 1 : 0)) {
    names.erase(names.begin());  // that of the steps
  }
  if (names.size() != static_cast<std::size_t>(rank)) {
    names.clear();
  }
  for (std::string& dimension : names) {
    dimension.erase(0, ours_ ? 0 : dimension.rfind('/') + 1);  // of a scale in a group
  }
  const bool are_names = std::all_of(names.begin(), names.end(), model::is_name);
  return are_names ? names : std::vector<std::string>{};
}

/// In a copy of a set's index by another program, a dataset may contain its elements itself: it is
/// read as it is, wherever the parts are.
void Catalog::leave_copied_set() {
  if (!set_) {
    return;
  }
  std::vector<std::string> copied;
  bool has_virtual = false;
  for (const StoredVariable& variable : variables_) {
    const std::string& name = variable.definition.name;
    const bool is_scalar = !variable.definition.stepped && variable.definition.shape.empty();
    if (is_mapped(name) && !is_scalar) {
      has_virtual = has_virtual || variable.storage == "virtual";
      if (variable.storage != "virtual") {
        copied.push_back(name);
      }
    }
  }
  if (copied.empty()) {
    return;
  }
  if (!has_virtual) {
    set_.reset();
    return;
  }
  set_->leave(copied);
}

}  // namespace sluice::layout::hdf5
