#include "layout/hdf5/scales.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/log.hpp"
#include "layout/hdf5/netcdf_attributes.hpp"
#include "layout/hdf5/types.hpp"

namespace sluice::layout::hdf5 {

namespace {

/// By this prefix of its title netCDF recognises a dimension without coordinates; ten digits
/// follow.
constexpr const char* plain_title = "This is a netCDF dimension but not a netCDF variable.";

/// The attribute with netCDF's number of a dimension.
constexpr const char* id_name = "_Netcdf4Dimid";
/// The attribute with the numbers of all dimensions of a variable.
constexpr const char* coordinates_name = "_Netcdf4Coordinates";
constexpr int no_id = -1;
bool is_in_group(const std::string& path) { return path.find('/') != std::string::npos; }

/// The attribute with the scales of a dataset's dimensions.
constexpr const char* list_name = "DIMENSION_LIST";

Handle list_type() { return own(H5Tvlen_create(H5T_STD_REF_OBJ), "DIMENSION_LIST"); }

hobj_ref_t reference_to(hid_t file, const std::string& path) {
  hobj_ref_t reference = 0;
  check(H5Rcreate(&reference, file, path.c_str(), H5R_OBJECT, -1), "reference to " + path);
  return reference;
}

}  // namespace

hid_t Scales::reference_type() {
  const Handle type = own(H5Tcreate(H5T_COMPOUND, sizeof(Reference)), "REFERENCE_LIST");
  check(H5Tinsert(type.get(), "dataset", HOFFSET(Reference, dataset), H5T_STD_REF_OBJ),
        "REFERENCE_LIST");
  check(H5Tinsert(type.get(), "dimension", HOFFSET(Reference, dimension), H5T_NATIVE_INT),
        "REFERENCE_LIST");
  return checked(H5Tcopy(type.get()), "REFERENCE_LIST");
}

void Scales::clear() {
  scales_.clear();
  ids_.clear();
  next_in_root_ = 0;
}

int Scales::new_id(const std::string& path) {
  if (is_in_group(path)) {
    return no_id;  // until seal()
  }
  while (!ids_.insert(next_in_root_).second) {
    ++next_in_root_;
  }
  return next_in_root_;
}

const netcdf4::Use* Scales::find(const std::string& path) const {
  const auto found = scales_.find(path);
  return found == scales_.end() ? nullptr : &found->second.use;
}

bool Scales::has_plain(const std::string& path) const {
  const auto found = scales_.find(path);
  return found != scales_.end() && found->second.is_plain;
}

namespace {

herr_t note_dataset(hid_t, const char* path, const H5O_info_t* info, void* into) {
  if (info->type == H5O_TYPE_DATASET) {
    static_cast<std::vector<std::string>*>(into)->emplace_back(path);
  }
  return 0;
}

}  // namespace

std::vector<std::string> dataset_paths(hid_t file) {
  std::vector<std::string> paths;
#if H5_VERSION_GE(1, 12, 0)
  auto forward = [](hid_t object, const char* path, const H5O_info2_t* info, void* into) {
    H5O_info_t old{};
    old.type = info->type;
    return note_dataset(object, path, &old, into);
  };
  check(H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_NATIVE, forward, &paths, H5O_INFO_BASIC), "visit");
#else
  check(H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_NATIVE, note_dataset, &paths, H5O_INFO_BASIC),
        "visit");
#endif
  return paths;
}

void Scales::load(hid_t file) {
  clear();
  for (const std::string& path : dataset_paths(file)) {
    learn(file, path);
  }
}

void Scales::learn(hid_t file, const std::string& path) {
  const Handle dataset = own(H5Dopen2(file, path.c_str(), H5P_DEFAULT), path);
  if (!is_scale(dataset.get())) {
    return;
  }
  Scale& scale = scales_[path];
  scale.use = use_of(dataset.get(), path);
  scale.is_plain = is_plain_scale(dataset.get());
  const auto id = read_attribute(dataset.get(), id_name);
  const auto* number = id ? std::get_if<std::int32_t>(&*id) : nullptr;
  scale.id = number != nullptr ? *number : no_id;
  if (!is_in_group(path)) {
    ids_.insert(scale.id);
  }
  if (!is_yes(H5Aexists(dataset.get(), "REFERENCE_LIST"), path)) {
    return;
  }
  const Handle attribute = own(H5Aopen(dataset.get(), "REFERENCE_LIST", H5P_DEFAULT), path);
  const Handle space = own(H5Aget_space(attribute.get()), path);
  const hssize_t count = checked(H5Sget_simple_extent_npoints(space.get()), path);
  const Handle type(reference_type());
  require_plausible_count(attribute.get(), type.get(), count, path + ": REFERENCE_LIST");
  scale.references.resize(static_cast<std::size_t>(count));
  if (!scale.references.empty()) {
    check(H5Aread(attribute.get(), type.get(), scale.references.data()), path);
  }
}

