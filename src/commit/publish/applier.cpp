#include "commit/publish/applier.hpp"

#include <chrono>
#include <exception>
#include <utility>

#include "commit/publish/in_place.hpp"
#include "commit/publish/journal_runs.hpp"
#include "model/clock.hpp"
#include "storage/background_thread.hpp"

namespace sluice::commit {

void put_in_place(storage::File& file, Journal journal, bool synced) {
  MemoryRuns runs(std::move(journal));
  apply_journal(file, runs, synced);
  stamp(file, runs.modified_ns());
}

Applier::Applier(const Config& config, std::shared_ptr<PendingChanges> changes)
    : config_(config), changes_(std::move(changes)), last_s_(model::now_s()) {}

Applier::~Applier() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    finish();
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

bool Applier::is_due() const { return pending_ && !has_failed_ && model::now_s() >= due_s_; }

std::unique_lock<std::mutex> Applier::hold() {
  std::unique_lock lock(mutex_);
  if (thread_.joinable()) {
    changed_.wait(lock, [&] { return !is_due(); });
  } else if (is_due()) {
    finish();
  }
  return lock;
}

void Applier::replace(Journal journal, bool now) {
  pending_ = std::move(journal);
  due_s_ = now ? 0 : last_s_ + config_.interval_s;
  if (!config_.name.storage().in_background()) {
    if (is_due()) {
      finish();
    }
    return;
  }
  try {
    if (!thread_.joinable()) {
      thread_ = storage::start_background([this] { run(); });
    }
  } catch (const std::exception&) {
    finish();  // the commit is decided: it does not fail for want of a thread
    return;
  }
  changed_.notify_all();
}

void Applier::give_up() noexcept {
  pending_.reset();
  has_failed_ = true;
}

void Applier::finish() noexcept {
  if (pending_ && !has_failed_) {
    apply(config_.file);
  }
}

void Applier::apply(storage::File& file) noexcept {
  try {
    // `file` may be what was given the path meanwhile, or may have another path, under which
    // another writer has it.
    if (!config_.name.leads_to(file)) {
      has_lost_file_ = has_failed_ = true;
      last_s_ = model::now_s();
      return;
    }
    put_in_place(file, *std::exchange(pending_, std::nullopt), true);
    changes_->clear();
  } catch (const std::exception&) {
    has_failed_ = true;
  }
  last_s_ = model::now_s();
}

/// By a descriptor of its own: others write data through that of the publisher meanwhile. A new one
/// each time: an older one reports a failed sync of a commit that was given up. Where there is none
/// (the process is at its limit) it is tried again; what is pending stays in the journal.
void Applier::open_and_apply() noexcept {
  constexpr double pause_s = 0.2;
  constexpr double longest_s = 60;
  try {
    const auto file = config_.name.storage().open(config_.name.path(), storage::Access::read_write);
    unopened_since_s_ = 0;
    apply(*file);
  } catch (const std::exception&) {
    last_s_ = model::now_s();
    unopened_since_s_ = unopened_since_s_ == 0 ? last_s_ : unopened_since_s_;
    has_failed_ = last_s_ - unopened_since_s_ > longest_s;
    due_s_ = last_s_ + pause_s;
  }
}

void Applier::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (!pending_ || has_failed_) {
      changed_.wait(lock);
    } else if (!is_due()) {
      changed_.wait_for(lock, std::chrono::duration<double>(due_s_ - model::now_s()));
    } else {
      open_and_apply();
      changed_.notify_all();
    }
  }
}

}  // namespace sluice::commit
