#include "commit/publish/store_commit.hpp"

#include "commit/publish/in_place.hpp"
#include "layout/formats/formats.hpp"
#include "layout/formats/stores.hpp"
#include "storage/calls.hpp"

namespace sluice::commit {

void Unsynced::add_folders(const std::string& top, const std::string& path) {
  for (std::string at = path; at.size() > top.size(); at = storage::folder_of(at)) {
    entries.insert(at);
  }
}

void Unsynced::sync(storage::Storage& storage) {
  for (const std::string& file : files) {
    if (storage.exists(file)) {
      storage.open(file, storage::Access::read_write)->sync();
    }
  }
  files.clear();
  std::set<std::string> folders;
  for (const std::string& entry : entries) {
    if (folders.insert(storage::folder_of(entry)).second) {
      storage.sync_directory(entry);
    }
  }
  entries.clear();
}

namespace {

/// A file under the other name that a document has before it is one. What is there under it is
/// removed, but where there is no document yet: before the first commit it marks the store.
std::unique_ptr<storage::File> document_beside(storage::Storage& storage, const std::string& path,
                                               const std::string& beside) {
  if (storage.exists(beside)) {
    if (!storage.exists(path)) {
      return storage.open(beside, storage::Access::read_write);
    }
    storage.remove(beside);
  }
  return storage.create_like(beside, path);
}

void write_beside(storage::Storage& storage, const std::string& path,
                  std::span<const std::byte> bytes, std::int64_t modified_ns, bool synced) {
  const auto file = document_beside(storage, path, path + storage::new_ending);
  file->write(0, bytes);
  file->resize(bytes.size());
  stamp_if_allowed(*file, modified_ns);
  if (synced) {
    file->sync();
  }
}

/// A copy of the present manifest, for restoring it.
class Manifest {
 public:
  Manifest(storage::Storage& storage, const std::string& top, const std::string& name)
      : storage_(storage), path_(storage::object_path(top, name)) {
    if (storage.exists(path_)) {
      now_ = storage.open(path_, storage::Access::read);
    }
  }
  const std::string& path() const { return path_; }
  std::string beside() const { return path_ + storage::new_ending; }

  /// What is in its file now, to be compared with what the commit goes on from; empty where it is
  /// not there.
  std::vector<std::byte> bytes() const {
    std::vector<std::byte> bytes;
    if (storage_.exists(path_)) {
      const auto file = storage_.open(path_, storage::Access::read);
      bytes.resize(file->size());
      bytes.resize(file->read(0, bytes));
    }
    return bytes;
  }

