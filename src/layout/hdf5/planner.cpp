#include "layout/hdf5/planner.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "codec/plugins.hpp"
#include "codec/quantise.hpp"
#include "layout/hdf5/catalog.hpp"
#include "layout/hdf5/contents.hpp"
#include "layout/hdf5/file_contents.hpp"
#include "layout/hdf5/netcdf_attributes.hpp"
#include "layout/rounding.hpp"

namespace sluice::layout::hdf5 {

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

/// Error unsupported if Sluice cannot append to the file.
void require_appendable(const Catalog& catalog, const std::string& path) {
  catalog.require_ours();
  if (catalog.set() != nullptr) {
    throw Error(Code::unsupported, path +
                                       ": is the index of a set of parts: append with "
                                       "strategy file-per-process or file-per-node");
  }
  catalog.require_equal_steps();  // first: it says why
  catalog.require_growable();
}

/// The same for a variable.
void require_appendable(const StoredVariable& stored, Profile profile, const std::string& path) {
  const std::string what = path + ": " + stored.definition.name + " is " + stored.storage;
  if (stored.storage.rfind("chunked, ", 0) == 0 && stored.definition.compress.empty()) {
    throw Error(Code::unsupported, what + ", which this build cannot write: " + append_remedy);
  }
  if (is_grouped(profile) && stored.definition.stepped && !stored.filters.empty()) {
    throw Error(Code::unsupported,
                what + ", which steps in groups of their own are not: " + append_remedy);
  }
}

}  // namespace

Hdf5Planner::Hdf5Planner(storage::File& file, const PlannerOptions& options, Profile profile)
    : file_(file, options, profile),
      variables_(file_),
      attributes_(file_, variables_),
      log_(file_, scales_),
      grouped_(file_, variables_, attributes_),
      vtkhdf_(file_, variables_, attributes_),
      datasets_(file_, variables_, vtkhdf_),
      dimensions_(file_, variables_, datasets_, scales_) {}

std::unique_ptr<Hdf5Planner> Hdf5Planner::create(storage::File& file, const PlannerOptions& options,
                                                 Profile profile) {
  std::unique_ptr<Hdf5Planner> planner(new Hdf5Planner(file, options, profile));
  planner->open_new();
  return planner;
}

std::unique_ptr<Hdf5Planner> Hdf5Planner::append(storage::File& file,
                                                 const PlannerOptions& options) {
  std::unique_ptr<Catalog> catalog = Catalog::open(file);
  require_appendable(*catalog, file.path());
  std::unique_ptr<Hdf5Planner> planner(new Hdf5Planner(file, options, catalog->profile()));
  planner->load(*catalog);
  catalog.reset();  // closes its file before that is opened for writing
  planner->open_existing();
  return planner;
}

Hdf5Planner::~Hdf5Planner() { close(); }

void Hdf5Planner::close() noexcept {
  if (file_.id() < 0) {
    return;  // libhdf5 may not even be loaded
  }
  const QuietErrors quiet;
  variables_.close();
  dimensions_.close();
  log_.close();
  file_.close();
}

void Hdf5Planner::open_new() {
  const QuietErrors quiet;
  file_.create();
  scales_.clear();
  log_.make();
  if (file_.profile() == Profile::netcdf4) {
    write_netcdf_properties(file_.id());
  }
  grouped_.write_root();
  file_.note_new_contents();
}

void Hdf5Planner::open_existing() {
  const QuietErrors quiet;
  file_.open();
  on_disk_ = true;
  committed_.frontier = file_.frontier();
  dimensions_.load();
}

void Hdf5Planner::renew() {
  if (file_.is_stale()) {
    close();
    file_.open();
  }
}

void Hdf5Planner::load(Catalog& catalog) {
  for (const StoredVariable& stored : catalog.variables()) {
    if (!stored.same_as.empty()) {
      continue;  // is planned under its first name
    }
    require_appendable(stored, file_.profile(), file_.path());
    PlannedDataset dataset;
    dataset.exists = dataset.is_committed = true;
    dataset.is_big_endian = stored.big_endian;
    dataset.tile = stored.tile;
    dataset.slot = catalog.slot(static_cast<std::uint32_t>(&stored - catalog.variables().data()));
    variables_.add(with_filters(stored), std::move(dataset));
  }
  if (is_grouped(file_.profile())) {
    attributes_.inherit(catalog.attributes());
    grouped_.load(catalog.step_numbers());
  }
  steps_ = catalog.steps();
  added_times_ = catalog.added_times();
  logged_steps_ = first_added_ = steps_ - added_times_.size();
  dimensions_.restore_time(catalog.has_time());
  log_.restore(
      {catalog.commits().size(), catalog.checksum_chunks(), catalog.checksum_chunk_words()});
  committed_ = counters();
  attributes_.inherited_committed(committed_.inherited);
}

