#include "plugin/guarded_file.hpp"

#include <utility>

#include "commit/publish/in_place.hpp"
#include "plugin/opening.hpp"
#include "plugin/refused_flushes.hpp"

namespace sluice::plugin {

GuardedFile::GuardedFile(storage::Storage& storage, const Settings& settings)
    : storage_(storage),
      settings_(settings),
      fresh_(settings.durability == Settings::Durability::step) {}

void GuardedFile::take(std::unique_ptr<storage::File> file) {
  file_ = std::move(file);
  identity_ = file_->identity();
}

storage::File& GuardedFile::changing() {
  unsynced_ = true;  // a write that fails may have landed all the same
  return *file_;
}

void GuardedFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  changing().write(offset, bytes);
  fresh_.add(offset, bytes);
}

void GuardedFile::write_held(const HeldWrites& held, std::uint64_t from) {
  held.write_to(changing(), from, fresh_);
}

void GuardedFile::grow_to(std::uint64_t end) {
  if (file_->size() < end) {
    changing().resize(end);
  }
}

void GuardedFile::cut_to(std::uint64_t end) noexcept {
  try {
    if (file_->size() > end) {
      file_->resize(end);
    }
  } catch (const std::exception&) {
    // what is too much stays
  }
}

std::optional<std::vector<commit::FreshExtent>> GuardedFile::unsynced(std::uint64_t from,
                                                                      std::uint64_t end) const {
  return fresh_.cover(*file_, from, end);
}

void GuardedFile::sync() {
  if (!unsynced_) {
    return;
  }
  try {
    file_->sync();
  } catch (...) {
    sync_failed_ = true;
    throw;
  }
  unsynced_ = false;
  fresh_.clear();
}

void GuardedFile::renew(const std::string& path) {
  if (!sync_failed_) {
    return;
  }
  auto fresh = storage_.open(path, storage::Access::read_write);
  if (fresh->identity() != identity_) {
    throw moved_error(path);
  }
  file_ = std::move(fresh);
  share_lock(*file_, settings_);
  if (unsynced_ && !fresh_.write_again(*file_)) {
    data_lost_ = true;
    return;
  }
  sync_failed_ = false;
}

std::uint64_t GuardedFile::raise_guard() {
  guarded_ = true;
  return commit::raise_guard(changing());
}

void GuardedFile::lift_guard() noexcept {
  if (!guarded_) {
    return;
  }
  try {
    commit::lift_guard(changing());
    guarded_ = false;
  } catch (const std::exception&) {
    // is_guarded() still
  }
}

void GuardedFile::change(commit::JournalRuns& runs, bool synced, bool guarded) {
  if (!synced) {
    fresh_.add_untold();
  } else if (!fresh_.is_known()) {
    sync();  // what fails below is done again from the journal, and this could not be
  }
  try {
    storage::File& file = changing();
    if (!guarded) {
      raise_guard();
      if (synced) {
        file.sync();
      }
    }
    commit::change_under_guard(file, runs, synced);
    guarded_ = false;
  } catch (...) {
    sync_failed_ = sync_failed_ || synced;  // whichever call it was
    throw;
  }
}

}  // namespace sluice::plugin
