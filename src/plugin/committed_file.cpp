#include "plugin/committed_file.hpp"

#include <algorithm>
#include <utility>

#include "commit/publish/atomic_file.hpp"
#include "commit/publish/in_place.hpp"
#include "commit/publish/superblock.hpp"
#include "model/clock.hpp"
#include "plugin/say.hpp"
#include "sluice/error.hpp"

namespace sluice::plugin {

namespace {

constexpr std::uint64_t piece_bytes = commit::JournalRuns::piece_bytes;

/// Where the record behind one from `place` to `next` goes. A journal begins anew at its front, at
/// the cost of one more sync, when it holds a few records of this length.
commit::JournalPlace place_after(const commit::JournalPlace& place,
                                 const commit::JournalPlace& next) {
  constexpr std::uint64_t least_bytes = 64 << 10;
  constexpr std::uint64_t longest_to_keep = 64 << 20;
  constexpr std::uint64_t most_of_a_length = 4;
  const std::uint64_t length = next.at - place.at;
  const bool is_full =
      length > longest_to_keep || next.at > std::max(least_bytes, most_of_a_length * length);
  return is_full ? commit::JournalPlace{} : next;
}

/// The old file must be whole for as long as a crash may leave it there.
void recover_replaced(storage::Storage& storage, const std::string& path) {
  try {
    if (storage.exists(commit::journal_path(path))) {
      commit::carry_out_journal(storage, path, false);
      commit::remove_journal(storage, path);
    }
  } catch (const Error&) {
    // one that cannot be recovered may be replaced all the same
  }
}

}  // namespace

void share_lock(storage::File& file, const Settings& settings) {
  if (settings.locks && !file.share_lock()) {
    throw Error(Code::locked,
                file.path() + ": another program has locked it for writing: wait for it");
  }
}

CommittedFile::CommittedFile(storage::Storage& storage, std::string path, const Settings& settings)
    : storage_(storage),
      path_(std::move(path)),
      settings_(settings),
      lease_(storage.lease(path_)),
      held_(storage, path_ + ".sluice-held", settings.budget_bytes) {}

std::shared_ptr<CommittedFile> CommittedFile::reopen(storage::Storage& storage,
                                                     const std::string& path,
                                                     const Settings& settings) {
  // Before the lease, which makes a file beside it.
  auto there = storage.open(path, storage::Access::read_write);
  share_lock(*there, settings);
  std::shared_ptr<CommittedFile> file(new CommittedFile(storage, path, settings));
  if (storage.exists(commit::journal_path(path))) {
    commit::carry_out_journal(storage, path, false);
    commit::remove_journal(storage, path);
  } else if (commit::is_guarded(*there)) {
    commit::throw_lost(path);
  }
  file->file_ = std::move(there);
  file->identity_ = file->file_->identity();
  file->frontier_ = file->logical_end_ = file->file_->size();
  return file;
}

std::shared_ptr<CommittedFile> CommittedFile::create(storage::Storage& storage,
                                                     const std::string& path,
                                                     const Settings& settings, bool exclusive) {
  if (exclusive && storage.exists(path)) {
    throw Error(Code::exists, path + ": is there already");
  }
  if (storage.exists(path)) {
    // Whoever may not write it may not replace it either.
    share_lock(*storage.open(path, storage::Access::read_write), settings);
  }
  std::shared_ptr<CommittedFile> file(new CommittedFile(storage, path, settings));
  recover_replaced(storage, path);
  const std::string building = commit::fresh_building_path(storage, path);
  file->file_ = storage.create_like(building, path);
  file->building_ = building;
  share_lock(*file->file_, settings);
  file->identity_ = file->file_->identity();
  file->state_.exclusive = exclusive;
  return file;
}

CommittedFile::~CommittedFile() {
  if (own_.is_here() && !building_.empty()) {
    file_.reset();
    commit::forget_building(storage_, path_);
  }
}

void CommittedFile::require_sound() const {
  if (state_.poisoned) {
    throw Error(Code::wrong_state, path_ +
                                       ": an earlier flush failed half-way: close the file and "
                                       "open it again to go on; it holds the last flush");
  }
  if (state_.data_lost) {
    throw Error(Code::wrong_state, path_ +
                                       ": data was lost when a sync of it failed: close the "
                                       "file, open it again and write what came after the last "
                                       "flush anew");
  }
  if (!lost_.empty()) {
    throw Error(Code::wrong_state, path_ + ": " + std::to_string(lost_.front().length) +
                                       " bytes at offset " + std::to_string(lost_.front().offset) +
                                       " could not be written: write them again, or close the "
                                       "file; it holds the last flush");
  }
}

void CommittedFile::read(std::uint64_t offset, std::span<std::byte> bytes) {
  const std::size_t got = file_->read(offset, bytes);
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(got), bytes.end(), std::byte{0});
  held_.read_over(offset, bytes);
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
    write_in_child(offset, bytes);
    return;
  }
  if (state_.poisoned) {
    require_sound();
  }
  state_.dirty = true;
  logical_end_ = std::max(logical_end_, offset + bytes.size());
  const std::uint64_t below =
      std::min<std::uint64_t>(bytes.size(), frontier_ - std::min(frontier_, offset));
  try {
    if (below != 0) {
      held_.write(offset, bytes.first(below));
    }
    if (below != bytes.size()) {
      write_through(offset + below, bytes.subspan(below));
    }
  } catch (...) {
    note_lost(offset, bytes.size());
    throw;
  }
  cut(lost_, offset, bytes.size());
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
      state_.unsynced = true;
      file_->write(offset, bytes);
      if (settings_.durability == Settings::Durability::step) {
        fresh_.add(offset, bytes);
      }
      return;
    } catch (const Error&) {
      state_.keeps_fresh = true;
    }
  }
  state_.keeps_some = true;
  held_.write(offset, bytes);
}