void Hdf5Planner::make(std::uint32_t variable, const model::Dims& tile, bool places_now) {
  if (is_grouped(file_.profile()) && variables_.definition(variable).stepped) {
    grouped_.make_prototype(variable, tile);
  } else {
    dimensions_.make(variable, tile, places_now);
  }
}

void Hdf5Planner::make_touched(const CommitRequest& request) {
  for (std::uint32_t v = 0; v < variables_.size(); ++v) {
    if (!variables_[v].exists && says_rounding(variables_.definition(v))) {
      make(v, {}, true);
    }
  }
  for (const Touched& touched : request.touched) {
    if (variables_[touched.variable].is_big_endian) {  // fixed, and perhaps without values so far
      throw Error(Code::unsupported,
                  variables_.definition(touched.variable).name +
                      ": is big-endian, which Sluice does not write: " + append_remedy);
    }
  }
  // Those of offsets last: where they go depends on what else there is (VtkhdfSteps::slot).
  for (const bool is_last : {false, true}) {
    for (const Touched& touched : request.touched) {
      const bool is_offsets = variables_.definition(touched.variable).name.ends_with("/Offsets");
      if (!variables_[touched.variable].exists && is_offsets == is_last) {
        make(touched.variable, touched.tiling.tile(), true);
      }
    }
  }
}

CommitPlan Hdf5Planner::plan_commit(const CommitRequest& request) {
  const QuietErrors quiet;
  renew();
  CommitPlan plan;
  plan.step = planned_step_ = steps_;
  const bool is_grouped = hdf5::is_grouped(file_.profile());
  if (request.is_step) {
    dimensions_.prepare_time(request.time);
  }
  make_touched(request);
  CommitRow row;
  row.time = request.time;
  if (is_grouped && request.is_step) {
    attributes_.apply(dimensions_.has_time());  // the objects of this step inherit them
    row.number = grouped_.make_group(steps_, request.time);
  }
  std::vector<bool> has_extent(variables_.size());
  for (const Touched& touched : request.touched) {
    const model::Definition& definition = variables_.definition(touched.variable);
    has_extent[touched.variable] = true;
    if (is_encoded(definition)) {
      variables_.prepare_encoded(touched, steps_);
    } else {
      plan.placements.push_back(!definition.stepped ? variables_.place_fixed(touched.variable)
                                : is_grouped        ? grouped_.place(touched, steps_)
                                                    : variables_.place_step(touched, steps_));
    }
  }
  row.modified_ns = request.modified_ns;
  if (request.is_step) {
    row.step = steps_;
    row.rows_proof = proof_of_rows(variables_.definitions(), request.touched);
    dimensions_.append_time(steps_, request.time);
    log_added_steps(request.modified_ns);
    logged_steps_ = ++steps_;
    for (std::uint32_t v = 0; v < variables_.size(); ++v) {
      if (variables_.definition(v).stepped && variables_[v].exists && !is_grouped &&
          !has_extent[v]) {
        variables_.extend(v, steps_);
      }
    }
    vtkhdf_.append(request, plan.step);
    grouped_.finish(request);
  } else {
    vtkhdf_.describe_static(request, steps_);
  }
  if (request.checksum_words != 0) {
    plan.checksums = log_.place_checksums(request.checksum_words, row);
  }
  log_.append(row);
  plan.set_space(variables_.definitions());
  return plan;
}

/// Steps in the log are consecutive: those that another program added come before the next one,
/// without checksums.
void Hdf5Planner::log_added_steps(std::int64_t modified_ns) {
  for (; logged_steps_ < steps_; ++logged_steps_) {
    CommitRow row;
    row.step = logged_steps_;
    row.time = added_times_.at(logged_steps_ - first_added_);
    row.modified_ns = modified_ns;
    log_.append(row);
  }
}

