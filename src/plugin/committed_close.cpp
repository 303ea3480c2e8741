// How a CommittedFile ends.
//
// Invariant: the journal is removed only when the file needs it no more: the last commit is in
// place, no guard is in the file, and both are durable as far as that is promised.
#include "plugin/committed_file.hpp"
#include "sluice/error.hpp"

namespace sluice::plugin {

/// What HDF5 gave back at the end. Nothing is lost where it stays. Without a journal: runs of its
/// record may lie there.
void CommittedFile::cut_to_end() noexcept {
  try {
    if (commits_ != 0 && end_ != 0 && file_->size() > end_) {
      file_->resize(end_);
    }
  } catch (const std::exception&) {
    // as above
  }
}

/// No later flush will do it. Error where it fails again: the record has to stay.
void CommittedFile::bring_in_place() {
  if (!pending_ && !state_.guarded) {
    return;
  }
  renew();
  if (pending_) {
    apply(*pending_, true, false);
  } else {
    lift_guard();
  }
  if (pending_ || state_.guarded) {
    throw Error(Code::io, path_ +
                              ": the last flush is durable, but not in place: opening the file "
                              "for writing, or sluice recover, will do it; until then programs "
                              "without the driver cannot read it");
  }
}

void CommittedFile::close() {
  if (!own_.is_here() || state_.closed) {
    return;
  }
  try {
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
    log_.remove();
  } else if (state_.names_changed && settings_.durability != Settings::Durability::none) {
    storage_.sync_directory(path_);
  }
  cut_to_end();
  checksums_.update(*file_);
  if (settings_.durability != Settings::Durability::none) {
    checksums_.sync();
  }
  file_.reset();
  lease_.reset();
}

/// The file stays at its last commit. A journal that is in place is not needed, and would forbid
/// other programs to change the file.
void CommittedFile::give_up() noexcept {
  state_.closed = true;
  if (!pending_) {
    lift_guard();
  }
  if (log_.is_there() && !pending_ && !state_.guarded && !state_.deferred && !state_.poisoned) {
    try {
      if (settings_.durability != Settings::Durability::none) {
        sync_data();  // a guard that is lifted, but not durably, needs its record
      }
      log_.remove();
    } catch (const std::exception&) {
      // recovery finds that there is nothing to do
    }
  }
}

}  // namespace sluice::plugin
