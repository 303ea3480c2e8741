#include "commit/write/commit_planner.hpp"

#include <algorithm>

#include "codec/filter.hpp"
#include "commit/write/choice.hpp"
#include "layout/stores.hpp"
#include "model/clock.hpp"

namespace sluice::commit {

using layout::PlannerOptions;

namespace {

PlannerOptions planner_options(const Options& options, storage::Storage& storage,
                               const std::string& path) {
  constexpr std::uint64_t page = 4096;
  const std::uint64_t stripe =
      options.stripe_bytes != 0 ? options.stripe_bytes : storage.stripe_bytes(path);
  PlannerOptions planner;
  if (!codec::parse_pipeline(options.compress, 1).empty()) {
    // Among chunks of different sizes, a gap before each would be a large share.
    planner.alignment_bytes = planner.threshold_bytes = 1;
    return planner;
  }
  if (stripe > page && stripe % page == 0) {
    planner.alignment_bytes = stripe;
    planner.threshold_bytes = std::min<std::uint64_t>(stripe, 64 << 10);
  }
  return planner;
}

/// Does not change the time of modification if there is nothing to do.
void cut(storage::File& file, std::uint64_t end) {
  if (file.size() != end) {
    file.resize(end);
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

CommitPlanner::CommitPlanner(storage::Storage& storage, const std::string& path, Opening opening,
                             const Options& options, std::uint64_t writers, bool has_own_file)
    : storage_(storage), path_(path) {
  if (opening == Opening::create && storage.exists(path)) {
    throw Error(Code::exists, path + ": exists already: choose another name or Mode::write");
  }
  PlannerOptions settings = planner_options(options, storage, path);
  settings.writers = writers;
  planner_ = open(opening, options, settings, has_own_file);
}

CommitPlanner::~CommitPlanner() = default;

std::unique_ptr<layout::Planner> CommitPlanner::open(Opening opening, const Options& options,
                                                     PlannerOptions settings, bool has_own_file) {
  if (opening != Opening::append) {
    const layout::Format& format = layout::format_of(path_, options);
    layout::durability_of(format, options.durability);
    refuse_together(storage_, path_, format);
    publisher_ = Publisher::build(storage_, path_, format, options.durability != Durability::none);
    return layout::make_planner(format, file_to_plan(has_own_file), layout::Start::fresh, settings);
  }
  publisher_ = Publisher::reopen(storage_, path_);
  const layout::Format& format = layout::format_in(publisher_->file(), options.format);
  auto planner =
      layout::make_planner(format, file_to_plan(has_own_file), layout::Start::append, settings);
  const layout::Format& found = layout::format_named(planner->format());
  refuse_together(storage_, path_, found);
  layout::check_hdf5_layout(found, options, path_);
  layout::durability_of(found, options.durability);
  cut(publisher_->file(), planner->committed_end());  // of a step that was not committed
  if (options.restart_after >= 0) {
    drop_later_steps(*planner, options);
  }
  return planner;
}

storage::File& CommitPlanner::file_to_plan(bool has_own_file) {
  if (!has_own_file) {
    return publisher_->file();
  }
  own_file_ = layout::open_data(storage_, publisher_->present_path(), storage::Access::read_write);
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
  publisher_->settle();
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
  storage::make_objects(storage_, path_, plan.objects);
  if (plan.space.length != 0) {
    storage::File& file = own_file_ ? *own_file_ : publisher_->file();
    file.map(plan.objects);
    file.preallocate(plan.space.offset, plan.space.length);
  }
}

layout::CommitPlan CommitPlanner::plan(const layout::CommitRequest& request, bool is_last,
                                       Update& update) {
  const std::lock_guard lock(mutex_);
  if (is_last) {
    planner_->make_all();
  }
  layout::CommitPlan plan = planner_->plan_commit(request);
  update = {planner_->seal(), request.modified_ns};
  reserve(plan);
  return plan;
}

exec::RoundPlaces CommitPlanner::place(std::uint64_t number, const Rounds& rounds,
                                       std::uint64_t round,
                                       std::span<const layout::EncodedTile> tiles, Update& update) {
  const std::lock_guard lock(mutex_);
  exec::RoundPlaces places;
  if (round == 0) {
    replay_locked(number);
    const layout::CommitPlan plan = planner_->plan_commit(rounds.request);
    if (rounds.is_last) {
      planner_->make_all();  // those that this commit touches are made with their tiles
    }
    reserve(plan);
    places.plan = plan.to_bytes();
  }
  places.addresses = planner_->place_encoded(tiles);
  if (round + 1 == rounds.rounds) {
    update = {planner_->seal(), rounds.request.modified_ns};
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
  publisher_->file().renew(publisher_->present_path());
  {
    const std::lock_guard lock(mutex_);
    planner_->abandon();
    replay_locked(layout::absent);
  }
  // What the failed commit wrote must not show through the holes of the next one.
  publisher_->file().resize(planner_->committed_end());
  return publisher_->present_path();
}

void CommitPlanner::close() {
  planner_.reset();
  own_file_.reset();
  publisher_->close();
}

}  // namespace sluice::commit