void Scales::enter(hid_t dataset, const std::string& path, const std::string& title) {
  Scale& scale = scales_[path];
  scale.id = new_id(path);
  scale.use = use_of(dataset, path);
  scale.is_plain = title.rfind(plain_title, 0) == 0;
  write_terminated_text(dataset, "CLASS", "DIMENSION_SCALE");
  write_terminated_text(dataset, "NAME", title);
  const Handle space = dataspace({});
  write_in_space(dataset, id_name, H5T_NATIVE_INT, space.get(), &scale.id);
}

void Scales::number(hid_t file) {
  const Handle space = dataspace({});
  for (auto& [path, scale] : scales_) {
    if (scale.id == no_id && !is_in_group(path)) {
      const Handle dataset = own(H5Dopen2(file, path.c_str(), H5P_DEFAULT), path);
      scale.id = new_id(path);
      write_in_space(dataset.get(), id_name, H5T_NATIVE_INT, space.get(), &scale.id);
    }
  }
}

void Scales::make_plain(hid_t file, const std::string& path, const netcdf4::Use& use) {
  const Handle list = own(H5Pcreate(H5P_DATASET_CREATE), path);
  set_order(list.get(), path);
  if (use.unlimited) {
    set_chunk(list.get(), {1024}, path);  // nothing is ever written, so no chunk is ever created
  }
  const Handle space = use.unlimited ? growing_space({use.size}, path) : dataspace({use.size});
  const Handle dataset = create_dataset(file, path, H5T_IEEE_F32BE, space.get(), list.get());
  std::array<char, 24> digits{};
  std::snprintf(digits.data(), digits.size(), "%10llu", static_cast<unsigned long long>(use.size));
  enter(dataset.get(), path, std::string(plain_title) + digits.data());
}

void Scales::make_coordinate(hid_t dataset, const std::string& path) { enter(dataset, path, path); }

void Scales::attach(hid_t file, hid_t dataset, const std::string& path,
                    const std::vector<std::string>& scales) {
  if (scales.empty()) {
    return;
  }
  const hobj_ref_t own_reference = reference_to(file, path);
  std::vector<hobj_ref_t> targets;
  for (std::size_t d = 0; d < scales.size(); ++d) {
    targets.push_back(reference_to(file, scales[d]));
    Scale& scale = scales_.at(scales[d]);
    scale.references.push_back({own_reference, static_cast<int>(d)});
    scale.is_changed = true;
  }
  std::vector<hvl_t> list;
  list.reserve(targets.size());
  for (hobj_ref_t& target : targets) {
    list.push_back({1, &target});
  }
  const Handle type = list_type();
  const Handle space = dataspace({scales.size()});
  write_in_space(dataset, list_name, type.get(), space.get(), list.data());
}

/// Removes a dataset from the users of all scales, and returns the paths of those.
std::vector<std::string> Scales::forget(hobj_ref_t user) {
  std::vector<std::string> changed;
  for (auto& [path, scale] : scales_) {
    const auto gone = std::erase_if(
        scale.references, [&](const Reference& reference) { return reference.dataset == user; });
    if (gone != 0) {
      scale.is_changed = true;
      changed.push_back(path);
    }
  }
  return changed;
}

std::vector<std::string> Scales::detach(hid_t file, hid_t dataset, const std::string& path) {
  check(H5Adelete(dataset, list_name), path);
  return forget(reference_to(file, path));
}

void Scales::remove(hid_t file, const std::string& path) {
  const std::vector<Reference> users = std::move(scales_.at(path).references);
  scales_.erase(path);
  for (const Reference& user : users) {
    const Handle dataset = own(H5Rdereference2(file, H5P_DEFAULT, H5R_OBJECT, &user.dataset), path);
    if (is_attached(dataset.get(), path)) {
      check(H5Adelete(dataset.get(), list_name), path);
    }
    forget(user.dataset);
  }
  check(H5Ldelete(file, path.c_str(), H5P_DEFAULT), path);
}

