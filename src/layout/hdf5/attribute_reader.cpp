#include "layout/hdf5/attribute_reader.hpp"

#include <algorithm>
#include <exception>
#include <functional>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/dataset_facts.hpp"
#include "layout/hdf5/fill.hpp"
#include "layout/hdf5/netcdf_attributes.hpp"
#include "layout/hdf5/scales.hpp"
#include "layout/hdf5/types.hpp"
#include "layout/openpmd/attributes.hpp"
#include "layout/openpmd/rules.hpp"
#include "layout/vtkhdf/rules.hpp"
#include "model/kinds.hpp"

namespace sluice::layout::hdf5 {

namespace {

struct Found {
  std::vector<model::Attribute>* attributes;
  std::vector<UnreadableDataset>* unread;
  std::string owner;
  bool has_flags = false;  ///< booleans as bytes
  /// Did Sluice write it?
  std::function<bool(const std::string& name)> is_known;
  const Contents* recorded;  ///< by the last commit
  std::exception_ptr failure;
};

/// Why an attribute cannot be represented as a value of Sluice.
std::string why_unread(hid_t object, const std::string& name) {
  const Handle attribute = own(H5Aopen(object, name.c_str(), H5P_DEFAULT), name);
  const Handle type = own(H5Aget_type(attribute.get()), name);
  const Handle space = own(H5Aget_space(attribute.get()), name);
  if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) {
    return "no data (null dataspace)";
  }
  const auto stored = stored_type(type.get());
  if (!stored) {
    return foreign_type(type.get());
  }
  return stored->type.kind == Kind::u64 ? "numbers above 2^63 - 1" : type_name(stored->type);
}

/// Attributes are values or lists.
bool is_list_of_lists(hid_t object, const std::string& name) {
  const Handle attribute = own(H5Aopen(object, name.c_str(), H5P_DEFAULT), name);
  const Handle space = own(H5Aget_space(attribute.get()), name);
  return checked(H5Sget_simple_extent_ndims(space.get()), name) > 1;
}

/// Not the caller's: attributes that netCDF, dimension scales and this library use themselves.
/// CLASS and NAME have other uses too (images).
bool is_internal(hid_t object, const std::string& name) {
  if (name == "CLASS" || name == "NAME") {
    return is_scale(object);
  }
  return is_own_attribute(name);
}

/// Did Sluice write this value?
bool is_recorded_value(const Contents& recorded, const model::Attribute& attribute) {
  const Contents given = contents_of({}, {attribute});
  const auto found = recorded.find(given.begin()->first);
  return found != recorded.end() && found->second == given.begin()->second;
}

/// Booleans and bytes, both bytes in netCDF: the former have no dimension, and a byte is a list of
/// one (write_netcdf_attribute). In a copy by nccopy a boolean is one too; what was committed says
/// which it is.
model::AttributeValue in_netcdf(hid_t object, const std::string& name, const Found& found,
                                model::AttributeValue value) {
  const auto is_bit = [](std::int8_t byte) { return byte == 0 || byte == 1; };
  const auto* byte = std::get_if<std::int8_t>(&value);
  if (byte != nullptr && is_bit(*byte) && is_flag(object, name)) {
    return *byte != 0;
  }
  const auto* list = std::get_if<std::vector<std::int8_t>>(&value);
  if (list == nullptr || list->size() != 1) {
    return value;
  }
  const bool flag = list->front() != 0;
  const bool was_flag =
      is_bit(list->front()) && is_recorded_value(*found.recorded, {found.owner, name, flag});
  return was_flag ? model::AttributeValue(flag) : model::AttributeValue(list->front());
}

herr_t take_attribute(hid_t object, const char* name, const H5A_info_t*, void* into) {
  auto& found = *static_cast<Found*>(into);
  const std::string what = found.owner.empty() ? "the file" : found.owner;
  try {
    if (is_internal(object, name)) {
      return 0;
    }
    auto value = read_attribute(object, name);
    if (!value) {
      if (!is_large_fill(object, name)) {
        found.unread->push_back({what + ": attribute " + name, why_unread(object, name)});
      }
    } else {
      if (is_list_of_lists(object, name)) {
        found.unread->push_back({what + ": attribute " + name, "its dimensions: kept as a list"});
      }
      if (found.has_flags) {
        value = in_netcdf(object, name, found, *std::move(value));
      }
      found.attributes->push_back({found.owner, name, std::move(*value)});
    }
    return 0;
  } catch (const Error& e) {
    if (concerns_object(e) && !found.is_known(name)) {
      found.unread->push_back({what + ": attribute " + name, e.what()});
      return 0;
    }
    found.failure = std::current_exception();
    return -1;
  } catch (...) {  // not through libhdf5, which has locks and lists to release
    found.failure = std::current_exception();
    return -1;
  }
}

}  // namespace

