#include "layout/hdf5/catalog.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <utility>

#include "codec/plugins.hpp"
#include "layout/hdf5/part_identity.hpp"
#include "layout/hdf5/signature.hpp"
#include "layout/hdf5/vtkhdf_parts.hpp"

namespace sluice::layout::hdf5 {

namespace {

Handle open_through(DriverState& state, storage::File& file) {
  if (!has_signature(file)) {
    throw Error(Code::format, file.path() + ": not an HDF5 file (no signature)");
  }
  const QuietErrors quiet;
  state.file = &file;
  const Handle access = access_list(state);
  const hid_t opened = H5Fopen(file.path().c_str(), H5F_ACC_RDONLY, access.get());
  if (opened < 0) {
    throw_storage_failure();
    throw library_error(file.path() + ": cannot be opened");
  }
  return Handle(opened);
}

bool has_provenance_of_netcdf(hid_t file, const std::string& path) {
  const QuietErrors quiet;
  return is_yes(H5Aexists(file, "_NCProperties"), path);
}

/// A variable whose plugins are missing has no filters that are known, as one that cannot grow.
void require_plugins(hid_t file, const StoredVariable& variable, const std::string& path) {
  if (!variable.filters.empty() || variable.storage.rfind("chunked, ", 0) != 0 ||
      !has_link(file, path)) {
    return;
  }
  const Handle dataset = own(H5Dopen2(file, path.c_str(), H5P_DEFAULT), path);
  const Handle list = own(H5Dget_create_plist(dataset.get()), path);
  const codec::Pipeline filters = all_filters_of(list.get());
  try {
    codec::require_plugins(filters);
  } catch (const Error& e) {
    throw Error(e.code(), variable.definition.name + ": " + e.what());
  }
}

}  // namespace

std::unique_ptr<Catalog> Catalog::open(storage::File& file) {
  return naming(file.path(), [&] { return std::unique_ptr<Catalog>(new Catalog(file)); });
}

Catalog::Catalog(storage::File& file)
    : hdf5_(open_through(state_, file)),
      others_(file),
      file_{hdf5_.get(), file, log_, recorded_, has_provenance_of_netcdf(hdf5_.get(), file.path())},
      attributes_(file_, variables_, groups_),
      datasets_(file_, others_, variables_, arrangements_),
      locator_(state_, datasets_),
      elements_(file_, others_, datasets_, locator_) {
  LogContent content = read_log(hdf5_.get(), file);
  log_ = std::move(content.log);
  recorded_ = std::move(content.recorded);
  commits_ = std::move(content.commits);
  ours_ = log_.is_there;
  is_part_ = log_.is_part;
  Structure structure =
      read_structure(file_, others_, read_set(hdf5_.get(), file.path(), file.size()));
  variables_ = std::move(structure.variables);
  arrangements_ = std::move(structure.arrangements);
  unreadable_ = std::move(structure.unreadable);
  growing_ = std::move(structure.growing);
  groups_ = std::move(structure.groups);
  empty_groups_ = std::move(structure.empty_groups);
  committed_types_ = std::move(structure.committed_types);
  set_ = std::move(structure.set);
  steps_ = structure.steps;
  has_time_ = structure.has_time;
  lacking_ = std::move(structure.lacking);
  read_added_times();
}

void Catalog::read_added_times() {
  if (!ours_ || set_ || steps_ <= log_.steps) {
    return;
  }
  added_times_.resize(steps_ - log_.steps, std::nan(""));
  if (has_time_) {
    const auto time = static_cast<std::uint32_t>(variables_.size() - 1);
    elements_.read(time, 0, {{log_.steps}, {added_times_.size()}},
                   std::as_writable_bytes(std::span(added_times_)));
  }
}

const char* Catalog::format() const { return profile_name(log_.profile); }

std::string Catalog::title() const {
  if (log_.profile == Profile::vtkhdf) {
    return "VTKHDF";
  }
  if (log_.profile == Profile::netcdf4 || file_.has_netcdf_provenance) {
    return "netCDF-4";
  }
  return log_.profile == Profile::openpmd   ? "openPMD"
         : log_.profile == Profile::grouped ? "HDF5, a group a step"
                                            : "HDF5";
}

bool Catalog::is_of_netcdf() const {
  if (ours_) {
    return log_.profile == Profile::netcdf4;
  }
  if (file_.has_netcdf_provenance) {
    return true;
  }
  const QuietErrors quiet;
  // Before 4.4.1 it did not say so.
  return std::any_of(variables_.begin(), variables_.end(), [&](const StoredVariable& variable) {
    const std::string& name = variable.definition.name;
    const Handle dataset = own(H5Dopen2(hdf5_.get(), name.c_str(), H5P_DEFAULT), name);
    return is_yes(H5Aexists(dataset.get(), "_Netcdf4Dimid"), name);
  });
}

void Catalog::require_ours() const {
  if (!ours_) {
    throw Error(Code::format,
                state_.file->path() + ": not written by Sluice: steps cannot be appended to it");
  }
}

bool Catalog::has_plain_edges(const StoredVariable& variable) const {
  const model::Definition& definition = variable.definition;
  if (variable.filters.empty() || definition.along_steps) {
    return false;
  }
  bool is_cut = false;
  for (int d = 0; d < variable.tile.rank(); ++d) {
    is_cut = is_cut || definition.shape[d] % variable.tile[d] != 0;
  }
  if (!is_cut) {
    return false;
  }
  const std::string& name = definition.name;
  const Handle dataset = own(H5Dopen2(hdf5_.get(), name.c_str(), H5P_DEFAULT), name);
  return hdf5::has_plain_edges(dataset.get(), name);
}

void Catalog::require_growable() const {
  const QuietErrors quiet;
  const bool has_groups = hdf5::is_grouped(log_.profile);
  bool grows = log_.is_growable;
  for (const StoredVariable& variable : variables_) {
    const bool is_chunked = variable.storage.rfind("chunked", 0) == 0;
    const bool has_place = variable.placeable || !variable.filters.empty();
    // libhdf5 would write into the other files by its own calls of the system.
    grows = grows && variable.storage != "external" &&
            (!variable.definition.stepped || has_groups || (is_chunked && has_place)) &&
            (!has_groups || has_place);
    // Elements are written in the order of bytes of this machine, and every chunk through the
    // filters.
    grows = grows && !(variable.definition.stepped && variable.big_endian) &&
            ((variable.definition.stepped && has_groups) || !has_plain_edges(variable));
  }
  if (!grows) {
    for (const StoredVariable& variable : variables_) {
      const std::string& name = variable.definition.name;
      const bool is_in_group = variable.definition.stepped && has_groups && steps_ > 0;
      require_plugins(hdf5_.get(), variable,
                      is_in_group ? log_.group_of(steps_ - 1) + "/" + name : name);
    }
    throw Error(Code::unsupported,
                state_.file->path() +
                    ": is a copy by another program whose steps cannot grow: " + append_remedy);
  }
}

void Catalog::require_equal_steps() const {
  for (std::size_t v = 0; v < variables_.size(); ++v) {
    const model::Definition& definition = variables_[v].definition;
    const std::uint64_t held = arrangements_[v].steps;
    if (!definition.stepped || arrangements_[v].slot != 0 || hdf5::is_grouped(log_.profile) ||
        held == steps_) {
      continue;
    }
    const std::string what = state_.file->path() + ": " + definition.name + " has " +
                             std::to_string(held) + " steps, the file has " +
                             std::to_string(steps_);
    if (held > steps_) {
      throw Error(Code::unsupported, what + ": another program made it longer: write a new file");
    }
    // Those that it lacks would read as zeros.
    if (steps_ > log_.steps && !definition.has_fill()) {
      throw Error(
          Code::unsupported,
          what + ", because another program added steps to other variables only: " + append_remedy);
    }
  }
}

std::vector<model::Attribute> Catalog::attributes() {
  unread_attributes_.clear();
  return attributes_.read(unread_attributes_);
}

std::vector<UnreadableDataset> Catalog::other_objects() {
  const QuietErrors quiet;
  std::vector<UnreadableDataset> all = committed_types_;
  for (const std::string& group : empty_groups_) {
    if (!attributes_.has_any(attributes_.object_of(group))) {
      all.push_back({group, "an empty group"});
    }
  }
  const StepGroups steps = step_groups();
  const std::vector<NamedLink> links = steps.others(hdf5_.get());
  std::set<std::string> filled;
  for (const NamedLink& link : links) {
    filled.insert(link.path.substr(0, link.path.rfind('/')));
  }
  for (const NamedLink& link : links) {
    if (link.target != Target::group) {
      all.push_back({link.path, "of another program, in the group of a step"});
    } else if (filled.count(link.path) == 0 &&
               !(steps.has_standard() && attributes_.has_any(link.path))) {
      all.push_back({link.path, "an empty group of another program, in the group of a step"});
    }
  }
  if (!steps.has_standard()) {
    steps.visit_attributes(hdf5_.get(), [&](const std::string& path, const std::string& name) {
      all.push_back({path + ": attribute " + name, "of another program, in the group of a step"});
    });
  }
  return all;
}

Placement Catalog::locate(std::uint32_t variable, std::uint64_t step, const model::Box& region) {
  return locator_.locate(variable, step, region);
}

EncodedTiles Catalog::locate_encoded(std::uint32_t variable, std::uint64_t step,
                                     const model::Box& region) {
  return locator_.locate_encoded(variable, step, region);
}

void Catalog::read(std::uint32_t variable, std::uint64_t step, const model::Box& box,
                   std::span<std::byte> out) {
  elements_.read(variable, step, box, out);
}

std::vector<std::uint64_t> Catalog::rows_by_step(std::uint32_t variable) {
  return elements_.rows_by_step(variable, steps_);
}

std::vector<std::uint64_t> Catalog::parts(std::uint32_t variable, std::uint64_t step) {
  return parts_of_array(file_, variables_.at(variable).definition.name, step);
}

std::vector<std::uint64_t> Catalog::checksum_words(const CommitRow& commit) {
  return read_checksum_words(hdf5_.get(), *state_.file, log_, commit);
}

}  // namespace sluice::layout::hdf5