namespace {

/// Variables of netCDF say by number which dimensions they have: they follow the dimensions.
void renumber_coordinates(hid_t file, const std::map<std::int32_t, std::int32_t>& new_numbers) {
  for (const std::string& path : dataset_paths(file)) {
    const Handle dataset = own(H5Dopen2(file, path.c_str(), H5P_DEFAULT), path);
    const auto value = read_attribute(dataset.get(), coordinates_name);
    if (!value) {
      continue;
    }
    const auto* one = std::get_if<std::int32_t>(&*value);
    const auto* several = std::get_if<std::vector<std::int32_t>>(&*value);
    auto numbers = one != nullptr       ? std::vector{*one}
                   : several != nullptr ? *several
                                        : std::vector<std::int32_t>{};
    bool is_changed = false;
    for (std::int32_t& number : numbers) {
      if (const auto found = new_numbers.find(number); found != new_numbers.end()) {
        number = found->second;
        is_changed = true;
      }
    }
    if (is_changed) {
      const Handle space = dataspace({numbers.size()});
      write_in_space(dataset.get(), coordinates_name, H5T_NATIVE_INT, space.get(), numbers.data());
    }
  }
}

}  // namespace

void Scales::seal(hid_t file) {
  // Numbers without gaps, which nccopy needs: those that the root group has left.
  const Handle scalar = dataspace({});
  int next = 0;
  std::map<std::int32_t, std::int32_t> new_numbers;
  for (auto& [path, scale] : scales_) {
    if (!is_in_group(path)) {
      continue;
    }
    while (ids_.count(next) != 0) {
      ++next;
    }
    if (scale.id != next) {
      const Handle dataset = own(H5Dopen2(file, path.c_str(), H5P_DEFAULT), path);
      if (scale.id != no_id) {
        new_numbers.emplace(scale.id, next);
      }
      scale.id = next;
      write_in_space(dataset.get(), id_name, H5T_NATIVE_INT, scalar.get(), &scale.id);
    }
    ++next;
  }
  if (!new_numbers.empty()) {
    renumber_coordinates(file, new_numbers);
  }
  const Handle type(reference_type());
  for (auto& [path, scale] : scales_) {
    if (!scale.is_changed) {
      continue;
    }
    const Handle dataset = own(H5Dopen2(file, path.c_str(), H5P_DEFAULT), path);
    scale.is_changed = false;
    if (scale.references.empty()) {
      if (checked(H5Aexists(dataset.get(), "REFERENCE_LIST"), path) > 0) {
        check(H5Adelete(dataset.get(), "REFERENCE_LIST"), path);
      }
      continue;
    }
    const Handle space = dataspace({scale.references.size()});
    write_in_space(dataset.get(), "REFERENCE_LIST", type.get(), space.get(),
                   scale.references.data());
  }
}

bool is_scale(hid_t dataset) { return read_text_attribute(dataset, "CLASS") == "DIMENSION_SCALE"; }

bool is_attached(hid_t dataset, const std::string& path) {
  return is_yes(H5Aexists(dataset, list_name), path);
}

std::vector<std::string> dimension_labels(hid_t dataset) {
  const auto value = read_attribute(dataset, labels_name);
  const auto* labels = value ? std::get_if<std::vector<std::string>>(&*value) : nullptr;
  const bool is_complete =
      labels != nullptr && std::none_of(labels->begin(), labels->end(),
                                        [](const std::string& label) { return label.empty(); });
  return is_complete ? *labels : std::vector<std::string>{};
}

void ReferencedNames::fill() {
  is_filled_ = true;
  try {
    for (std::string& path : dataset_paths(file_)) {
      names_.emplace(reference_to(file_, path), std::move(path));
    }
  } catch (const Error& e) {
    if (!concerns_object(e)) {
      throw;
    }  // another object of the file: those that are asked for may be found
  }
}

const std::string& ReferencedNames::of(hobj_ref_t reference, const std::string& what) {
  if (!is_filled_) {
    fill();
  }
  if (const auto known = names_.find(reference); known != names_.end()) {
    return known->second;
  }
  std::string found;
  // A dataset that h5copy extracted from its file has dangling references.
  const Handle scale(H5Rdereference2(file_, H5P_DEFAULT, H5R_OBJECT, &reference));
  if (scale) {
    std::array<char, 1024> name{};
    checked(H5Iget_name(scale.get(), name.data(), name.size()), what);
    found = name[0] == '/' ? name.data() + 1 : name.data();
  } else {
    throw_storage_failure();
  }
  return names_.emplace(reference, std::move(found)).first->second;
}

