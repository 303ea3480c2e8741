#include "commit/publish/publisher.hpp"

#include <cstring>
#include <utility>

#include "commit/publish/atomic_file.hpp"
#include "commit/publish/in_place.hpp"
#include "commit/publish/superblock.hpp"
#include "exec/transport/agree.hpp"
#include "layout/formats/stores.hpp"
#include "sluice/error.hpp"
#include "storage/store_begin.hpp"

namespace sluice::commit {

namespace {

/// When its records fill this, they are put in place, and the next one goes to its front.
constexpr std::uint64_t journal_room_bytes = 256 << 10;

/// Of changes that wait in memory to be put in place, and of those whose journal may be longer than
/// it must.
constexpr std::uint64_t most_held_bytes = 16 << 20;

/// For the text of an error.
std::string where_its_journal_is(const std::string& path) {
  return ". The steps before it are in the file that was moved, and the last of them perhaps only "
         "in " +
         journal_path(path) +
         ": if that is there, give it the new name of the file as well, and run sluice recover";
}

/// A journal that is not synced is put in place at once: to write so many bytes again takes less
/// time than another call.
constexpr std::size_t unsynced_gap_bytes = 256;

void write_runs(storage::File& file, const std::vector<layout::MetadataRun>& runs) {
  for (const layout::MetadataRun& run : runs) {
    file.write(run.offset, run.bytes);
  }
}

}  // namespace

Publisher::Publisher(storage::Storage& storage, const std::string& path)
    : storage_(storage),
      left_ns_(left_lease(storage, path)),
      name_(storage, path, where_its_journal_is(path)),
      data_sync_(storage) {}

std::unique_ptr<Publisher> Publisher::build(storage::Storage& storage, const std::string& path,
                                            const layout::Format& format, bool synced,
                                            Naming naming) {
  std::unique_ptr<Publisher> publisher(new Publisher(storage, path));
  // Only now does no other Sluice make one; of a store that a crash left aside, this one is next.
  publisher->name_.begin(
      naming, storage.exists(path) || (format.is_store() && layout::is_put_aside(storage, path)));
  if (format.is_store()) {
    publisher->begin_store(format, synced);
  } else {
    publisher->begin_file();
  }
  publisher->file_->watch_lease(path);
  return publisher;
}

void Publisher::begin_store(const layout::Format& format, bool synced) {
  layout::begin_store(storage_, name_.path(), format, synced);
  is_store_ = is_new_store_ = true;
  file_ = std::make_unique<ReopenableFile>(storage_, name_.path(), storage::Access::read_write);
}

void Publisher::begin_file() {
  try {
    // The old file stays whole until the new one replaces it.
    recover(storage_, name_.path(), false, left_ns_);
  } catch (const Error& e) {
    // A file that cannot be recovered may be replaced all the same, but a journal that belongs to
    // another one is kept.
    if (e.code() == Code::not_found) {
      name_.keep_left_journal();
    }
  }
  name_.note_replaced();
  file_ = std::make_unique<ReopenableFile>(storage_, name_.create());
  file_->hold_lock();
}

std::unique_ptr<Publisher> Publisher::reopen(storage::Storage& storage, const std::string& path) {
  std::unique_ptr<Publisher> publisher(new Publisher(storage, path));
  publisher->file_ = lock_hdf5(storage, path);
  recover(storage, path, false, publisher->left_ns_);
  publisher->is_store_ = layout::is_store(storage, path);
  if (!publisher->file_) {
    publisher->file_ = std::make_unique<ReopenableFile>(storage, path, storage::Access::read_write);
  }
  publisher->modified_ns_ = publisher->file_->modified_ns();
  if (!publisher->is_store_) {
    publisher->name_.set_identity(publisher->file_->identity());
    publisher->name_.settle();
  }
  publisher->file_->watch_lease(path);
  return publisher;
}

Publisher::~Publisher() {
  if (applier_) {
    const auto lock = applier_->hold();
    applier_->finish();
  }
  poisoned_ = poisoned();
  applier_.reset();
  restore_time();
  if (is_new_store_) {
    give_up_store();
  }
  if (file_ && name_.is_building()) {
    file_.reset();
    name_.give_up();
  }
}

void Publisher::give_up_store() noexcept {
  try {
    file_.reset();
    name_.check_lease();
    layout::give_up_store(storage_, name_.path());
  } catch (const std::exception&) {
    // the next run does it
  }
}

void Publisher::restore_time() noexcept {
  if (!file_ || is_store_ || name_.is_building() || poisoned()) {
    return;
  }
  try {
    if (file_->modified_ns() != modified_ns_) {
      check_place();
      stamp(*file_, modified_ns_);
    }
  } catch (const std::exception&) {
    // verify then says "changed or copied outside", and nothing else is lost
  }
}

void Publisher::write_fresh(const layout::MetadataUpdate& update) {
  file_->map(update.objects);
  file_->adopt(update.objects);
  // Runs that touch are written by one call.
  std::vector<std::byte> joined;
  for (std::size_t first = 0; first < update.fresh.size();) {
    const std::uint64_t offset = update.fresh[first].offset;
    joined.clear();
    for (; first < update.fresh.size() && update.fresh[first].offset == offset + joined.size();
         ++first) {
      const std::vector<std::byte>& bytes = update.fresh[first].bytes;
      joined.insert(joined.end(), bytes.begin(), bytes.end());
    }
    file_->write(offset, joined);
  }
  if (!is_store_ && file_->size() < update.end) {
    file_->resize(update.end);
  }
}

void Publisher::set_apply_interval(double seconds) {
  // Without a thread nobody would put in place what waits while the program computes.
  const double automatic_s = storage_.in_background() ? 0.2 : 0;
  apply_interval_s_ = seconds < 0 ? automatic_s : seconds;
}

void Publisher::require_sound() const {
  if (poisoned()) {
    name_.check();  // the cause, where that is outside
    throw applier_ && applier_->has_lost_file()
        ? name_.moved_error()
        : Error(Code::wrong_state,
                name_.path() + ": an earlier commit failed half-way: reopen the file to continue");
  }
}

void Publisher::settle() {
  if (applier_) {
    applier_->hold();
  }
  require_sound();
}

void Publisher::finish() {
  if (applier_) {
    const auto lock = applier_->hold();
    applier_->finish();
  }
  settle();
}

void Publisher::publish(const layout::MetadataUpdate& update, bool synced, std::int64_t modified_ns,
                        const std::optional<layout::Extent>& unsynced) {
  check_place();
  is_durable_ = is_durable_ || synced;
  if (is_store_) {
    publish_to_store(update, synced, modified_ns);
    return;
  }
  if (name_.is_building()) {
    name_file(update, synced, modified_ns);
  } else if (update.is_atomic) {
    change(update, synced, modified_ns);
    modified_ns_ = modified_ns;
  } else {
    change_by_journal(update, synced, modified_ns, unsynced);
  }
  name_.set_end(update.end);
}

/// The planner may open the file anew while the guard is up.
void Publisher::keep_signature(model::Overlay& changes) {
  const auto superblock = find_superblock(*file_);
  if (!superblock && has_superblock_) {
    throw name_.cut_error();  // since check_place(): the data of this commit made it longer again
  }
  has_superblock_ = superblock.has_value();
  if (superblock && !changes.touches(superblock->offset, 1)) {
    changes.write(superblock->offset, {&signature_byte, 1});
  }
}

void Publisher::change_by_journal(const layout::MetadataUpdate& update, bool synced,
                                  std::int64_t modified_ns,
                                  const std::optional<layout::Extent>& unsynced) {
  if (!applier_) {
    applier_ =
        std::make_unique<Applier>(Applier::Config{name_, *file_, apply_interval_s_}, changes_);
  }
  const auto lock = applier_->hold();
  if (!synced) {
    applier_->finish();
  }
  require_sound();
  model::Overlay changes = changes_->copy();
  for (const auto* list : {&update.in_place, &update.root}) {
    for (const layout::MetadataRun& run : *list) {
      changes.write(run.offset, run.bytes);
    }
  }
  keep_signature(changes);
  // The disk writes the data while the record is made.
  const storage::SyncInScope data(data_sync_, unsynced ? file_.get() : nullptr);
  const bool holds_much = changes.held_bytes() > most_held_bytes;
  const std::size_t joined_bytes = synced || holds_much ? 0 : unsynced_gap_bytes;
  Journal journal =
      make_journal(*file_, changes, update.end, commits_ + 1, modified_ns, joined_bytes);
  if (journal.runs.empty()) {
    data.finish();
    if (synced) {
      sync_names();
    }
    return;
  }
  if (unsynced) {
    add_data(journal, *file_, *unsynced);
  }
  journal_.place = place_of_next(keeps_log(synced));
  try {
    write_journal(journal, synced);
  } catch (...) {
    invalidate_journal();
    throw;
  }
  // From here on the commit is decided: recovery would complete it.
  ++commits_;
  modified_ns_ = modified_ns;
  if (!synced) {
    apply(std::move(journal));
    return;
  }
  const bool is_full = holds_much || journal_.next.at >= journal_room_bytes;
  changes_->set(std::move(changes));
  applier_->replace(std::move(journal), is_full);
}

void Publisher::publish_to_store(const layout::MetadataUpdate& update, bool synced,
                                 std::int64_t modified_ns) {
  try {
    poisoned_ =
        !publish_store(storage_, name_.path(), update, synced, modified_ns, unsynced_, poisoned_);
  } catch (const Error& e) {
    // What another program committed in the meantime is not given up with what this one began.
    // Nor is what a commit needs that may still arrive.
    is_new_store_ = is_new_store_ && e.code() != Code::locked && !poisoned_;
    throw poisoned_ ? in_doubt(e) : e;
  }
  if (std::exchange(is_new_store_, false)) {
    try {
      storage::forget_replaced(storage_, name_.path(), synced);
    } catch (const std::exception&) {
      // the next opening for writing does it
    }
  }
}

/// Without syncs.
void Publisher::apply(Journal journal) noexcept {
  try {
    put_in_place(*file_, std::move(journal), false);
  } catch (const std::exception&) {
    poisoned_ = true;
  }
}

namespace {

/// The content of the file where `runs` will be written.
std::vector<layout::MetadataRun> present_of(storage::File& file,
                                            const std::vector<layout::MetadataRun>& runs) {
  std::vector<layout::MetadataRun> present = runs;
  for (layout::MetadataRun& run : present) {
    if (file.read(run.offset, run.bytes) != run.bytes.size()) {
      throw Error(Code::truncated, file.path() + ": ends within its header");
    }
  }
  return present;
}

}  // namespace

/// The few bytes that make a commit visible, in place. If writing them fails they are restored, so
/// that the step is not in the file; if that fails too, a crash or the next opening decides.
void Publisher::change(const layout::MetadataUpdate& update, bool synced,
                       std::int64_t modified_ns) {
  const std::vector<layout::MetadataRun> before = present_of(*file_, update.root);
  const std::int64_t modified_before_ns = file_->modified_ns();
  try {
    write_runs(*file_, update.root);
    stamp_if_allowed(*file_, modified_ns);
    if (synced) {
      file_->sync();
    }
  } catch (...) {
    poisoned_ = !put_back(before, modified_before_ns, synced);
    throw;
  }
}

bool Publisher::put_back(const std::vector<layout::MetadataRun>& before, std::int64_t modified_ns,
                         bool synced) noexcept {
  try {
    file_->renew(present_path());
    write_runs(*file_, before);
    stamp(*file_, modified_ns);
    if (synced) {
      file_->sync();
    }
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void Publisher::name_file(const layout::MetadataUpdate& update, bool synced,
                          std::int64_t modified_ns) {
  write_runs(*file_, update.in_place);
  write_runs(*file_, update.root);
  stamp(*file_, modified_ns);
  if (synced) {
    file_->sync();
  }
  const bool is_replacing = name_.take(synced);
  modified_ns_ = modified_ns;
  names_changed_ = true;
  if (synced) {
    try {
      sync_names();
    } catch (const Error& e) {
      // The replaced file cannot be restored, so a crash would decide between old and new file.
      poisoned_ = is_replacing || !name_.give_back();
      if (poisoned_) {
        throw in_doubt(e);
      }
      throw;
    }
  }
}

/// Behind the records that are there, also where they are in place: see forget_records().
JournalPlace Publisher::place_of_next(bool is_log) const {
  const bool goes_on = is_log && journal_.file && journal_.is_log;
  return goes_on && (applier_->has_pending() || journal_.next.at < journal_room_bytes)
             ? journal_.next
             : JournalPlace{};
}

void Publisher::write_journal(const Journal& journal, bool synced) {
  const bool is_log = keeps_log(synced);
  if (journal_.place.at == 0 && journal_.file && journal_.is_log) {
    forget_records(*journal_.file);  // which are in place, before the front is written
    journal_.is_log = false;
  }
  if (!journal_.file) {
    journal_.file = storage_.create_like(journal_path(name_.path()), name_.path());
    journal_.has_room = false;
    journal_.is_log = false;
    names_changed_ = true;
  }
  if (!journal_.has_room && journal_.place.at > 0 && journal_.place.at < journal_room_bytes) {
    make_journal_room();
  }
  const std::vector<std::byte> bytes = journal.to_bytes(journal_.place.previous, is_log);
  JournalHeader header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  journal_.file->write(journal_.place.at, bytes);
  if (synced) {
    sync_journal();
    sync_names();
  }
  // Only now: a record that failed is cut off, and the next one takes its place.
  journal_.next = place_behind(journal_.place, header);
  journal_.is_log = is_log;
}

/// More records will follow. A sync of what is there already does not wait for the file system's
/// own journal.
void Publisher::make_journal_room() noexcept {
  journal_.has_room = true;
  try {
    journal_.file->write(journal_.place.at,
                         std::vector<std::byte>(journal_room_bytes - journal_.place.at));
  } catch (const std::exception&) {
    // The record itself may find space, or says what is wrong.
  }
}

/// The record, and waits for the sync of the data that it needs: at the same time, as one barrier.
/// Its checksums tell whether all of that reached the disk.
void Publisher::sync_journal() {
  const std::exception_ptr of_record = exec::failure_of([&] { journal_.file->sync(); });
  const std::exception_ptr of_data = data_sync_.finish();
  if (of_data || of_record) {
    std::rethrow_exception(of_data ? of_data : of_record);
  }
}

void Publisher::sync_names() {
  is_durable_ = true;
  unsynced_.sync(storage_);
  if (names_changed_) {
    storage_.sync_directory(name_.path());
    names_changed_ = false;
  }
  name_.remove_replaced();
}

/// With the lock of the applier. Of the record that may have reached the disk or not. Those before
/// it stay.
void Publisher::invalidate_journal() {
  try {
    journal_.file.reset();
    if (journal_.place.at == 0) {
      remove_journal(storage_, name_.path());
      return;
    }
    journal_.file = storage_.open(journal_path(name_.path()), storage::Access::read_write);
    journal_.file->resize(journal_.place.at);  // which needs no space
    journal_.has_room = false;
    journal_.file->sync();
  } catch (const std::exception&) {
    poisoned_ = true;
    applier_->give_up();  // recovery decides by what the file holds now
  }
}

void Publisher::close() {
  name_.check_lease();
  finish();
  restore_time();
  if (journal_.file || leaves_journal_) {
    leaves_journal_ = true;
    journal_.file.reset();
    if (storage_.exists(journal_path(name_.path()))) {
      storage_.remove(journal_path(name_.path()));
    }
    if (is_durable_) {
      // Otherwise a crash may restore it beside a file that another program has changed meanwhile.
      storage_.sync_directory(name_.path());
    }
    leaves_journal_ = false;
  }
  if (is_store_ && is_durable_) {
    unsynced_.sync(storage_);  // the documents of the last commit
  }
  name_.remove_replaced();
  poisoned_ = poisoned();
  is_new_store_ = false;  // it stays
  applier_.reset();
  file_.reset();
  name_.release();
}

}  // namespace sluice::commit
