#include "commit/publish/publisher.hpp"

#include <utility>

#include "commit/publish/atomic_file.hpp"
#include "commit/publish/in_place.hpp"
#include "commit/publish/recovery.hpp"
#include "layout/stores.hpp"
#include "sluice/error.hpp"

namespace sluice::commit {

Publisher::Publisher(storage::Storage& storage, const std::string& path)
    : storage_(storage),
      path_(path),
      was_left_(has_lease(storage, path)),
      lease_(storage.lease(path)) {}

std::unique_ptr<Publisher> Publisher::build(storage::Storage& storage, const std::string& path,
                                            const layout::Format& format, bool synced) {
  std::unique_ptr<Publisher> publisher(new Publisher(storage, path));
  if (format.is_store()) {
    layout::begin_store(storage, path, format, synced);
    publisher->is_store_ = publisher->is_new_store_ = true;
    try {
      publisher->file_ =
          std::make_unique<ReopenableFile>(storage, path, storage::Access::read_write);
    } catch (...) {
      publisher->give_up_store();
      throw;
    }
    return publisher;
  }
  try {
    recover(storage, path, false,
            publisher->was_left_);  // the old file stays whole until the new one replaces it
  } catch (const Error&) {
    // a file that cannot be recovered may be replaced all the same
  }
  publisher->replaced_ = ReplacedSet(storage, path);
  const std::string building = fresh_building_path(storage, path);
  publisher->file_ = std::make_unique<ReopenableFile>(storage, storage.create_like(building, path));
  publisher->building_ = building;
  return publisher;
}

std::unique_ptr<Publisher> Publisher::reopen(storage::Storage& storage, const std::string& path) {
  std::unique_ptr<Publisher> publisher(new Publisher(storage, path));
  recover(storage, path, false, publisher->was_left_);
  publisher->is_store_ = layout::is_store(storage, path);
  publisher->file_ = std::make_unique<ReopenableFile>(storage, path, storage::Access::read_write);
  publisher->modified_ns_ = publisher->file_->modified_ns();
  return publisher;
}

Publisher::~Publisher() {
  if (applying_.valid()) {
    applying_.wait();
  }
  restore_time();
  if (file_ && is_new_store_) {
    give_up_store();
  }
  if (file_ && !building_.empty()) {
    try {
      file_.reset();
      storage_.remove(building_);
    } catch (const std::exception&) {
      // a stale temporary is replaced by the next run
    }
  }
}

void Publisher::give_up_store() noexcept {
  try {
    file_.reset();
    layout::give_up_store(storage_, path_);
  } catch (const std::exception&) {
    // the next run does it
  }
}

/// Writes of a failed step have changed it.
void Publisher::restore_time() noexcept {
  if (!file_ || is_store_ || !building_.empty() || poisoned_) {
    return;
  }
  try {
    if (file_->modified_ns() != modified_ns_) {
      stamp(*file_, modified_ns_);
    }
  } catch (const std::exception&) {
    // verify then says "changed or copied outside", and nothing else is lost
  }
}

void Publisher::write_fresh(const layout::MetadataUpdate& update) {
  file_->map(update.objects);
  file_->adopt(update.objects);
  for (const layout::MetadataRun& run : update.fresh) {
    file_->write(run.offset, run.bytes);
  }
  if (!is_store_ && file_->size() < update.end) {
    file_->resize(update.end);
  }
}

void Publisher::settle() {
  if (applying_.valid()) {
    applying_.get();
  }
  if (poisoned_) {
    throw Error(Code::wrong_state,
                path_ + ": an earlier commit failed half-way: reopen the file to continue");
  }
}

void Publisher::publish(const layout::MetadataUpdate& update, bool synced,
                        std::int64_t modified_ns) {
  if (lease_) {
    lease_->check();
  }
  ++commits_;
  is_durable_ = is_durable_ || synced;
  if (is_store_) {
    publish_to_store(update, synced, modified_ns);
    return;
  }
  if (!building_.empty()) {
    name_file(update, synced, modified_ns);
    return;
  }
  if (update.is_atomic) {
    change(update, synced, modified_ns);
    modified_ns_ = modified_ns;
    return;
  }
  Journal journal = make_journal(*file_, update, commits_, modified_ns);
  if (journal.runs.empty()) {
    if (synced) {
      sync_names();
    }
    return;
  }
  try {
    write_journal(journal.to_bytes(), synced);
  } catch (...) {
    invalidate_journal();
    throw;
  }
  // From here on the commit is decided: recovery would complete it.
  modified_ns_ = modified_ns;
  if (synced && storage_.in_background()) {
    applying_ = std::async(std::launch::async, [this, kept = std::move(journal)]() mutable {
      apply(std::move(kept), true);
    });
  } else {
    apply(std::move(journal), synced);
  }
}

void Publisher::publish_to_store(const layout::MetadataUpdate& update, bool synced,
                                 std::int64_t modified_ns) {
  poisoned_ = !publish_store(storage_, path_, update, synced, modified_ns, unsynced_, poisoned_);
  if (std::exchange(is_new_store_, false)) {
    try {
      storage::forget_replaced(storage_, path_, synced);
    } catch (const std::exception&) {
      // the next opening for writing does it
    }
  }
}

void Publisher::apply(Journal journal, bool synced) noexcept {
  try {
    MemoryRuns runs(std::move(journal));
    apply_journal(*file_, runs, synced);
    stamp(*file_, runs.modified_ns());
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
    for (const layout::MetadataRun& run : update.root) {
      file_->write(run.offset, run.bytes);
    }
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
    for (const layout::MetadataRun& run : before) {
      file_->write(run.offset, run.bytes);
    }
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
  for (const auto* list : {&update.in_place, &update.root}) {
    for (const layout::MetadataRun& run : *list) {
      file_->write(run.offset, run.bytes);
    }
  }
  stamp(*file_, modified_ns);
  if (synced) {
    file_->sync();
  }
  const bool is_replacing = commit::take_name(storage_, building_, path_, synced);
  const std::string building = std::exchange(building_, {});
  modified_ns_ = modified_ns;
  names_changed_ = true;
  if (synced) {
    try {
      sync_names();
    } catch (const Error& e) {
      // The replaced file cannot be restored, so a crash would decide between old and new file.
      poisoned_ = is_replacing || !take_name_back(storage_, building, path_, building_);
      if (poisoned_) {
        throw in_doubt(e);
      }
      throw;
    }
  }
}

void Publisher::write_journal(const std::vector<std::byte>& bytes, bool synced) {
  if (!journal_) {
    journal_ = storage_.create_like(journal_path(path_), path_);
    names_changed_ = true;
  }
  journal_->write(0, bytes);
  if (synced) {
    journal_->sync();
    sync_names();
  }
}

void Publisher::sync_names() {
  is_durable_ = true;
  unsynced_.sync(storage_);
  if (names_changed_) {
    storage_.sync_directory(path_);
    names_changed_ = false;
  }
  if (building_.empty()) {
    replaced_.remove_parts();
  }
}

void Publisher::invalidate_journal() {
  try {
    journal_.reset();
    remove_journal(storage_, path_);
  } catch (const std::exception&) {
    poisoned_ = true;
  }
}

void Publisher::close() {
  settle();
  restore_time();
  if (journal_ || leaves_journal_) {
    leaves_journal_ = true;
    journal_.reset();
    if (storage_.exists(journal_path(path_))) {
      storage_.remove(journal_path(path_));
    }
    if (is_durable_) {
      // Otherwise a crash may restore it beside a file that another program has changed meanwhile.
      storage_.sync_directory(path_);
    }
    leaves_journal_ = false;
  }
  if (is_store_ && is_durable_) {
    unsynced_.sync(storage_);  // the documents of the last commit
  }
  if (building_.empty()) {
    replaced_.remove_parts();
  }
  file_.reset();
  lease_.reset();
}

}  // namespace sluice::commit
