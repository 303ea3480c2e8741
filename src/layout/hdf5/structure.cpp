#include "layout/hdf5/structure.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "layout/hdf5/links.hpp"
#include "layout/hdf5/padding.hpp"
#include "layout/hdf5/scales.hpp"
#include "layout/hdf5/step_groups.hpp"
#include "layout/vtkhdf/rules.hpp"
#include "model/kinds.hpp"

namespace sluice::layout::hdf5 {

namespace {

/// Those from number `first` on, before number `end`.
std::string steps_text(std::uint64_t first, std::uint64_t end) {
  return end - first == 1 ? "step " + std::to_string(first)
                          : "steps " + std::to_string(first) + " to " + std::to_string(end - 1);
}

class StructureReader {
 public:
  StructureReader(const OpenFile& file, OtherFiles& others, std::optional<PartSet> set);
  Structure read();

 private:
  /// The link by whose name a dataset is known, by the dataset's identity.
  using First = std::map<std::string, const NamedLink*>;

  bool is_own(const std::string& path) const {
    return file_.log.profile == Profile::vtkhdf && vtkhdf::is_bookkeeping(path);
  }
  bool is_mapped(const std::string& name) const { return mapped_.count(name) != 0; }
  First first_links(const std::vector<NamedLink>& links, std::size_t prefix) const;
  /// `prefix`: the length of the start of each path that is not part of a variable's name.
  void list(const std::vector<NamedLink>& links, std::size_t prefix);
  void list_other_target(const NamedLink& link, const std::string& name);
  void add_name(const std::string& name, const std::string& known_as,
                std::optional<std::size_t> variable);
  bool add_readable(const std::string& path, const std::string& name);
  void add_dataset(const std::string& path, const std::string& name);
  void add_array(const FoundArray& found);
  void find_time();
  void count_times();
  void find_lacking();
  void take_off_prefixes();
  void leave_copied_set();
  void take_compression();