std::vector<std::string> dimension_names(ReferencedNames& known, hid_t dataset,
                                         const std::string& path) {
  if (is_scale(dataset)) {
    return {path};
  }
  if (!is_attached(dataset, path)) {
    return {};
  }
  const Handle attribute = own(H5Aopen(dataset, list_name, H5P_DEFAULT), path);
  const Handle space = own(H5Aget_space(attribute.get()), path);
  const Handle type = list_type();
  const hssize_t rank = checked(H5Sget_simple_extent_npoints(space.get()), path);
  if (rank == 0 || rank > model::max_rank) {
    return {};
  }
  std::vector<hvl_t> list(static_cast<std::size_t>(rank), hvl_t{});
  check(H5Aread(attribute.get(), type.get(), list.data()), path);
  std::vector<std::string> names;
  for (const hvl_t& one : list) {
    hobj_ref_t reference = 0;  // of a scale that was not copied with the dataset
    if (one.len > 0) {
      std::memcpy(&reference, one.p, sizeof reference);
    }
    names.push_back(reference == 0 ? std::string() : known.of(reference, path));
  }
  H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, list.data());
  const bool is_complete =
      std::none_of(names.begin(), names.end(), [](const std::string& n) { return n.empty(); });
  return is_complete ? names : std::vector<std::string>{};
}

std::set<std::string> scales_of(ReferencedNames& names, hid_t file,
                                const std::vector<std::string>& datasets) {
  std::set<std::string> scales;
  for (const std::string& path : datasets) {
    const Handle dataset = own(H5Dopen2(file, path.c_str(), H5P_DEFAULT), path);
    for (const std::string& name : dimension_names(names, dataset.get(), path)) {
      if (name != path) {
        scales.insert(name);
      }
    }
  }
  return scales;
}

std::vector<std::int32_t> dimension_numbers(hid_t dataset) {
  if (!is_scale(dataset)) {
    return {};
  }
  const auto value = read_attribute(dataset, coordinates_name);
  const auto* numbers = value ? std::get_if<std::vector<std::int32_t>>(&*value) : nullptr;
  return numbers != nullptr ? *numbers : std::vector<std::int32_t>{};
}

std::map<std::int32_t, std::string> numbered_scales(hid_t file) {
  std::map<std::int32_t, std::string> scales;
  for (const std::string& path : dataset_paths(file)) {
    const Handle dataset = own(H5Dopen2(file, path.c_str(), H5P_DEFAULT), path);
    const auto id = read_attribute(dataset.get(), id_name);
    const auto* number = id ? std::get_if<std::int32_t>(&*id) : nullptr;
    if (number != nullptr && is_scale(dataset.get())) {
      scales.emplace(*number, path);
    }
  }
  return scales;
}

bool has_dimension_number(hid_t file, const std::string& path) {
  const Handle dataset = own(H5Dopen2(file, path.c_str(), H5P_DEFAULT), path);
  return is_yes(H5Aexists(dataset.get(), id_name), path);
}

std::string without_prefix(const std::string& path) {
  constexpr std::string_view prefix = "_nc4_non_coord_";
  const std::size_t at = path.rfind('/') + 1;  // 0 where there is none
  const bool has_it =
      path.compare(at, prefix.size(), prefix) == 0 && path.size() > at + prefix.size();
  return has_it ? path.substr(0, at) + path.substr(at + prefix.size()) : path;
}

bool is_plain_scale(hid_t dataset) {
  return read_text_attribute(dataset, "NAME").value_or("").starts_with(plain_title) &&
         is_scale(dataset);
}

netcdf4::Use use_of(hid_t dataset, const std::string& path) {
  const Handle space = own(H5Dget_space(dataset), path);
  if (H5Sget_simple_extent_ndims(space.get()) != 1) {
    return {path, 0, false};  // netCDF text: its characters are a dimension too
  }
  hsize_t extent = 0;
  hsize_t limit = 0;
  check(H5Sget_simple_extent_dims(space.get(), &extent, &limit), path);
  const bool is_unlimited = limit == H5S_UNLIMITED;
  return {path, is_unlimited ? 0 : extent, is_unlimited};
}

}  // namespace sluice::layout::hdf5
