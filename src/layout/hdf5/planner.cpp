#include "layout/hdf5/planner.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "codec/plugins.hpp"
#include "codec/quantise.hpp"
#include "layout/hdf5/catalog.hpp"
#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/types.hpp"

namespace sluice::layout::hdf5 {

Hdf5Planner::Hdf5Planner(storage::File& file, const PlannerOptions& options, Profile profile)
    : file_(file), options_(options), profile_(profile) {
  state_.file = &file_;
  state_.writable = true;
}

std::unique_ptr<Hdf5Planner> Hdf5Planner::create(storage::File& file, const PlannerOptions& options,
                                                 Profile profile) {
  std::unique_ptr<Hdf5Planner> planner(new Hdf5Planner(file, options, profile));
  planner->open_new();
  return planner;
}

std::unique_ptr<Hdf5Planner> Hdf5Planner::append(storage::File& file,
                                                 const PlannerOptions& options) {
  std::unique_ptr<Hdf5Planner> planner(new Hdf5Planner(file, options, Profile::stacked));
  planner->load_known();
  planner->open_existing();
  return planner;
}

Hdf5Planner::~Hdf5Planner() { close(); }

void Hdf5Planner::close() noexcept {
  const QuietErrors quiet;
  for (Made& made : made_) {
    made.dataset.reset();
  }
  own_ = {};
  creation_order_.reset();
  hdf5_.reset();
}

void Hdf5Planner::open_new() {
  const QuietErrors quiet;
  const Handle access = access_list(state_);
  check(H5Pset_alignment(access.get(), options_.threshold_bytes, options_.alignment_bytes),
        "alignment");
  const Handle creation = ordered_list(H5P_FILE_CREATE);
  // Free lists would use the gap before an aligned address, below the frontier, for small raw data
  // of a later step.
  check(H5Pset_file_space_strategy(creation.get(), H5F_FSPACE_STRATEGY_NONE, 0, 1),
        "file space strategy");
  creation_order_ = ordered_list(H5P_GROUP_CREATE);
  hdf5_ = own(H5Fcreate(file_.path().c_str(), H5F_ACC_TRUNC, creation.get(), access.get()),
              file_.path());
  scales_.clear();
  make_log();
  contents_changed_ = true;
}

void Hdf5Planner::open_existing() {
  const QuietErrors quiet;
  const Handle access = access_list(state_);
  check(H5Pset_alignment(access.get(), options_.threshold_bytes, options_.alignment_bytes),
        "alignment");
  creation_order_ = ordered_list(H5P_GROUP_CREATE);
  hdf5_ = own(H5Fopen(file_.path().c_str(), H5F_ACC_RDWR, access.get()), file_.path());
  on_disk_ = true;
  state_.frontier = committed_.frontier = state_.end_of_allocation;
  if (profile_ == Profile::netcdf4 || names_dimensions()) {
    scales_.load(hdf5_.get());
  }
}

namespace {

/// The definition by which chunks are encoded with exactly the filters of the dataset. Another
/// program may have chosen others than those of an option: a shuffle for bytes and text, a
/// compressor for single values.
model::Definition with_filters(const StoredVariable& stored) {
  model::Definition definition = stored.definition;
  if (!stored.filters.empty() && pipeline_of(definition) != stored.filters) {
    const auto rounding = codec::parse_compression(definition.compress).rounding;
    definition.compress =
        (rounding ? rounding->text() + "+" : "") + codec::stored_text(stored.filters);
  }
  return definition;
}

}  // namespace

void Hdf5Planner::load_known() {
  const auto catalog = Catalog::open(file_);
  catalog->require_ours();
  if (catalog->set() != nullptr) {
    throw Error(Code::unsupported, file_.path() +
                                       ": is the index of a set of parts: append with "
                                       "strategy file-per-process or file-per-node");
  }
  catalog->require_growable();
  profile_ = catalog->profile();
  for (const StoredVariable& stored : catalog->variables()) {
    if (!stored.same_as.empty()) {
      continue;  // is planned under its first name
    }
    if (stored.storage.rfind("chunked, ", 0) == 0 && stored.definition.compress.empty()) {
      throw Error(Code::unsupported, file_.path() + ": " + stored.definition.name + " is " +
                                         stored.storage +
                                         ", which this build cannot write: write a new file");
    }
    if (is_grouped(profile_) && stored.definition.stepped && !stored.filters.empty()) {
      throw Error(Code::unsupported,
                  file_.path() + ": " + stored.definition.name + " is " + stored.storage +
                      ", which steps in groups of their own are not: " + append_remedy);
    }
    definitions_.push_back(with_filters(stored));
    Made made;
    made.exists = made.committed = true;
    made.is_big_endian = stored.big_endian;
    made.tile = stored.tile;
    made.slot = catalog->slot(static_cast<std::uint32_t>(&stored - catalog->variables().data()));
    made_.push_back(std::move(made));
  }
  if (is_grouped(profile_)) {
    const auto attributes = catalog->attributes();
    std::copy_if(
        attributes.begin(), attributes.end(), std::back_inserter(inherited_),
        [&](const model::Attribute& a) {
          return (is_variable(a.owner) || a.owner == time_name || is_openpmd_part(a.owner)) &&
                 !is_iteration(a);
        });
    numbers_ = catalog->step_numbers();
  }
  steps_ = catalog->steps();
  rows_ = catalog->commits().size();
  has_time_ = catalog->has_time();
  checksum_chunk_words_ = catalog->checksum_chunk_words();
  checksum_chunks_ = catalog->checksum_chunks();
  committed_ = counters();
}

void Hdf5Planner::define(const model::Definition& definition) {
  definitions_.push_back(definition);
  made_.emplace_back();
}

void Hdf5Planner::set_attribute(const model::Attribute& attribute) {
  pending_.push_back(attribute);
}

MetadataUpdate Hdf5Planner::seal() {
  const QuietErrors quiet;
  apply_attributes();
  write_contents();
  scales_.seal(hdf5_.get());
  check(H5Fflush(hdf5_.get(), H5F_SCOPE_GLOBAL), file_.path());
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

void Hdf5Planner::write_contents() {
  if (contents_changed_) {
    Catalog::write_contents(hdf5_.get(), contents());
    contents_changed_ = false;
  }
}

Contents Hdf5Planner::contents() {
  const auto read_back = [&] {
    return Catalog::contents_of(hdf5_.get(), file_, profile_, nullptr);
  };
  // In the other profiles attributes of Sluice's own depend on more than what a FirstCommit holds.
  const bool is_plain = profile_ == Profile::stacked || profile_ == Profile::netcdf4;
  if (!is_plain || on_disk_ || !under_way_.empty()) {
    return read_back();
  }
  KnownContents& known = KnownContents::of_process();
  FirstCommit first = first_commit();
  if (auto contents = known.find(first)) {
    return *std::move(contents);
  }
  Contents contents = read_back();
  known.keep(std::move(first), contents);
  return contents;
}

FirstCommit Hdf5Planner::first_commit() const {
  FirstCommit commit{profile_, has_time_, {}, applied_};
  for (std::size_t v = 0; v < definitions_.size(); ++v) {
    if (made_[v].exists) {
      commit.definitions.push_back(definitions_[v]);
    }
  }
  return commit;
}

Hdf5Planner::Counters Hdf5Planner::counters() const {
  return {
      steps_,         rows_, checksum_chunks_, checksum_chunk_words_, has_time_, inherited_.size(),
      state_.frontier};
}

void Hdf5Planner::planned() {
  state_.frontier = std::max(state_.frontier, state_.end_of_allocation);
  state_.end_of_file = std::max(state_.end_of_file, state_.end_of_allocation);
  state_.under_way.push_back(std::exchange(state_.overlay, {}));
  UnderWay commit;
  commit.counters = counters();
  for (const Made& made : made_) {
    commit.made.push_back(made.exists);
  }
  commit.applied = std::exchange(applied_, {});
  under_way_.push_back(std::move(commit));
}

void Hdf5Planner::committed() {
  const UnderWay& commit = under_way_.front();
  for (std::size_t v = 0; v < commit.made.size(); ++v) {
    made_[v].committed = commit.made[v];
  }
  committed_ = commit.counters;
  under_way_.pop_front();
  state_.under_way.pop_front();
  on_disk_ = true;
}

void Hdf5Planner::abandon() {
  close();
  state_.overlay.clear();
  state_.under_way.clear();
  state_.noted.reset();
  state_.failure.clear();
  state_.frontier = committed_.frontier;
  for (Made& made : made_) {
    made.exists = made.committed;
  }
  under_way_.push_back({{}, {}, std::move(applied_)});
  for (auto commit = under_way_.rbegin(); commit != under_way_.rend(); ++commit) {
    pending_.insert(pending_.begin(), commit->applied.begin(), commit->applied.end());
  }
  under_way_.clear();
  applied_.clear();
  steps_ = committed_.steps;
  rows_ = committed_.rows;
  checksum_chunks_ = committed_.checksum_chunks;
  checksum_chunk_words_ = committed_.checksum_chunk_words;
  has_time_ = committed_.has_time;
  contents_changed_ = true;  // the file may be older than them
  inherited_.resize(committed_.inherited);
  numbers_.resize(std::min<std::size_t>(numbers_.size(), steps_));
  if (on_disk_) {
    open_existing();
  } else {
    open_new();
  }
}

}  // namespace sluice::layout::hdf5
