// How a Publisher begins, with a new file or one that is there, and how it ends without close().
#include <utility>

#include "commit/publish/atomic_file.hpp"
#include "commit/publish/in_place.hpp"
#include "commit/publish/publisher.hpp"
#include "layout/formats/stores.hpp"
#include "sluice/error.hpp"
#include "storage/named_file.hpp"
#include "storage/store_begin.hpp"

namespace sluice::commit {

Publisher::Publisher(storage::Storage& storage, const std::string& path)
    : storage_(storage),
      path_(path),
      left_ns_(left_lease(storage, path)),
      lease_(storage.lease(path)),
      data_sync_(storage) {}

std::unique_ptr<Publisher> Publisher::build(storage::Storage& storage, const std::string& path,
                                            const layout::Format& format, bool synced,
                                            Naming naming) {
  std::unique_ptr<Publisher> publisher(new Publisher(storage, path));
  // Only now does no other Sluice make one; of a store that a crash left aside, this one is next.
  const bool is_there =
      storage.exists(path) || (format.is_store() && layout::is_put_aside(storage, path));
  if (naming == Naming::refuse && is_there) {
    throw taken_error(path);
  }
  publisher->naming_ = naming;
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
    publisher->file_->watch_lease(path);
    return publisher;
  }
  try {
    recover(storage, path, false,
            publisher->left_ns_);  // the old file stays whole until the new one replaces it
  } catch (const Error& e) {
    // A file that cannot be recovered may be replaced all the same, but a journal that belongs to
    // another one is kept.
    if (e.code() == Code::not_found) {
      publisher->left_journal_ = keep_left_journal(storage, path);
    }
  }
  publisher->replaced_ = ReplacedSet(storage, path);
  const std::string building = fresh_building_path(storage, path);
  publisher->file_ = std::make_unique<ReopenableFile>(storage, storage.create_like(building, path));
  publisher->building_ = building;
  publisher->identity_ = publisher->file_->identity();
  publisher->file_->watch_lease(path);
  return publisher;
}

std::unique_ptr<Publisher> Publisher::reopen(storage::Storage& storage, const std::string& path) {
  std::unique_ptr<Publisher> publisher(new Publisher(storage, path));
  recover(storage, path, false, publisher->left_ns_);
  publisher->is_store_ = layout::is_store(storage, path);
  publisher->file_ = std::make_unique<ReopenableFile>(storage, path, storage::Access::read_write);
  publisher->modified_ns_ = publisher->file_->modified_ns();
  publisher->identity_ = publisher->file_->identity();
  publisher->file_->watch_lease(path);
  publisher->has_name_ = true;
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
  if (file_ && is_new_store_) {
    give_up_store();
  }
  if (file_ && !building_.empty()) {
    try {
      file_.reset();
      check_lease();
      storage_.remove(building_);
    } catch (const std::exception&) {
      // a stale temporary is replaced by the next run
    }
  }
}

void Publisher::give_up_store() noexcept {
  try {
    file_.reset();
    check_lease();
    layout::give_up_store(storage_, path_);
  } catch (const std::exception&) {
    // the next run does it
  }
}

void Publisher::restore_time() noexcept {
  if (!file_ || is_store_ || !building_.empty() || poisoned()) {
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

}  // namespace sluice::commit