std::unordered_set<std::string_view> AttributeReader::in_steps() const {
  std::unordered_set<std::string_view> names;
  for (const StoredVariable& variable : variables_) {
    if (variable.definition.stepped && is_grouped(file_.log.profile)) {
      names.insert(variable.definition.name);
    }
  }
  return names;
}

std::string AttributeReader::object_of(const std::string& owner) const {
  return object_of(owner, in_steps());
}

std::string AttributeReader::object_of(const std::string& owner,
                                       const std::unordered_set<std::string_view>& in_steps) const {
  if (owner.empty()) {
    return "/";
  }
  if (in_steps.count(owner) != 0) {
    return prototype_path(owner);
  }
  if (file_.log.profile == Profile::openpmd && openpmd::is_of_iteration(owner)) {
    const std::string path = prototype_path(owner);
    return has_link(file_.hdf5, path) ? path : "";
  }
  return has_link(file_.hdf5, owner) ? owner : "";
}

void AttributeReader::take(const std::string& path, const std::string& owner,
                           const Lists& into) const {
  const std::string what = "attributes of " + path;
  const Handle object = own(H5Oopen(file_.hdf5, path.c_str(), H5P_DEFAULT), what);
  const bool is_ours = file_.log.is_there;
  Found found{
      &into.attributes,
      &into.unread,
      owner,
      is_ours && file_.log.profile == Profile::netcdf4,
      [&](const std::string& name) { return is_recorded_attribute(file_.recorded, owner, name); },
      &file_.recorded,
      nullptr};
  hsize_t position = 0;
  const herr_t status =
      H5Aiterate2(object.get(), H5_INDEX_NAME, H5_ITER_NATIVE, &position, take_attribute, &found);
  if (found.failure) {
    std::rethrow_exception(found.failure);
  }
  if (status < 0 && !is_ours) {
    try {
      check(status, what);
    } catch (const Error& e) {
      if (!concerns_object(e)) {
        throw;
      }
      into.unread.push_back({(owner.empty() ? "the file" : owner) + ": attributes", e.what()});
      return;
    }
  }
  check(status, what);
}

bool AttributeReader::has_any(const std::string& path) const {
  const QuietErrors quiet;
  std::vector<model::Attribute> attributes;
  std::vector<UnreadableDataset> unread;
  take(path, path, {attributes, unread});
  return !attributes.empty() || !unread.empty();
}

/// The file, the groups with or without variables, and the variables.
std::vector<std::string> AttributeReader::owners() const {
  std::vector<std::string> owners = groups_;
  owners.push_back("");
  for (const StoredVariable& variable : variables_) {
    const std::string& name = variable.definition.name;
    for (std::size_t at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
      owners.push_back(name.substr(0, at));
    }
    owners.push_back(name);
  }
  std::sort(owners.begin(), owners.end());
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  return owners;
}

std::vector<model::Attribute> AttributeReader::read(std::vector<UnreadableDataset>& unread) const {
  const QuietErrors quiet;
  const Profile profile = file_.log.profile;
  std::vector<model::Attribute> attributes;
  const Lists into{attributes, unread};
  const std::unordered_set<std::string_view> in_steps = this->in_steps();
  for (const std::string& owner : owners()) {
    const std::string path = object_of(owner, in_steps);
    if (path.empty() || (profile == Profile::vtkhdf && vtkhdf::is_bookkeeping(owner))) {
      continue;
    }
    take(path, owner, into);
  }
  if (profile == Profile::openpmd) {
    std::erase_if(attributes, [](const model::Attribute& a) {
      return a.owner.empty() && openpmd::is_of_standard(a.name);
    });
  }
  if (is_grouped(profile) && file_.log.steps != 0) {
    take_those_of_times(into);
  }
  return attributes;
}

void AttributeReader::take_those_of_times(const Lists& into) const {
  const bool is_openpmd = file_.log.profile == Profile::openpmd;
  std::vector<model::Attribute> of_step;
  take(file_.log.group_of(file_.log.steps - 1), time_name, {of_step, into.unread});
  for (model::Attribute& attribute : of_step) {
    if (is_openpmd && attribute.name != time_name) {
      into.attributes.push_back(std::move(attribute));
    } else if (!is_openpmd && attribute.name.starts_with(time_prefix)) {
      attribute.name.erase(0, time_prefix.size());
      into.attributes.push_back(std::move(attribute));
    }
  }
  if (is_openpmd) {
    const std::vector<std::uint64_t>& numbers = file_.log.step_numbers;
    into.attributes.push_back({time_name, openpmd::iterations_attribute,
                               std::vector<std::int64_t>(numbers.begin(), numbers.end())});
  }
}

}  // namespace sluice::layout::hdf5
