#include "commit/publisher.hpp"

#include "commit/journal.hpp"
#include "commit/recovery.hpp"
#include "sluice/error.hpp"

namespace sluice::commit {

Publisher::Publisher(storage::Storage& storage, const std::string& path)
    : storage_(storage), path_(path), lease_(storage.lease(path)) {}

std::unique_ptr<Publisher> Publisher::build(storage::Storage& storage, const std::string& path) {
  std::unique_ptr<Publisher> publisher(new Publisher(storage, path));
  try {
    recover(storage, path, false);  // the old file stays whole until the new one replaces it
  } catch (const Error&) {
    // a file that cannot be recovered may be replaced all the same
  }
  const std::string building = path + ".sluice-new";
  if (storage.exists(building)) {
    storage.remove(building);  // left behind by a run that died before its first commit
  }
  publisher->file_ = storage.open(building, storage::Access::create);
  publisher->building_ = building;
  return publisher;
}

std::unique_ptr<Publisher> Publisher::reopen(storage::Storage& storage, const std::string& path) {
  std::unique_ptr<Publisher> publisher(new Publisher(storage, path));
  recover(storage, path, false);
  publisher->file_ = storage.open(path, storage::Access::read_write);
  return publisher;
}

Publisher::~Publisher() {
  if (file_ && !building_.empty()) {
    try {
      file_.reset();
      storage_.remove(building_);
    } catch (const std::exception&) {
      // a stale temporary is replaced by the next run
    }
  }
}

void Publisher::write_fresh(const layout::MetadataUpdate& update) {
  for (const layout::MetadataRun& run : update.fresh) {
    file_->write(run.offset, run.bytes);
  }
  if (file_->size() < update.end) {
    file_->resize(update.end);
  }
}

void Publisher::publish(const layout::MetadataUpdate& update, bool synced,
                        std::int64_t modified_ns) {
  ++commits_;
  if (!building_.empty()) {
    name_file(update, synced, modified_ns);
    return;
  }
  const Journal journal = make_journal(*file_, update, commits_);
  if (journal.runs.empty()) {
    return;
  }
  try {
    write_journal(journal.to_bytes(), synced);
  } catch (...) {
    invalidate_journal();
    throw;
  }
  // From here on the commit is there, whatever happens: recovery would carry it out.
  try {
    apply_journal(*file_, journal, synced);
    file_->set_modified_ns(modified_ns);
  } catch (const std::exception&) {
    poisoned_ = true;
  }
}

void Publisher::name_file(const layout::MetadataUpdate& update, bool synced,
                          std::int64_t modified_ns) {
  for (const auto* list : {&update.in_place, &update.root}) {
    for (const layout::MetadataRun& run : *list) {
      file_->write(run.offset, run.bytes);
    }
  }
  file_->set_modified_ns(modified_ns);
  if (synced) {
    file_->sync();
  }
  if (storage_.exists(journal_path(path_))) {
    storage_.remove(journal_path(path_));  // of the file that is about to be replaced
  }
  storage_.rename(building_, path_);
  building_.clear();
  if (synced) {
    try {
      storage_.sync_directory(path_);
    } catch (...) {
      poisoned_ = true;  // old file or new one: a crash would decide
      throw;
    }
  }
}

void Publisher::write_journal(const std::vector<std::byte>& bytes, bool synced) {
  const std::string name = journal_path(path_);
  const bool is_new = journal_ == nullptr;
  if (is_new) {
    journal_ = storage_.open(name, storage::Access::create);
  }
  journal_->write(0, bytes);
  if (synced) {
    journal_->sync();
    if (is_new) {
      storage_.sync_directory(name);
    }
  }
}

void Publisher::invalidate_journal() {
  try {
    journal_.reset();
    if (storage_.exists(journal_path(path_))) {
      storage_.remove(journal_path(path_));
    }
    storage_.sync_directory(path_);
  } catch (const std::exception&) {
    poisoned_ = true;
  }
}

void Publisher::close() {
  if (journal_ && !poisoned_) {
    journal_.reset();
    storage_.remove(journal_path(path_));
    // Not synced: a journal that comes back after a crash holds what the file holds already.
  }
  file_.reset();
  lease_.reset();
}

}  // namespace sluice::commit