  const OpenFile& file_;
  OtherFiles& others_;
  DimensionNames dimensions_;
  Padding padding_;
  std::set<std::string> stepped_in_set_;
  std::set<std::string> mapped_;        ///< variables of which the set has elements
  std::set<std::string> used_groups_;   ///< with something in them
  std::set<std::string> plain_scales_;  ///< of dimensions without coordinates
  Structure structure_;
};

StructureReader::StructureReader(const OpenFile& file, OtherFiles& others,
                                 std::optional<PartSet> set)
    : file_(file), others_(others), dimensions_(file), padding_(file, dimensions_) {
  structure_.set = std::move(set);
  structure_.steps = file.log.steps;
  if (!structure_.set) {
    return;
  }
  for (const SetVariable& variable : structure_.set->variables) {
    if (variable.stepped) {
      stepped_in_set_.insert(variable.name);
    }
  }
  for (const Mapping& mapping : structure_.set->mappings) {
    mapped_.insert(structure_.set->variables[mapping.variable].name);
  }
}

Structure StructureReader::read() {
  const Log& log = file_.log;
  list(links_below(file_.hdf5, "",
                   [&](const std::string& path) {
                     return (log.is_there && path == group_name) || is_of_steps(log.profile, path);
                   }),
       0);
  if (is_grouped(log.profile) && has_link(file_.hdf5, prototypes_name)) {
    list(links_below(file_.hdf5, prototypes_name, [](const std::string&) { return false; }),
         std::string(prototypes_name).size() + 1);
  }
  leave_copied_set();
  take_compression();
  take_off_prefixes();
  for (std::size_t v = 0; v < structure_.variables.size(); ++v) {
    structure_.arrangements[v].is_mapped = is_mapped(structure_.variables[v].definition.name);
  }
  std::copy_if(structure_.groups.begin(), structure_.groups.end(),
               std::back_inserter(structure_.empty_groups),
               [&](const std::string& group) { return used_groups_.count(group) == 0; });
  find_time();
  const bool is_stacked = log.profile == Profile::stacked || log.profile == Profile::netcdf4;
  if (log.is_there && is_stacked && !structure_.set) {
    count_times();
    find_lacking();
  }
  return std::move(structure_);
}

/// The library's own `time` has a value for every step, also where another program made only other
/// datasets longer, or only this one.
void StructureReader::count_times() {
  if (!structure_.has_time || !structure_.variables.back().definition.along_steps ||
      !is_recorded_name(file_.recorded, time_name)) {
    return;
  }
  StoredVariable& time = structure_.variables.back();
  const std::uint64_t held = time.definition.shape[0];
  structure_.steps = std::max(structure_.steps, held);
  if (held < structure_.steps) {
    structure_.arrangements.back().held = {held};
    time.definition.shape = {structure_.steps};
    time.placeable = false;
    time.filters.clear();
  }
}

/// In netCDF-4 the steps that a dataset lacks read as netCDF's default where the variable has no
/// fill value of its own: those before it read as zeros, so that both cannot have one address.
void StructureReader::find_lacking() {
  const std::uint64_t steps = structure_.steps;
  if (steps <= file_.log.steps) {
    return;
  }
  for (std::size_t v = 0; v < structure_.variables.size(); ++v) {
    StoredVariable& variable = structure_.variables[v];
    const std::uint64_t held = structure_.arrangements[v].steps;
    if (!variable.definition.stepped || held >= steps || !variable.same_as.empty()) {
      continue;
    }
    structure_.lacking.push_back(variable.definition.name + ": has no elements in " +
                                 steps_text(held, steps) + ", which another program added");
    if (file_.log.profile == Profile::netcdf4 && !variable.definition.has_fill()) {
      variable.placeable = false;
      variable.filters.clear();
    }
  }
}

/// The library's own `time` is listed last: the writer has no number for it.
void StructureReader::find_time() {
  const Log& log = file_.log;
  auto& variables = structure_.variables;
  // Not a variable of that name. In a copy by another program it may be fixed.
  const auto time = std::find_if(variables.begin(), variables.end(), [&](const auto& v) {
    return log.is_there && v.definition.name == time_name && !v.definition.stepped &&
           v.definition.shape.rank() == 1 && (v.definition.along_steps || !log.is_growable);
  });
  structure_.has_time = time != variables.end();
  if (structure_.has_time) {
    auto& arrangements = structure_.arrangements;
    const auto arranged = arrangements.begin() + (time - variables.begin());
    std::rotate(arranged, arranged + 1, arrangements.end());
    std::rotate(time, time + 1, variables.end());
  }
}

/// netCDF stores a variable that has the name of a dimension, and is not its coordinates, with a
/// prefix that none of its programs shows.
void StructureReader::take_off_prefixes() {
  std::set<std::string> names;
  for (const StoredVariable& variable : structure_.variables) {
    names.insert(variable.definition.name);
  }
  const auto shown = [&](const std::string& name) {
    const std::string without = without_prefix(name);
    const bool is_of_netcdf = file_.has_netcdf_provenance || plain_scales_.count(without) != 0;
    return is_of_netcdf && names.count(without) == 0 ? without : name;
  };
  for (StoredVariable& variable : structure_.variables) {
    const std::string name = shown(variable.definition.name);
    variable.shown_as = name == variable.definition.name ? "" : name;
  }
  for (Growing& one : structure_.growing) {
    one.name = one.is_dimension ? one.name : shown(one.name);
  }
}

/// A dataset is known by the name under which Sluice wrote it, otherwise by its first name.
StructureReader::First StructureReader::first_links(const std::vector<NamedLink>& links,
                                                    std::size_t prefix) const {
  const auto is_recorded_link = [&](const NamedLink& link) {
    return is_recorded_name(file_.recorded, link.path.substr(prefix));
  };
  First first;
  for (const NamedLink& link : links) {
    if (link.target == Target::dataset) {
      const NamedLink*& known = first.try_emplace(link.identity, &link).first->second;
      const bool is_better = is_recorded_link(link) || known->is_below_soft;
      if (is_better && !is_recorded_link(*known) && !link.is_below_soft) {
        known = &link;
      }
    }
  }
  return first;
}

void StructureReader::list(const std::vector<NamedLink>& links, std::size_t prefix) {
  const First first = first_links(links, prefix);
  std::map<std::string, std::size_t> numbers;  // of variables, by identity
  for (const NamedLink& link : links) {
    const std::string name = link.path.substr(prefix);
    if (const std::size_t slash = name.rfind('/'); slash != std::string::npos) {
      used_groups_.insert(name.substr(0, slash));
    }
    if (link.target == Target::group) {
      if (prefix == 0 || file_.log.profile == Profile::openpmd) {
        structure_.groups.push_back(name);
      }
    } else if (link.target != Target::dataset) {
      list_other_target(link, name);
    } else if (!is_own(name) && first.at(link.identity) == &link && add_readable(link.path, name)) {
      numbers[link.identity] = structure_.variables.size() - 1;
    }
  }
  padding_.apply(structure_.variables, structure_.arrangements);
  for (const NamedLink& link : links) {
    if (link.target == Target::dataset && first.at(link.identity) != &link && !is_own(link.path)) {
      const auto number = numbers.find(link.identity);
      add_name(link.path.substr(prefix), first.at(link.identity)->path.substr(prefix),
               number == numbers.end() ? std::nullopt : std::optional(number->second));
    }
  }
}

void StructureReader::list_other_target(const NamedLink& link, const std::string& name) {
  if (link.target == Target::datatype) {
    structure_.committed_types.push_back({name, "a committed type"});
    return;
  }
  if (file_.log.is_there && link.target == Target::unreadable) {
    throw Error(Code::damaged, link.path + ": " + link.why);
  }
  structure_.unreadable.push_back({name, link.why});
}

/// Another name of `known_as`; `variable`: its index, if it can be read.
void StructureReader::add_name(const std::string& name, const std::string& known_as,
                               std::optional<std::size_t> variable) {
  if (variable) {
    StoredVariable other = structure_.variables[*variable];
    other.definition.name = name;
    other.same_as = known_as;
    structure_.variables.push_back(std::move(other));
    structure_.arrangements.push_back(Arrangement(structure_.arrangements[*variable]));
    return;
  }
  const auto known = std::find_if(structure_.unreadable.begin(), structure_.unreadable.end(),
                                  [&](const UnreadableDataset& d) { return d.name == known_as; });
  if (known != structure_.unreadable.end()) {
    structure_.unreadable.push_back({name, known->type + ", the same as " + known_as});
  }
}

/// Is it a variable now?
bool StructureReader::add_readable(const std::string& path, const std::string& name) {
  const std::size_t before = structure_.variables.size();
  try {
    add_dataset(path, name);
  } catch (const Error& e) {
    if (!concerns_object(e) || is_recorded_name(file_.recorded, name)) {
      throw;
    }
    structure_.unreadable.push_back({name, std::string("not readable here: ") + e.what()});
  }
  return structure_.variables.size() != before;
}

void StructureReader::add_dataset(const std::string& path, const std::string& name) {
  const Handle dataset = own(H5Dopen2(file_.hdf5, path.c_str(), H5P_DEFAULT), path);
  if (is_plain_scale(dataset.get())) {
    plain_scales_.insert(name);
    if (!file_.log.is_there && use_of(dataset.get(), path).unlimited) {
      structure_.growing.push_back({name.substr(name.rfind('/') + 1), true});
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
  if (!stored && rank <= model::max_rank && !is_null) {
    padding_.note_unread(dataset.get(), name, extents_of(space.get()));
  }
  if (!stored || rank > model::max_rank || is_null) {
    structure_.unreadable.push_back({name, !stored   ? foreign_type(type.get())
                                           : is_null ? "no data (null dataspace)"
                                                     : "more than 8 dimensions"});
    return;
  }
  const bool is_stepped = stepped_in_set_.count(name) != 0;
  const Handle list = own(H5Dget_create_plist(dataset.get()), path);
  if (H5Pget_layout(list.get()) != H5D_VIRTUAL || is_mapped(name)) {
    add_array({dataset.get(), path, name, *stored, extents_of(space.get()), is_stepped});
    return;
  }
  const std::string missing = others_.missing_source(list.get());
  if (!missing.empty()) {
    structure_.unreadable.push_back({name, "virtual, made of other files: " + missing});
    return;
  }
  // Its length may depend on its sources.
  const Handle whole = own(H5Dopen2(others_.with_others(), path.c_str(), H5P_DEFAULT), path);
  const Handle extent(H5Dget_space(whole.get()));
  check_storage(path);
  checked(extent.get(), path);
  add_array({whole.get(), path, name, *stored, extents_of(extent.get()), is_stepped});
}

void StructureReader::add_array(const FoundArray& found) {
  if (!file_.log.is_there && found.extents.limits != found.extents.dims) {
    const bool is_dimension = is_scale(found.dataset);
    structure_.growing.push_back(
        {is_dimension ? found.name.substr(found.name.rfind('/') + 1) : found.name, is_dimension});
  }
  ReadArray array = read_array(file_, dimensions_, found);
  structure_.steps = std::max(structure_.steps, array.steps);
  padding_.note(structure_.variables.size(), found);
  structure_.variables.push_back(std::move(array.variable));
  structure_.arrangements.push_back(array.arrangement);
}

/// In a copy of a set's index by another program, a dataset may contain its elements itself: it is
/// read as it is, wherever the parts are.
void StructureReader::leave_copied_set() {
  if (!structure_.set) {
    return;
  }
  std::vector<std::string> copied;
  bool has_virtual = false;
  for (const StoredVariable& variable : structure_.variables) {
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
    structure_.set.reset();
    mapped_.clear();
    return;
  }
  structure_.set->leave(copied);
}

/// A virtual dataset has no filters: how its parts are compressed is in the set.
void StructureReader::take_compression() {
  if (!structure_.set) {
    return;
  }
  std::unordered_map<std::string_view, const SetVariable*> said;
  for (const SetVariable& variable : structure_.set->variables) {
    said.emplace(variable.name, &variable);
  }
  for (StoredVariable& variable : structure_.variables) {
    const auto found = said.find(variable.definition.name);
    if (found != said.end() && variable.filters.empty()) {
      variable.definition.compress = found->second->compress;
    }
  }
}

}  // namespace

Structure read_structure(const OpenFile& file, OtherFiles& others, std::optional<PartSet> set) {
  const QuietErrors quiet;
  return StructureReader(file, others, std::move(set)).read();
}

}  // namespace sluice::layout::hdf5