std::vector<std::uint64_t> Hdf5Planner::place_encoded(std::span<const EncodedTile> tiles) {
  const QuietErrors quiet;
  return variables_.place_encoded(tiles, planned_step_);
}

void Hdf5Planner::make_all() {
  const QuietErrors quiet;
  renew();
  for (std::uint32_t v = 0; v < variables_.size(); ++v) {
    const model::Definition& definition = variables_.definition(v);
    if (!variables_[v].exists) {
      // Without a place all elements read as the fill value, and an append may put them.
      make(v, untouched_tile(definition, 0), false);
    }
    if (definition.stepped && !is_grouped(file_.profile())) {
      variables_.extend(v, steps_);
    }
  }
}

void Hdf5Planner::drop_steps(std::uint64_t steps, std::int64_t modified_ns) {
  if (steps >= steps_) {
    return;
  }
  const QuietErrors quiet;
  renew();
  // Only metadata changes. The chunks and groups of the dropped steps are below the frontier, which
  // is not moved (driver): nothing is written there as long as the file may return to that state.
  for (std::uint32_t v = 0; v < variables_.size(); ++v) {
    if (variables_.definition(v).stepped && variables_[v].exists && !is_grouped(file_.profile())) {
      variables_.extend(v, steps);
    }
  }
  dimensions_.drop_times(steps);
  if (is_grouped(file_.profile())) {
    grouped_.drop(steps, steps_);
  }
  vtkhdf_.drop(steps);
  log_.drop_steps(steps);
  logged_steps_ = std::min(logged_steps_, steps);
  CommitRow row;  // has the time of modification that the file will get
  row.time = std::nan("");
  row.modified_ns = modified_ns;
  log_.append(row);
  steps_ = steps;
}

MetadataUpdate Hdf5Planner::seal() {
  const QuietErrors quiet;
  attributes_.apply(dimensions_.has_time());
  if (file_.has_new_contents()) {
    write_contents(file_.id(), contents());
    file_.contents_written();
  }
  scales_.seal(file_.id());
  return file_.flush();
}

Contents Hdf5Planner::contents() {
  const Profile profile = file_.profile();
  const auto read_back = [&] {
    Contents contents = contents_of(file_.id(), file_.storage(), profile, nullptr);
    record_fills(contents, variables_.definitions());
    return contents;
  };
  // In the other profiles attributes of Sluice's own depend on more than what a FirstCommit holds.
  const bool is_plain = profile == Profile::stacked || profile == Profile::netcdf4;
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
  FirstCommit commit{file_.profile(), dimensions_.has_time(), {}, attributes_.applied()};
  for (std::uint32_t v = 0; v < variables_.size(); ++v) {
    if (variables_[v].exists) {
      commit.definitions.push_back(variables_.definition(v));
    }
  }
  return commit;
}

Hdf5Planner::Counters Hdf5Planner::counters() const {
  return {steps_,
          logged_steps_,
          log_.counters(),
          dimensions_.has_time(),
          attributes_.inherited_count(),
          file_.frontier()};
}

void Hdf5Planner::planned() {
  file_.planned();
  under_way_.push_back({counters(), variables_.existing(), attributes_.take_applied()});
}

void Hdf5Planner::committed() {
  variables_.committed(under_way_.front().existing);
  committed_ = under_way_.front().counters;
  attributes_.inherited_committed(committed_.inherited);
  under_way_.pop_front();
  file_.committed();
  on_disk_ = true;
}

void Hdf5Planner::abandon() {
  close();
  file_.forget_uncommitted(committed_.frontier);
  variables_.forget_uncommitted();
  attributes_.put_back(attributes_.take_applied());
  for (auto commit = under_way_.rbegin(); commit != under_way_.rend(); ++commit) {
    attributes_.put_back(commit->applied);
  }
  under_way_.clear();
  attributes_.forget_uncommitted();
  steps_ = committed_.steps;
  logged_steps_ = committed_.logged_steps;
  log_.restore(committed_.log);
  dimensions_.restore_time(committed_.has_time);
  grouped_.keep_below(steps_);
  if (on_disk_) {
    open_existing();
  } else {
    open_new();
  }
}

}  // namespace sluice::layout::hdf5