void CommittedFile::note_lost(std::uint64_t offset, std::uint64_t length) {
  cut(lost_, offset, length);
  lost_.push_back({offset, length});
}

void CommittedFile::set_size(std::uint64_t bytes) {
  if (bytes != logical_end_) {
    logical_end_ = bytes;
    state_.dirty = true;
  }
}

void CommittedFile::commit(bool closing) {
  if (!own_.is_here() && state_.dirty && !closing) {
    own_.require(path_);
  }
  if (!own_.is_here() || state_.closed) {
    return;
  }
  require_sound();
  if (!state_.dirty && !pending_) {
    return;
  }
  if (lease_) {
    lease_->check();
  }
  renew();
  if (pending_) {
    apply(true, false);
    if (pending_) {
      throw Error(Code::io, path_ +
                                ": the flush before this one is not in place yet: recovery, or "
                                "the next flush, will do it");
    }
  }
  if (!state_.dirty) {
    return;
  }
  const bool synced = settings_.durability == Settings::Durability::step ||
                      (closing && settings_.durability == Settings::Durability::close);
  place_kept();
  if (file_->size() < end_) {
    state_.unsynced = true;
    file_->resize(end_);
  }
  // The guard is synced with the data where recovery could lift it by the record of the commit
  // before, should that of this one not become complete.
  std::optional<std::uint64_t> guard;
  if (synced && next_record_.at != 0 && changes_committed()) {
    guard = sync_guarded();
  } else if (synced) {
    sync_data();
  }
  if (building_.empty()) {
    change_in_place(synced, guard);
  } else {
    take_name(synced);
  }
  ++commits_;
  frontier_ = std::max(frontier_, end_);
  state_.dirty = state_.keeps_fresh = state_.keeps_some = false;
  if (!pending_) {
    held_.clear();
  }
  if (settings_.log) {
    say(path_ + ": commit " + std::to_string(commits_) + ", " + std::to_string(end_) + " bytes");
  }
}

/// What is held of new space.
void CommittedFile::place_kept() {
  if (state_.keeps_fresh || state_.keeps_some) {
    state_.unsynced = true;
    held_.write_to(*file_, frontier_, fresh_);
  }
}

void CommittedFile::sync_data() {
  if (!state_.unsynced) {
    return;
  }
  try {
    file_->sync();
  } catch (...) {
    state_.sync_failed = true;
    if (applied_) {
      pending_ = std::move(applied_);  // its last stage may be lost
    }
    throw;
  }
  state_.unsynced = false;
  applied_.reset();
  fresh_.clear();
}

/// Is anything held that lies below the frontier?
bool CommittedFile::changes_committed() const { return held_.touches(0, frontier_); }

/// Where the guard is.
std::uint64_t CommittedFile::sync_guarded() {
  state_.unsynced = true;
  try {
    const std::uint64_t guard = commit::raise_guard(*file_);
    sync_data();
    return guard;
  } catch (...) {
    lift_guard();
    throw;
  }
}

/// Nothing was changed yet. Where this fails, recovery does it, or the next flush.
void CommittedFile::lift_guard() noexcept {
  try {
    state_.unsynced = true;
    commit::lift_guard(*file_);
  } catch (const std::exception&) {
    // as above
  }
}

/// After a failed sync: another descriptor, and everything once more that was not synced.
void CommittedFile::renew() {
  if (!state_.sync_failed) {
    return;
  }
  file_ = storage_.open(present_path(), storage::Access::read_write);
  share_lock(*file_, settings_);
  if (state_.unsynced && !fresh_.write_again(*file_)) {
    state_.data_lost = true;
    require_sound();
  }
  state_.sync_failed = false;
}

void CommittedFile::take_name(bool synced) {
  if (state_.exclusive && storage_.exists(path_)) {
    throw Error(Code::exists, path_ + ": was made by another program meanwhile");
  }
  const std::string building = building_;
  const bool is_replacing = commit::take_name(storage_, building, path_, synced);
  building_.clear();
  state_.exclusive = false;
  if (!synced) {
    state_.names_changed = true;
    return;
  }
  try {
    storage_.sync_directory(path_);
  } catch (const Error& e) {
    // What was replaced cannot come back: a crash would decide between the old file and this one.
    state_.poisoned = is_replacing || !commit::take_name_back(storage_, building, path_, building_);
    throw state_.poisoned ? commit::in_doubt(e) : e;
  }
}

