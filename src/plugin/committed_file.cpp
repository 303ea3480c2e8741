#include "plugin/committed_file.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "commit/publish/atomic_file.hpp"
#include "commit/publish/in_place.hpp"
#include "plugin/held_runs.hpp"
#include "plugin/opening.hpp"
#include "plugin/refused_flushes.hpp"
#include "sluice/error.hpp"
#include "storage/endings.hpp"
#include "storage/named_file.hpp"
#include "storage/read_padded.hpp"
#include "storage/say.hpp"

namespace sluice::plugin {

CommittedFile::CommittedFile(storage::Storage& storage, std::string path, const Settings& settings)
    : storage_(storage),
      path_(std::move(path)),
      settings_(settings),
      claim_(storage, path_),
      name_(storage, path_),
      file_(storage, settings_),
      held_(storage, storage::held_path(path_), settings.budget_bytes),
      log_(storage, path_),
      checksums_(storage, path_, settings.checksums) {}

std::shared_ptr<CommittedFile> CommittedFile::reopen(storage::Storage& storage,
                                                     const std::string& path,
                                                     const Settings& settings) {
  // Before the lease, which makes a file beside it.
  auto there = storage.open(path, storage::Access::read_write);
  share_lock(*there, settings);
  std::shared_ptr<CommittedFile> file(new CommittedFile(storage, path, settings));
  file->file_.take(recover_changed(storage, path, settings, std::move(there)));
  file->frontier_ = file->logical_end_ = file->file_.file().size();
  file->claim_.note_commit(file->frontier_);
  file->checksums_.load(file->file_.file());
  return file;
}

std::shared_ptr<CommittedFile> CommittedFile::create(storage::Storage& storage,
                                                     const std::string& path,
                                                     const Settings& settings, bool exclusive) {
  require_replaceable(storage, path, settings, exclusive);
  std::shared_ptr<CommittedFile> file(new CommittedFile(storage, path, settings));
  recover_replaced(storage, path);
  // With `exclusive` one that is there now is another program's.
  if (auto there = exclusive ? nullptr : open_empty(storage, path, settings)) {
    file->file_.take(std::move(there));
    file->signature_.begin();
  } else {
    file->file_.take(file->name_.build(exclusive));
    share_lock(file->file_.file(), settings);
  }
  return file;
}

CommittedFile::~CommittedFile() {
  if (own_.is_here() && claim_.has_lease()) {
    undo_creation();
  }
}

void CommittedFile::undo_creation() noexcept {
  if (name_.is_ahead()) {
    file_.drop();
    name_.forget();
  } else if (signature_.is_held() && file_.is_open()) {
    file_.cut_to(0);  // where that fails: without a signature it is no HDF5 file
  }
}

void CommittedFile::read(std::uint64_t offset, std::span<std::byte> bytes) {
  storage::read_padded(file_.file(), offset, bytes);
  held_.read_over(offset, bytes);
  signature_.read_over(offset, bytes);
}

/// What a forked child writes only the child sees: HDF5 writes old buffers whenever it likes.
void CommittedFile::write_in_child(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (held_.memory_bytes() + bytes.size() > settings_.budget_bytes) {
    own_.require(path_);
  }
  state_.dirty = true;
  held_.write(offset, bytes);
  logical_end_ = std::max(logical_end_, offset + bytes.size());
}

void CommittedFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (!own_.is_here()) {
    return write_in_child(offset, bytes);
  }
  if (state_.poisoned) {
    require_sound();
  }
  state_.dirty = true;
  checksums_.before_change(file_.file(), offset, bytes.size());
  logical_end_ = std::max(logical_end_, offset + bytes.size());
  const std::uint64_t below =
      std::min<std::uint64_t>(bytes.size(), frontier_ - std::min(frontier_, offset));
  try {
    std::vector<std::byte> room;
    if (signature_.is_held()) {
      bytes = signature_.without(offset, bytes, room);
    }
    if (below != 0) {
      held_.write(offset, bytes.first(below));
    }
    if (below != bytes.size()) {
      write_through(offset + below, bytes.subspan(below));
    }
  } catch (const std::bad_alloc&) {
    lost_.note(offset, bytes.size());
    throw no_memory_error(path_, offset, bytes.size());
  } catch (...) {
    lost_.note(offset, bytes.size());
    throw;
  }
  lost_.note_written(offset, bytes.size());
}

/// Beyond the frontier. Few bytes are held, so that the commit writes many of them at once; what
/// the file refuses is held until the next commit tries again.
void CommittedFile::write_through(std::uint64_t offset, std::span<const std::byte> bytes) {
  constexpr std::uint64_t most_at_once = 64 << 10;
  constexpr std::uint64_t most_kept = 4 << 20;
  const bool is_kept =
      bytes.size() < most_at_once &&
      held_.memory_bytes() + bytes.size() <= std::min(most_kept, settings_.budget_bytes);
  if (!state_.keeps_fresh && !is_kept && !held_.touches(offset, bytes.size())) {
    try {
      // Where the file ended at the last commit another writer may have appended.
      claim_.require_place_once(name_.present(), file_);
      file_.write(offset, bytes);
      return;
    } catch (const Error& e) {
      if (e.code() == Code::locked || e.code() == Code::changed_outside) {
        throw;
      }
      state_.keeps_fresh = true;
    }
  }
  state_.keeps_some = true;
  held_.write(offset, bytes);
}

