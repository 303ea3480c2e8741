#include "commit/parts/parts_index.hpp"

#include <set>
#include <utility>

#include "commit/publish/atomic_file.hpp"
#include "commit/publish/journal.hpp"
#include "storage/file_lock.hpp"

namespace sluice::commit {

PartsIndex::PartsIndex(storage::Storage& storage, const std::string& path,
                       const std::string& strategy, Opening opening, layout::hdf5::Profile profile)
    : storage_(storage), name_(storage, path) {
  if (opening == Opening::append) {
    locked_ = storage.open(path, storage::Access::read);
    storage::require_share_lock(*locked_);
    name_.set_identity(locked_->identity());
    name_.settle();
    content_ = IndexedSet(path, *locked_);
    attributes_ = content_.attributes();
  } else {
    name_.begin(opening == Opening::create ? Naming::refuse : Naming::replace,
                storage.exists(path));
    if (name_.holder() == PublishedName::Holder::nothing) {
      name_.keep_left_journal();
    }
    content_ = IndexedSet(path, profile);
    name_.note_replaced();
  }
  content_.set_strategy(strategy);
}

void PartsIndex::set_attribute(const model::Attribute& attribute) {
  model::set_attribute(attributes_, attribute);
}

std::uint64_t PartsIndex::commit(const std::vector<model::Definition>& definitions,
                                 const FileCommit& commit, const std::vector<PartNews>& news,
                                 std::uint64_t keep, const std::vector<std::uint32_t>& shared) {
  IndexedSet next = content_;
  std::vector<OldPart> dropped = next.commit(definitions, commit, news, keep, shared);
  replace(std::move(next), commit.synced);
  if (commit.synced) {
    name_.remove_replaced();
  }
  older_.insert(older_.end(), dropped_.begin(), dropped_.end());
  dropped_ = std::move(dropped);
  return content_.steps() - (commit.is_step ? 1 : 0);
}

bool PartsIndex::forget_parts(const std::vector<std::size_t>& lost) {
  const auto first = content_.first_lost_step(lost);
  if (!first) {
    return false;
  }
  replace(content_.before_step(*first), true);
  IndexedSet next = content_;
  std::vector<OldPart> old = next.drop_parts({});
  replace(std::move(next), true);
  remove_all(old);
  return true;
}

IndexedSet PartsIndex::before_step(std::uint64_t step) const {
  IndexedSet next = content_.before_step(step);
  next.drop_parts({});
  return next;
}

void PartsIndex::drop_from(std::uint64_t step, bool synced) {
  IndexedSet next = content_.before_step(step);
  const std::vector<OldPart> old = next.drop_parts({});
  replace(std::move(next), synced);
  dropped_.insert(dropped_.end(), old.begin(), old.end());
}

void PartsIndex::replace(IndexedSet next, bool synced) {
  name_.check();
  next.set_attributes(attributes_);
  write(next.index(), synced);
  if (synced) {
    try {
      storage_.sync_directory(name_.path());
    } catch (const Error& e) {
      if (put_back()) {
        throw;
      }
      poisoned_ = true;
      throw in_doubt(e);
    }
  }
  content_ = std::move(next);
  name_.settle();
}

void PartsIndex::write(const layout::hdf5::Index& index, bool synced) {
  storage::FileIdentity identity;
  // A descriptor of its own: the one that wrote the index is closed, which brings it to the server
  // of a network file system.
  std::unique_ptr<storage::File> locked;
  write_atomically(
      storage_, name_.path(),
      [&](storage::File& file) {
        layout::hdf5::write_index(file, index);
        identity = file.identity();
        if (!index.commits.empty()) {
          file.set_modified_ns(index.commits.back().modified_ns);
        }
        if (synced) {
          file.sync();
        }
        locked = storage_.open(file.path(), storage::Access::read);
        storage::require_share_lock(*locked);
        remove_journal(synced);
      },
      name_.prepare());
  locked_ = std::move(locked);
  name_.set_identity(identity);
}

bool PartsIndex::put_back() noexcept {
  try {
    if (name_.holder() == PublishedName::Holder::another || !name_.leads_to_file()) {
      return false;  // the previous state is unknown, or the name is another file's by now
    }
    if (name_.holder() == PublishedName::Holder::own) {
      write(content_.index(), true);
    } else {
      storage_.remove(name_.path());
    }
    storage_.sync_directory(name_.path());
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

/// For a plain file that is about to be replaced: neither its journal nor one that an earlier run
/// removed may reappear beside the index.
void PartsIndex::remove_journal(bool synced) {
  if (has_no_journal_) {
    return;
  }
  if (storage_.exists(journal_path(name_.path()))) {
    storage_.remove(journal_path(name_.path()));
  }
  if (synced) {
    storage_.sync_directory(name_.path());
    has_no_journal_ = true;
  }
}

void PartsIndex::remove_all(std::vector<OldPart>& parts) noexcept {
  for (const OldPart& part : parts) {
    remove_part(storage_, name_.path(), content_.set().id, part);
  }
  parts.clear();
}

void PartsIndex::sync() {
  name_.check();
  storage_.open(name_.path(), storage::Access::read_write)->sync();
  storage_.sync_directory(name_.path());
  name_.remove_replaced();
}

void PartsIndex::remove_dropped(bool all) noexcept {
  if (!all && older_.empty()) {
    return;
  }
  try {
    name_.check();
  } catch (const std::exception&) {
    return;  // what has the name of the index may refer to them
  }
  remove_all(older_);
  if (all) {
    remove_all(dropped_);
    name_.remove_replaced();
  }
}

void PartsIndex::remove_orphans(const std::string& folder) noexcept {
  const std::set<std::uint64_t> used = content_.part_numbers();
  const auto remove = [&](const std::string& path) {
    try {
      const auto lease = storage_.lease(path);  // of the run that died; it goes with the part
      remove_part(storage_, name_.path(), content_.set().id, {path, {}});
    } catch (const std::exception&) {
      return;  // another process writes it
    }
  };
  try {
    for (const std::string& name : storage_.list(folder)) {
      const auto number = part_number(name, content_.set().id);
      if (number && !used.contains(*number)) {
        remove(folder + "/" + name);
      }
    }
  } catch (const std::exception&) {
    return;  // there is no such folder
  }
}

}  // namespace sluice::commit
