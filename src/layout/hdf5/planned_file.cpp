#include "layout/hdf5/planned_file.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/links.hpp"

namespace sluice::layout::hdf5 {

namespace {

/// Does libhdf5 note what is free while the file is open? Copies of other programs are so. Error
/// unsupported if it would give that to raw data all the same.
bool keeps_free_lists(hid_t file, Profile profile, const std::string& path) {
  const Handle list = own(H5Fget_create_plist(file), path);
  H5F_fspace_strategy_t strategy = H5F_FSPACE_STRATEGY_NONE;
  hbool_t is_persistent = false;
  hsize_t threshold = 0;
  check(H5Pget_file_space_strategy(list.get(), &strategy, &is_persistent, &threshold), path);
  // In pages raw data also gets what large metadata has left, as attributes that are set anew with
  // a step do.
  if (is_persistent || (is_grouped(profile) && strategy == H5F_FSPACE_STRATEGY_PAGE)) {
    throw Error(Code::unsupported, path +
                                       ": another program chose a file space strategy with which "
                                       "steps cannot be appended: " +
                                       append_remedy);
  }
  return strategy != H5F_FSPACE_STRATEGY_NONE;
}

}  // namespace

PlannedFile::PlannedFile(storage::File& storage, const PlannerOptions& options, Profile profile)
    : storage_(storage), options_(options), profile_(profile) {
  state_.file = &storage_;
  state_.writable = true;
}

Handle PlannedFile::access() {
  Handle list = access_list(state_);
  check(H5Pset_alignment(list.get(), options_.threshold_bytes, options_.alignment_bytes),
        "alignment");
  return list;
}

void PlannedFile::create() {
  const QuietErrors quiet;
  const Handle access = this->access();
  const Handle creation = ordered_list(H5P_FILE_CREATE);
  // Free lists would use the gap before an aligned address, below the frontier, for small raw data
  // of a later step.
  check(H5Pset_file_space_strategy(creation.get(), H5F_FSPACE_STRATEGY_NONE, 0, 1),
        "file space strategy");
  group_list_ = ordered_list(H5P_GROUP_CREATE);
  hdf5_ = own(H5Fcreate(path().c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), path());
}

void PlannedFile::open() {
  const QuietErrors quiet;
  const Handle access = this->access();
  group_list_ = ordered_list(H5P_GROUP_CREATE);
  state_.overlay.clear();  // a close adds nothing to what is planned
  hdf5_ = own(H5Fopen(path().c_str(), H5F_ACC_RDWR, access.get()), path());
  state_.frontier = state_.end_of_allocation;
  keeps_free_lists_ = keeps_free_lists(id(), profile_, path());
  is_stale_ = false;
}

void PlannedFile::close() noexcept {
  const QuietErrors quiet;
  group_list_.reset();
  hdf5_.reset();
}

void PlannedFile::make_group(const std::string& path) { make_groups_above(path + "/x"); }

void PlannedFile::make_groups_above(const std::string& path) {
  hdf5::make_groups_above(id(), path, group_list_.get());
}

hid_t PlannedFile::opened(Handle& dataset, const char* path, int rank) {
  if (!dataset) {
    Handle opened = own(H5Dopen2(id(), path, H5P_DEFAULT), path);
    dims_of(opened.get(), rank, path);
    dataset = std::move(opened);
  }
  return dataset.get();
}

void PlannedFile::throw_refused(const std::string& what) {
  const std::optional<Error> failure = take_storage_failure();
  const std::string why = state_.failure.empty() ? last_error() : state_.failure;
  state_.failure.clear();
  throw Error(failure ? failure->code() : Code::internal, what + ": " + why);
}

std::uint64_t PlannedFile::place_contiguous(hid_t dataset, const model::Definition& definition) {
  const haddr_t address = H5Dget_offset(dataset);
  if (address != HADDR_UNDEF) {
    return address;
  }
  check_no_error(definition.name);
  // A coordinate variable that was created for its dimension: a write makes libhdf5 allocate.
  const std::uint64_t bytes = definition.bytes_per_step();
  const Handle type = type_in_file(profile_, definition.type);
  const void* placeholder = state_.placeholder.reserve(bytes);
  if (H5Dwrite(dataset, type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, placeholder) < 0) {
    throw_refused(definition.name + ": allocating");
  }
  return state_.take_noted(bytes, definition.name).offset;
}

std::uint64_t PlannedFile::place_chunk(hid_t dataset, const hsize_t* at, std::uint64_t chunk_bytes,
                                       const std::string& name, std::uint32_t mask) {
  const void* placeholder = state_.placeholder.reserve(chunk_bytes);
  if (H5Dwrite_chunk(dataset, H5P_DEFAULT, mask, at, chunk_bytes, placeholder) < 0) {
    throw_refused(name + ": placing a chunk");
  }
  return state_.take_noted(chunk_bytes, name).offset;
}

MetadataUpdate PlannedFile::flush() {
  check(H5Fflush(id(), H5F_SCOPE_GLOBAL), path());
  if (!state_.failure.empty()) {
    throw Error(Code::io, std::exchange(state_.failure, {}));
  }
  // The superblock of versions 2 and 3 is 48 bytes at address 0; every reader starts with it.
  constexpr std::uint64_t superblock_bytes = 48;
  MetadataUpdate update;
  update.end = state_.end_of_allocation;
  const std::uint64_t bounds[] = {superblock_bytes, std::max(superblock_bytes, state_.frontier),
                                  absent};
  std::vector<MetadataRun>* const lists[] = {&update.root, &update.in_place, &update.fresh};
  for (const auto& [offset, bytes] : state_.overlay.runs()) {
    std::uint64_t at = offset;
    const std::uint64_t end = offset + bytes.size();
    for (int part = 0; part < 3 && at < end; ++part) {
      const std::uint64_t stop = std::min(end, bounds[part]);
      if (at < stop) {
        const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(at - offset);
        const auto last = bytes.begin() + static_cast<std::ptrdiff_t>(stop - offset);
        lists[part]->push_back({at, std::vector<std::byte>(first, last)});
        at = stop;
      }
    }
  }
  return update;
}

void PlannedFile::planned() {
  state_.frontier = std::max(state_.frontier, state_.end_of_allocation);
  state_.end_of_file = std::max(state_.end_of_file, state_.end_of_allocation);
  state_.under_way.push_back(std::exchange(state_.overlay, {}));
  is_stale_ = keeps_free_lists_;
}

void PlannedFile::forget_uncommitted(std::uint64_t frontier) {
  state_.overlay.clear();
  state_.under_way.clear();
  state_.noted.reset();
  state_.failure.clear();
  state_.frontier = frontier;
  has_new_contents_ = true;  // the file may be older than them
}

}  // namespace sluice::layout::hdf5