void CommittedFile::set_size(std::uint64_t bytes) {
  if (bytes != logical_end_) {
    logical_end_ = bytes;
    state_.dirty = true;
  }
}

void CommittedFile::commit(bool closing) {
  for (bool is_again = false;; is_again = true) {
    try {
      make_commit(closing);
      return;
    } catch (const Error& e) {
      if (is_again || e.code() != Code::no_space || !frees_journal()) {
        throw commit::naming(e, commit::building_path(path_), path_);
      }
    }
  }
}

/// The disk may be full of the journal. Brings into its place what that is needed for, and removes
/// it; false where there is none, or it has to stay.
bool CommittedFile::frees_journal() noexcept {
  if (!log_.is_there() || state_.poisoned || !claim_.has_lease()) {
    return false;
  }
  try {
    if (deferred_) {
      pending_ = std::move(deferred_);
    }
    renew();  // a sync may have told that the disk is full
    bring_in_place();
    if (settings_.durability != Settings::Durability::none) {
      sync_data();  // a guard that is lifted, but not durably, needs its record
    }
    log_.remove();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void CommittedFile::make_commit(bool closing) {
  if (!own_.is_here() && state_.dirty && !closing) {
    own_.require(path_);
  }
  if (!own_.is_here() || state_.closed) {
    return;
  }
  state_.dirty = state_.dirty || (closing && deferred_);
  if ((state_.dirty || pending_) && !require_place() && !name_.is_ahead()) {
    return;  // only this program reads it, and with what is held
  }
  require_sound();
  if (!state_.dirty && !pending_) {
    return;
  }
  renew();
  if (pending_) {
    apply(*pending_, true, false);
    if (pending_) {
      throw not_in_place_yet_error(path_);
    }
  }
  file_.lift_guard();  // of a flush that failed
  if (!state_.dirty) {
    return;
  }
  if (state_.keeps_fresh || state_.keeps_some) {
    file_.write_held(held_, frontier_);
  }
  file_.grow_to(end_);
  const bool synced = settings_.durability == Settings::Durability::step ||
                      (closing && settings_.durability == Settings::Durability::close);
  if (signature_.is_held()) {
    put_signature(synced);
  } else if (!name_.is_ahead()) {
    change_in_place(synced, closing);
  } else {
    if (synced) {
      sync_data();
    }
    take_name(synced);
  }
  finish_commit();
}

void CommittedFile::finish_commit() {
  ++commits_;
  state_.dirty = state_.keeps_fresh = state_.keeps_some = false;
  if (deferred_) {
    held_.drop_from(frontier_);
  } else if (!pending_) {
    held_.clear();
    checksums_.update(file_.file());
  }
  frontier_ = std::max(frontier_, end_);
  claim_.note_commit(frontier_);
  if (settings_.log) {
    storage::say(path_ + ": commit " + std::to_string(commits_) + ", " + std::to_string(end_) +
                 " bytes");
  }
}

void CommittedFile::sync_data() {
  try {
    file_.sync();
  } catch (...) {
    if (applied_) {
      pending_ = std::move(applied_);  // its last stage may be lost
    }
    throw;
  }
  applied_.reset();
}

void CommittedFile::take_name(bool synced) {
  require_place();  // the sync of the data may have taken any time
  try {
    name_.take(synced);
  } catch (...) {
    state_.poisoned = name_.is_in_doubt();
    throw;
  }
  state_.names_changed = !synced;
}

/// The first commit of what was written into an empty file. Whoever made that may not have synced
/// its name.
void CommittedFile::put_signature(bool synced) {
  if (synced) {
    sync_data();
    storage_.sync_directory(path_);
  } else {
    state_.names_changed = true;
  }
  require_place();
  try {
    signature_.write_to(file_.changing());
    if (synced) {
      sync_data();
    }
  } catch (...) {
    signature_.take_from(file_.file());
    throw;
  }
  signature_.end();
}

/// What the record says of the data, so that both may be synced at the same time. Nothing where the
/// data is to be synced first: recovery could not tell whether it is complete, or the last commit
/// needs its record until its superblock is durable, and this one is written over that.
std::optional<commit::JournalTail> CommittedFile::tail() {
  if (settings_.durability != Settings::Durability::step || (applied_ && !log_.has_previous())) {
    return std::nullopt;
  }
  auto fresh = file_.unsynced(frontier_, end_);
  return fresh ? std::optional(commit::JournalTail{std::move(*fresh)}) : std::nullopt;
}

bool CommittedFile::may_defer() const {
  // Of changes in place. Every record until they are there has all of them.
  constexpr std::uint64_t most_deferred_bytes = 2 << 20;
  return settings_.apply == Settings::Apply::later &&
         held_.memory_bytes() + held_.spilled_bytes() <= most_deferred_bytes;
}

void CommittedFile::change_in_place(bool synced, bool closing) {
  if (!held_.touches(0, frontier_)) {
    if (synced) {
      sync_data();
    }
    return;
  }
  const auto told = synced ? tail() : std::nullopt;
  const bool defers = synced && !closing && may_defer();
  // The guard is synced with the data where recovery could lift it by the record of the commit
  // before, should that of this one not become complete.
  std::optional<std::uint64_t> guard;
  bool is_written = false;
  std::unique_ptr<commit::JournalRuns> record;
  try {
    if (synced && !defers && log_.has_previous()) {
      guard = file_.raise_guard();
    }
    if (synced && !told) {
      sync_data();
      require_place();  // that may have taken any time
    }
    is_written = true;
    if (!log_.has_previous()) {
      applied_.reset();  // its record is written over
    }
    // A record of what was deferred would otherwise stay the last one.
    record = log_.write({file_.file(), held_, frontier_, guard, commits_ + 1, end_,
                         told ? &*told : nullptr, deferred_ != nullptr});
    if (synced) {
      sync_record(record != nullptr, told.has_value());
    }
  } catch (...) {
    take_back(is_written);
    throw;
  }
  if (!record) {
    file_.lift_guard();
    return;
  }
  // From here on the commit is there, whatever happens: recovery would carry it out.
  log_.accept(synced);
  deferred_.reset();
  if (defers && !log_.is_full()) {
    deferred_ = std::move(record);
  } else {
    pending_ = std::move(record);
    HeldRuns runs(*pending_, held_);
    apply(runs, synced, guard.has_value());
  }
}

/// With the data where that is not durable yet.
void CommittedFile::sync_record(bool is_there, bool with_data) {
  if (!is_there) {
    sync_data();
    return;
  }
  log_.sync([&] {
    if (with_data) {
      sync_data();
    }
  });
}

/// The record may be complete on the disk, and must not count once anything else is written. The
/// guard that is lifted here may stay on the disk: the record of the commit before lifts it, too.
void CommittedFile::take_back(bool is_written) noexcept {
  if (!claim_.has_lease()) {
    return;
  }
  file_.lift_guard();
  if (!is_written) {
    return;
  }
  try {
    log_.reject();
  } catch (const std::exception&) {
    state_.poisoned = true;
  }
}

/// Brings what is pending, which `runs` are of, into its place. Where it fails the next commit or
/// recovery does it.
void CommittedFile::apply(commit::JournalRuns& runs, bool synced, bool guarded) {
  claim_.require_lease();
  try {
    file_.change(runs, synced, guarded);
    applied_ = std::move(pending_);
  } catch (const std::exception& e) {
    storage::say(std::string(e.what()) +
                 ": the flush is durable, but not in place: the next flush, or "
                 "sluice recover " +
                 path_ + ", will do it");
  }
}

/// No later flush will do it. Error where it fails again: the record has to stay.
void CommittedFile::bring_in_place() {
  if (!pending_ && !file_.is_guarded()) {
    return;
  }
  renew();
  if (pending_) {
    apply(*pending_, true, false);
  } else {
    file_.lift_guard();
  }
  if (pending_ || file_.is_guarded()) {
    throw not_in_place_error(path_);
  }
}

void CommittedFile::close() {
  if (!own_.is_here() || state_.closed) {
    return;
  }
  if (is_removed()) {
    give_up();
    return;
  }
  try {
    if (is_unfinished()) {
      claim_.require_lease();
    }
    commit(true);
    bring_in_place();
  } catch (...) {
    give_up();
    throw;
  }
  state_.closed = true;
  if (settings_.durability != Settings::Durability::none) {
    sync_data();
  }
  if (log_.is_there()) {
    claim_.require_lease();
    log_.remove();
  } else if (state_.names_changed && settings_.durability != Settings::Durability::none &&
             storage::is_at(storage_, path_, file_.identity())) {
    storage_.sync_directory(path_);
  }
  if (!claim_.has_lease()) {
    file_.drop();  // all of it is in the file; what is at its path is another writer's
    return;
  }
  finish_in_place();
  undo_creation();
  file_.drop();
  claim_.release();
}

/// Without a journal: runs of its record may lie behind the end. Not where it was moved: whoever
/// has it by its new name may have appended.
void CommittedFile::finish_in_place() noexcept {
  if (!claim_.has_place(name_.present(), file_)) {
    return;  // what HDF5 gave back at the end stays
  }
  if (commits_ != 0 && end_ != 0) {
    file_.cut_to(end_);
  }
  checksums_.update(file_.file());
  if (settings_.durability != Settings::Durability::none) {
    checksums_.sync();
  }
}

/// The file stays at its last commit. A journal that is in place is not needed, and would forbid
/// other programs to change the file.
void CommittedFile::give_up() noexcept {
  state_.closed = true;
  if (!claim_.has_lease()) {
    return;  // the file and its journal are another writer's
  }
  if (!pending_) {
    file_.lift_guard();
  }
  if (!pending_ && !file_.is_guarded() && !deferred_) {
    frees_journal();  // where it cannot, recovery finds that there is nothing to do
  }
}

}  // namespace sluice::plugin