void CommittedFile::change_in_place(bool synced, std::optional<std::uint64_t> guard) {
  std::unique_ptr<commit::JournalRuns> journal;
  try {
    journal = write_journal(synced, guard);
  } catch (...) {
    invalidate_journal(guard.has_value());
    throw;
  }
  if (journal) {
    // From here on the commit is there, whatever happens: recovery would carry it out.
    pending_ = std::move(journal);
    apply(synced, guard.has_value());
  } else if (guard) {
    lift_guard();
  }
}

/// Null where nothing that is committed changes.
std::unique_ptr<commit::JournalRuns> CommittedFile::write_journal(
    bool synced, std::optional<std::uint64_t> guard) {
  if (!journal_) {
    journal_ = storage_.create_like(commit::journal_path(path_), path_);
    state_.names_changed = true;
  }
  applied_.reset();  // its record may be written over
  commit::JournalWriter writer(journal_, next_record_);
  std::vector<std::byte> before;
  std::vector<std::byte> after;
  for (const HeldWrites::Range& range : held_.ranges(piece_bytes)) {
    if (range.offset >= frontier_) {
      break;
    }
    before.resize(std::min(range.length, frontier_ - range.offset));
    const std::size_t got = file_->read(range.offset, before);
    std::fill(before.begin() + static_cast<std::ptrdiff_t>(got), before.end(), std::byte{0});
    if (guard && *guard >= range.offset && *guard - range.offset < before.size()) {
      before[*guard - range.offset] = commit::signature_byte;
    }
    const auto held = held_.view(range.offset, before.size());
    if (held.empty()) {
      after = before;
      held_.read_over(range.offset, after);
    }
    writer.add(range.offset, before, held.empty() ? std::span<const std::byte>(after) : held);
  }
  if (writer.is_empty()) {
    return nullptr;
  }
  auto journal = writer.finish(commits_ + 1, end_, model::wall_clock_ns());
  if (synced) {
    journal_->sync();
    if (state_.names_changed) {
      storage_.sync_directory(path_);
      state_.names_changed = false;
    }
  }
  next_record_ = synced ? place_after(next_record_, writer.next_place()) : commit::JournalPlace{};
  return journal;
}

/// It may be complete on the disk, and must not count once anything else is written.
void CommittedFile::invalidate_journal(bool guarded) {
  try {
    if (guarded) {
      lift_guard();
      sync_data();  // without a journal nothing else lifts it
    }
    next_record_ = {};
    journal_.reset();
    commit::remove_journal(storage_, path_);
  } catch (const std::exception&) {
    state_.poisoned = true;
  }
}

/// Where it fails the next commit or recovery does it.
void CommittedFile::apply(bool synced, bool guarded) {
  try {
    state_.unsynced = true;
    if (!guarded) {
      commit::raise_guard(*file_);
      if (synced) {
        file_->sync();
      }
    }
    commit::change_under_guard(*file_, *pending_, synced);
    applied_ = std::move(pending_);
  } catch (const std::exception& e) {
    state_.sync_failed = true;  // whichever call it was: another descriptor next time
    say(std::string(e.what()) +
        ": the flush is durable, but not in place: the next flush, or "
        "sluice recover " +
        path_ + ", will do it");
  }
}

/// What HDF5 gave back at the end. Nothing is lost where it stays.
void CommittedFile::cut_to_end() noexcept {
  try {
    if (commits_ != 0 && end_ != 0 && file_->size() > end_) {
      file_->resize(end_);
    }
  } catch (const std::exception&) {
    // as above
  }
}

void CommittedFile::close() {
  if (!own_.is_here() || state_.closed) {
    return;
  }
  try {
    commit(true);
  } catch (...) {
    give_up();
    throw;
  }
  state_.closed = true;
  cut_to_end();
  if (settings_.durability != Settings::Durability::none) {
    sync_data();
  }
  if (journal_) {
    journal_.reset();
    commit::remove_journal(storage_, path_);
  } else if (state_.names_changed && settings_.durability != Settings::Durability::none) {
    storage_.sync_directory(path_);
  }
  file_.reset();
  lease_.reset();
}

/// The file stays at its last commit. A journal that is in place is not needed, and would forbid
/// other programs to change the file.
void CommittedFile::give_up() noexcept {
  state_.closed = true;
  if (journal_ && !pending_ && !state_.poisoned) {
    try {
      if (settings_.durability == Settings::Durability::step) {
        sync_data();  // a guard that is lifted, but not durably, needs its record
      }
      journal_.reset();
      commit::remove_journal(storage_, path_);
    } catch (const std::exception&) {
      // recovery finds that there is nothing to do
    }
  }
}

}  // namespace sluice::plugin
