#include "layout/hdf5/catalog.hpp"

#include <algorithm>
#include <array>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/fill.hpp"
#include "layout/hdf5/index.hpp"
#include "layout/hdf5/signature.hpp"
#include "layout/hdf5/types.hpp"
#include "layout/netcdf4/scales.hpp"
#include "layout/openpmd/rules.hpp"

namespace sluice::layout::hdf5 {

using model::Dims;

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
    throw_storage_failure();
    throw library_error(file.path() + ": cannot be opened");
  }
  hdf5_ = Handle(opened);
  has_netcdf_provenance_ = is_yes(H5Aexists(opened, "_NCProperties"), file.path());
}

const char* Catalog::format() const { return profile_name(profile_); }

std::string Catalog::title() const {
  if (profile_ == Profile::vtkhdf) {
    return "VTKHDF";
  }
  if (profile_ == Profile::netcdf4 || has_netcdf_provenance_) {
    return "netCDF-4";
  }
  return profile_ == Profile::openpmd   ? "openPMD"
         : profile_ == Profile::grouped ? "HDF5, a group a step"
                                        : "HDF5";
}

bool Catalog::is_of_netcdf() const {
  if (ours_) {
    return profile_ == Profile::netcdf4;
  }
  if (has_netcdf_provenance_) {
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
  is_part_ = is_yes(H5Aexists(group.get(), part_id_name), state_.file->path());
  recorded_ = read_contents(group.get(), state_.file->path());
  const auto layout_name = read_text_attribute(group.get(), layout_attribute);
  const auto profile = layout_name ? find_profile(*layout_name) : Profile::stacked;
  if (!profile) {
    throw Error(Code::version, state_.file->path() + ": /sluice names an unknown layout: " +
                                   *layout_name + ": use a newer Sluice");
  }
  profile_ = *profile;
  const Handle dataset = own(H5Dopen2(hdf5_.get(), commits_name, H5P_DEFAULT), commits_name);
  const Handle space = own(H5Dget_space(dataset.get()), commits_name);
  const Extents extents = extents_of(space.get());
  if (extents.dims.rank() != 2 || extents.dims[1] != CommitRow::words) {
    throw Error(Code::damaged, state_.file->path() + ": /sluice/commits has a wrong shape");
  }
  // A row is 64 bytes of the file: a table that claims more rows than the file can hold is damaged.
  if (extents.dims[0] > state_.file->size() / (CommitRow::words * 8)) {
    throw Error(Code::damaged, state_.file->path() + ": /sluice/commits claims too many rows");
  }
  const Handle list = own(H5Dget_create_plist(dataset.get()), commits_name);
  is_log_growable_ = H5Pget_layout(list.get()) == H5D_CHUNKED;
  std::vector<std::uint64_t> words(extents.dims.volume());
  if (!words.empty()) {
    check(H5Dread(dataset.get(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, words.data()),
          commits_name);
  }
  for (std::size_t at = 0; at < words.size(); at += CommitRow::words) {
    commits_.push_back(CommitRow::unpack(std::span(words).subspan(at).first<CommitRow::words>()));
    if (commits_.back().step != CommitRow::no_step) {
      // Steps are consecutive; a number from a damaged row would be used as a size.
      if (commits_.back().step > steps_) {
        throw Error(Code::damaged, state_.file->path() + ": /sluice/commits skips a step");
      }
      steps_ = commits_.back().step + 1;
      step_numbers_.resize(steps_);
      step_numbers_.back() = commits_.back().number;
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
  if (words.rank() != 1) {
    throw Error(Code::damaged, state_.file->path() + ": /sluice/checksums has a wrong shape");
  }
  const bool is_chunked = H5Pget_layout(list.get()) == H5D_CHUNKED;
  if (is_chunked && (H5Pget_chunk(list.get(), 1, &chunk) != 1 || chunk == 0)) {
    throw Error(Code::damaged, state_.file->path() + ": /sluice/checksums has a wrong layout");
  }
  // The copy of another program may be contiguous, or in chunks that its end does not fill.
  const bool is_plain = is_chunked && words[0] % chunk == 0 &&
                        checked(H5Pget_nfilters(list.get()), checksums_name) == 0;
  is_log_growable_ = is_log_growable_ && is_plain;
  checksum_chunk_words_ = is_plain ? chunk : words[0];
  checksum_chunks_ = is_plain ? words[0] / chunk : 1;
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
  const bool has_groups = hdf5::is_grouped(profile_);
  bool grows = is_log_growable_;
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
    throw Error(Code::unsupported,
                state_.file->path() +
                    ": is a copy by another program whose steps cannot grow: " + append_remedy);
  }
}

bool Catalog::is_grouped(std::uint32_t variable) const {
  return hdf5::is_grouped(profile_) && variables_[variable].definition.stepped;
}

std::string Catalog::group_of(std::uint64_t step) const {
  return profile_ == Profile::openpmd && step < step_numbers_.size()
             ? openpmd::group_of(step_numbers_[step])
             : step_group(step);
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
    path = group_of(step);
    path += "/" + name;
    if (!has_link(hdf5_.get(), path)) {
      return -1;
    }
  }
  open.step = step;
  const hid_t file = is_virtual_of_others(variable) ? with_others() : hdf5_.get();
  open.handle = own(H5Dopen2(file, path.c_str(), H5P_DEFAULT), path);
  return open.handle.get();
}

}  // namespace sluice::layout::hdf5