  /// False if it is unknown which one a crash would leave.
  bool put_back() noexcept {
    try {
      if (now_) {
        std::vector<std::byte> bytes(now_->size());
        bytes.resize(now_->read(0, bytes));
        write_beside(storage_, path_, bytes, now_->modified_ns(), true);
        storage_.rename(beside(), path_);
      } else {
        storage_.rename(path_, beside());
      }
      storage_.sync_directory(path_);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

 private:
  storage::Storage& storage_;
  const std::string path_;
  std::unique_ptr<storage::File> now_;  ///< stays readable when its name belongs to another file
};

[[noreturn]] void refuse_rival(storage::Storage& storage, const Manifest& manifest) {
  storage.remove(manifest.beside());
  throw Error(Code::locked, manifest.path() +
                                ": another program committed to it in the meantime; its commits "
                                "are untouched, and those of this run up to here are in the "
                                "history: open it again to append to what is there now");
}

/// The new manifest gets its name, if what has the name is what the commit goes on from.
void name_manifest(storage::Storage& storage, const Manifest& manifest,
                   const layout::MetadataUpdate& update) {
  if (update.root.empty()) {
    storage.rename(manifest.beside(), manifest.path());
    return;
  }
  const std::vector<std::byte>& before = update.root.front().bytes;
  if (manifest.bytes() != before) {
    refuse_rival(storage, manifest);
  }
  if (!before.empty()) {
    storage.rename(manifest.beside(), manifest.path());
    return;
  }
  try {
    storage.rename_new(manifest.beside(), manifest.path());
  } catch (const Error& e) {
    if (e.code() != Code::exists) {
      throw;
    }
    refuse_rival(storage, manifest);
  }
}

/// What is there stays.
void put_once(storage::Storage& storage, storage::WholeFiles& whole, const std::string& path,
              const layout::Document& document, std::int64_t modified_ns) {
  bool in_doubt = false;  // the same bytes again do no harm
  if (!storage.exists(path)) {
    whole.replace(path, document.bytes, modified_ns, in_doubt);
  }
}

/// Where files are written whole: nothing has another name first. What the manifest names is there
/// before it, and one put of the manifest, under a condition, is the commit.
bool publish_whole(storage::Storage& storage, storage::WholeFiles& whole, const std::string& top,
                   const layout::MetadataUpdate& update, std::int64_t modified_ns, bool& in_doubt) {
  whole.finish();
  for (const layout::Document& document : update.begins) {
    put_once(storage, whole, storage::object_path(top, document.name), document, modified_ns);
  }
  for (const layout::Document& document : update.before) {
    whole.put(storage::object_path(top, document.name), document.bytes);
  }
  const std::string manifest = storage::object_path(top, update.manifest.name);
  whole.replace(manifest, update.manifest.bytes, modified_ns, in_doubt);
  // The commit is complete, whatever happens from here on.
  try {
    for (const layout::Document& document : update.after) {
      const std::string path = storage::object_path(top, document.name);
      if (document.is_once) {
        put_once(storage, whole, path, document, modified_ns);
      } else {
        whole.put(path, document.bytes);
      }
    }
    // The mark of a store that has its first commit.
    const layout::Document& marked = update.begins.empty() ? update.manifest : update.begins.back();
    storage.remove(storage::object_path(top, marked.name) + storage::new_ending);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

void replace_document(storage::Storage& storage, const std::string& top,
                      const layout::Document& document, std::int64_t modified_ns, bool synced,
                      Unsynced& unsynced) {
  storage.confine(top);
  const std::string path = storage::object_path(top, document.name);
  if (document.is_once && storage.exists(path)) {
    return;
  }
  if (storage::WholeFiles* const whole = storage.whole_files(top)) {
    whole->put(path, document.bytes);
    return;
  }
  const std::string beside = path + storage::new_ending;
  storage.make_folder(storage::folder_of(path));
  write_beside(storage, path, document.bytes, modified_ns, synced);
  if (!synced) {
    unsynced.files.insert(path);
  }
  unsynced.add_folders(top, path);
  storage.rename(beside, path);
}

bool publish_store(storage::Storage& storage, const std::string& top,
                   const layout::MetadataUpdate& update, bool synced, std::int64_t modified_ns,
                   Unsynced& unsynced, bool& in_doubt) {
  storage.confine(top);
  if (update.manifest.bytes.size() > storage::most_manifest_bytes) {
    throw Error(Code::unsupported, top + ": the root document would have " +
                                       std::to_string(update.manifest.bytes.size()) +
                                       " bytes, and no reader takes more than " +
                                       std::to_string(storage::most_manifest_bytes) +
                                       ": write several stores");
  }
  if (storage::WholeFiles* const whole = storage.whole_files(top)) {
    return publish_whole(storage, *whole, top, update, modified_ns, in_doubt);
  }
  for (const layout::Document& document : update.begins) {
    replace_document(storage, top, document, modified_ns, synced, unsynced);
    if (synced) {
      unsynced.sync(storage);
    }
  }
  for (const storage::Segment& object : update.objects) {
    const std::string path = storage::object_path(top, object.name);
    if (object.length == 0 && storage.exists(path)) {
      storage.remove(path);
    }
    unsynced.add_folders(top, path);
  }
  for (const layout::Document& document : update.before) {
    replace_document(storage, top, document, modified_ns, synced, unsynced);
  }
  Manifest manifest(storage, top, update.manifest.name);
  storage.make_folder(storage::folder_of(manifest.path()));
  // The manifest's own bytes must be on disk before its name: it is synced under the other one.
  write_beside(storage, manifest.path(), update.manifest.bytes, modified_ns, synced);
  if (synced) {
    unsynced.sync(storage);
  } else {
    unsynced.files.insert(manifest.path());
  }
  name_manifest(storage, manifest, update);
  unsynced.add_folders(top, manifest.path());
  unsynced.entries.insert(top);
  try {
    if (synced) {
      unsynced.sync(storage);
    }
  } catch (...) {
    in_doubt = !manifest.put_back();
    throw;
  }
  // The commit is complete, whatever happens from here on.
  try {
    for (const layout::Document& document : update.after) {
      replace_document(storage, top, document, modified_ns, synced, unsynced);
    }
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

std::uint64_t recover_store(storage::Storage& storage, const std::string& top, bool dry_run) {
  const auto file = layout::open_data(storage, top, storage::Access::read);
  const auto stale = layout::stale_documents(*file);
  Unsynced unsynced;
  for (const layout::Document& document : stale) {
    if (!dry_run) {
      replace_document(storage, top, document, file->modified_ns(), true, unsynced);
    }
  }
  unsynced.sync(storage);
  return stale.size();
}

}  // namespace sluice::commit
