#include "commit/write/commit_planner.hpp"

#include <algorithm>

#include "codec/filter.hpp"
#include "commit/publish/atomic_file.hpp"
#include "commit/write/choice.hpp"
#include "commit/write/restart.hpp"
#include "layout/formats/stores.hpp"
#include "model/clock.hpp"
#include "model/name.hpp"
#include "storage/store_begin.hpp"

namespace sluice::commit {

using layout::PlannerOptions;

namespace {

PlannerOptions planner_options(const Options& options, storage::Storage& storage,
                               const FilePlace& place) {
  constexpr std::uint64_t page = 4096;
  const std::uint64_t stripe = stripe_of(options, place.facts);
  PlannerOptions planner;
  planner.whole_objects = storage.whole_files(place.path) != nullptr;
  planner.branch = options.branch;
  planner.tags = options.tags;
  if (!codec::parse_pipeline(options.compress, 1).empty()) {
    // Among chunks of different sizes, a gap before each would be a large share.
    planner.alignment_bytes = planner.threshold_bytes = 1;
    return planner;
  }
  if (stripe > page && stripe % page == 0) {
    planner.alignment_bytes = stripe;
    planner.threshold_bytes = std::min(stripe, layout::worth_aligning_bytes);
  }
  return planner;
}

/// Does not change the time of modification if there is nothing to do.
void cut(storage::File& file, std::uint64_t end) {
  if (file.size() != end) {
    file.resize(end);
  }
}

/// After the lease: only then is it known what the storage can.
void refuse_unconditional(storage::Storage& storage, const std::string& path,
                          const layout::Format& format) {
  storage::WholeFiles* const whole = storage.whole_files(path);
  if (format.has_history && whole != nullptr && !whole->has_conditions()) {
    throw Error(Code::unsupported, path + ": format " + format.name +
                                       " commits by conditional puts, which this object store does "
                                       "not have: use format zarr, or another store");
  }
}

void refuse_in_place(storage::Storage& storage, const std::string& path,
                     const layout::Format& format) {
  if (!format.is_store() && storage.whole_files(path) != nullptr) {
    throw Error(Code::unsupported, path + ": format " + format.name +
                                       " is one file that is changed in place, and an object store "
                                       "takes whole objects: use format zarr or icechunk, or write "
                                       "to a file system and copy the file");
  }
}

/// A new repository takes the place of the old one with all of its branches.
void refuse_to_replace_history(storage::Storage& storage, const std::string& path,
                               const layout::Format& format, const Options& options) {
  if (options.branch != Options{}.branch &&
      storage.exists(storage::object_path(path, format.manifest))) {
    throw Error(Code::exists, path +
                                  ": is there, and would be replaced with its whole history: "
                                  "open it to append, which writes onto branch " +
                                  model::quoted(options.branch));
  }
}

}  // namespace

void refuse_together(const storage::Storage& storage, const std::string& path,
                     const layout::Format& format) {
  if (format.is_store() && storage.ranks_together() != 0) {
    throw Error(Code::unsupported, path + ": format " + format.name +
                                       " is many files, and storage mpiio opens one with all "
                                       "ranks: use storage direct or posix");
  }
}

CommitPlanner::CommitPlanner(storage::Storage& storage, const FilePlace& place, Opening opening,
                             const Options& options, std::uint64_t writers, bool has_own_file)
    : storage_(storage), path_(place.path) {
  if (opening == Opening::create && storage.exists(path_)) {
    throw taken_error(path_, storage.whole_files(path_) == nullptr);
  }
  PlannerOptions settings = planner_options(options, storage, place);
  settings.writers = writers;
  planner_ = open(opening, options, settings, has_own_file);
}

CommitPlanner::~CommitPlanner() = default;

std::unique_ptr<layout::Planner> CommitPlanner::open(Opening opening, const Options& options,
                                                     const PlannerOptions& settings,
                                                     bool has_own_file) {
  if (opening != Opening::append) {
    const layout::Format& format = layout::format_of(path_, options);
    layout::durability_of(format, options.durability);
    refuse_together(storage_, path_, format);
    refuse_in_place(storage_, path_, format);
    layout::check_history(format, options, path_);
    refuse_to_replace_history(storage_, path_, format, options);
    publisher_ = Publisher::build(storage_, path_, format, options.durability != Durability::none,
                                  opening == Opening::create ? Naming::refuse : Naming::replace);
    publisher_->set_apply_interval(options.apply_every_s);
    refuse_unconditional(storage_, path_, format);
    return layout::make_planner(format, file_to_plan(has_own_file), layout::Start::fresh, settings);
  }
  publisher_ = Publisher::reopen(storage_, path_);
  publisher_->set_apply_interval(options.apply_every_s);
  const layout::Format& format = layout::format_in(publisher_->file(), options.format);
  layout::check_history(format, options, path_);
  refuse_unconditional(storage_, path_, format);
  auto planner =
      layout::make_planner(format, file_to_plan(has_own_file), layout::Start::append, settings);
  const layout::Format& found = layout::format_named(planner->format());
  refuse_together(storage_, path_, found);
  refuse_in_place(storage_, path_, found);
  layout::check_hdf5_layout(found, options, path_);
  layout::durability_of(found, options.durability);
  cut(publisher_->file(), planner->committed_end());  // of a step that was not committed
  if (options.restart_after >= 0) {
    drop_later_steps(*planner, options);
  }
  publisher_->note_end(planner->committed_end());
  return planner;
}

storage::File& CommitPlanner::file_to_plan(bool has_own_file) {
  if (!has_own_file) {
    view_ = std::make_unique<CommittedView>(publisher_->file(), publisher_->changes());
    return *view_;
  }
  own_file_ = std::make_unique<CommittedView>(
      layout::open_data(storage_, publisher_->present_path(), storage::Access::read_write),
      publisher_->changes());
  return *own_file_;
}

void CommitPlanner::drop_later_steps(layout::Planner& planner, const Options& options) {
  const std::uint64_t kept = steps_after_restart(path_, options.restart_after, planner.steps());
  if (kept == planner.steps()) {
    return;
  }
  const bool synced = options.durability != Durability::none;
  const std::int64_t stamp_ns = model::wall_clock_ns();
  planner.drop_steps(kept, stamp_ns);
  const layout::MetadataUpdate update = planner.seal();
  publisher_->write_fresh(update);
  if (synced) {
    publisher_->file().sync();
  }
  publisher_->publish(update, synced, stamp_ns);
  publisher_->finish();
  planner.planned();
  planner.committed();
  cut(publisher_->file(), planner.committed_end());
}

std::vector<std::byte> CommitPlanner::known() const {
  model::ByteWriter out;
  out.put(publisher_->present_path());
  out.put(std::string(planner_->format()));
  out.put(planner_->steps());
  out.put(planner_->known().size());
  for (std::uint32_t v = 0; v < planner_->known().size(); ++v) {
    planner_->known()[v].write_to(out);
    planner_->tiling(v).write_to(out);
  }
  planner_->refusals().write_to(out);
  return out.take();
}

void CommitPlanner::tell(std::function<void(layout::Planner&)> what, std::uint64_t before) {
  const std::lock_guard lock(mutex_);
  if (before != 0) {
    deferred_.emplace_back(before, std::move(what));
    return;
  }
  replay_locked(layout::absent);
  what(*planner_);
}

void CommitPlanner::replay(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  replay_locked(number);
}

void CommitPlanner::replay_locked(std::uint64_t number) {
  while (!deferred_.empty() && deferred_.front().first <= number) {
    const auto what = std::move(deferred_.front().second);
    deferred_.pop_front();
    what(*planner_);
  }
}

void CommitPlanner::stamp(layout::CommitRequest& request) {
  request.modified_ns = modified_ns_ = model::wall_clock_ns();
}

/// Preallocates what was planned.
void CommitPlanner::reserve(const layout::CommitPlan& plan) {
  // Names in a history are used once: in an object store there is nothing to remove or to make.
  if (storage_.whole_files(path_) == nullptr ||
      !layout::format_named(planner_->format()).has_history) {
    storage::make_objects(storage_, path_, plan.objects);
  }
  if (plan.space.length != 0) {
    storage::File& file = own_file_ ? *own_file_ : publisher_->file();
    file.map(plan.objects);
    file.preallocate(plan.space.offset, plan.space.length);
  }
}

namespace {

/// All that a commit writes, from `begin` on: what rank 0 reads again for its checksum. Nothing if
/// that is too much, or the format needs no journal.
std::optional<layout::Extent> small_extent(const layout::CommitPlan& plan,
                                           const layout::MetadataUpdate& update,
                                           std::uint64_t begin) {
  const bool has_journal = !update.is_atomic && update.manifest.name.empty();
  if (!has_journal || update.end < begin || update.end - begin > most_small_bytes) {
    return std::nullopt;
  }
  const auto is_within = [&](const layout::Extent& extent) {
    return extent.length == 0 ||
           (extent.offset >= begin && extent.offset + extent.length <= update.end);
  };
  bool is_all_within = is_within(plan.hull());
  for (const layout::MetadataRun& run : update.fresh) {
    is_all_within = is_all_within && is_within({run.offset, run.bytes.size()});
  }
  return is_all_within ? std::optional(layout::Extent{begin, update.end - begin}) : std::nullopt;
}

}  // namespace

void CommitPlanner::note_end(const layout::MetadataUpdate& update) {
  planned_end_ = std::max({planned_end_, planner_->committed_end(), update.end});
}

layout::CommitPlan CommitPlanner::plan(const layout::CommitRequest& request, bool is_last,
                                       bool may_sync_later, Update& update) {
  publisher_->check_place();  // before anything is written
  const std::lock_guard lock(mutex_);
  const std::uint64_t begin = std::max(planned_end_, planner_->committed_end());
  if (is_last) {
    planner_->make_all();
  }
  layout::CommitPlan plan = planner_->plan_commit(request);
  update = {planner_->seal(), request.modified_ns};
  if (may_sync_later) {
    update.unsynced = small_extent(plan, update.metadata, begin);
  }
  note_end(update.metadata);
  reserve(plan);
  return plan;
}

exec::RoundPlaces CommitPlanner::place(std::uint64_t number, const Rounds& rounds,
                                       std::uint64_t round,
                                       std::span<const layout::EncodedTile> tiles, Update& update) {
  if (round == 0) {
    publisher_->check_place();
  }
  const std::lock_guard lock(mutex_);
  const std::uint64_t begin = std::max(planned_end_, planner_->committed_end());
  exec::RoundPlaces places;
  layout::CommitPlan plan;
  if (round == 0) {
    replay_locked(number);
    plan = planner_->plan_commit(rounds.request);
    if (rounds.is_last) {
      planner_->make_all();  // those that this commit touches are made with their tiles
    }
    reserve(plan);
    places.plan = plan.to_bytes();
  }
  places.addresses = planner_->place_encoded(tiles);
  if (round + 1 == rounds.rounds) {
    update = {planner_->seal(), rounds.request.modified_ns};
    if (rounds.may_sync_later && round == 0) {
      update.unsynced = small_extent(plan, update.metadata, begin);
    }
    note_end(update.metadata);
  }
  return places;
}

void CommitPlanner::planned() {
  const std::lock_guard lock(mutex_);
  planner_->planned();
}

void CommitPlanner::committed() {
  const std::lock_guard lock(mutex_);
  planner_->committed();
}

std::string CommitPlanner::abandon() {
  publisher_->settle();
  publisher_->check_place();  // or what another writer added would be cut off
  publisher_->file().renew(publisher_->present_path());
  {
    const std::lock_guard lock(mutex_);
    planner_->abandon();
    planned_end_ = 0;
    replay_locked(layout::absent);
  }
  publisher_->note_end(planner_->committed_end());
  // What the failed commit wrote must not show through the holes of the next one.
  publisher_->file().resize(planner_->committed_end());
  // If the program is killed now, recovery must not take that for a change by another one.
  publisher_->restore_time();
  return publisher_->present_path();
}

void CommitPlanner::close() {
  planner_.reset();
  view_.reset();
  own_file_.reset();
  publisher_->close();
}

}  // namespace sluice::commit
