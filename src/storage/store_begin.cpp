#include "storage/store_begin.hpp"

#include <set>
#include <utility>
#include <vector>

#include "storage/calls.hpp"
#include "storage/endings.hpp"

namespace sluice::storage {

namespace {

void sync_name(Storage& storage, const std::string& path, bool synced) {
  if (synced) {
    storage.sync_directory(path);
  }
}

/// Removes a folder; if `synced`, no crash leaves a part of it under its name.
void remove_whole(Storage& storage, const std::string& path, bool synced) {
  if (storage.whole_files(path) != nullptr) {
    storage.remove_folder(path);
    return;
  }
  const std::string gone = path + gone_ending;
  if (storage.exists(gone)) {
    storage.remove_folder(gone);
  }
  if (storage.exists(path)) {
    storage.rename(path, gone);
    sync_name(storage, path, synced);
    storage.remove_folder(gone);
  }
}

/// The folder of a store, with its marker, so that no crash leaves an unmarked one.
void make_begun(Storage& storage, const std::string& path, const std::string& manifest,
                const Manifests& known, bool synced) {
  const std::string replaced = path + old_ending;
  const std::string begun = path + begun_ending;
  if (storage.exists(begun)) {
    storage.remove_folder(begun);
  }
  storage.make_folder_like(begun, replaced);
  storage.confine(begun);
  const std::string made = manifest_path(begun, manifest);
  storage.make_folder(folder_of(made));
  storage.create_like(made + new_ending,
                      manifest_path(replaced, manifest_at(storage, replaced, known)));
  for (std::string at = made; at.size() > begun.size(); at = folder_of(at)) {
    sync_name(storage, at, synced);
  }
  storage.rename(begun, path);
  sync_name(storage, path, synced);
}

/// Removes a store that could not be begun. What cannot be removed now is removed by the next
/// opening.
void forget_begun(Storage& storage, const std::string& path, const Manifests& known) noexcept {
  try {
    if (storage.exists(path + begun_ending)) {
      storage.remove_folder(path + begun_ending);
    }
    if (is_store(storage, path, known) && !has_manifest(storage, path, known)) {
      remove_whole(storage, path, false);
    }
    restore_store(storage, path, known);
  } catch (const std::exception&) {
    return;
  }
}

/// Where nothing can be moved aside, there must be nothing.
void begin_whole(Storage& storage, WholeFiles& whole, const std::string& path,
                 const std::string& manifest, const Manifests& known) {
  if (has_manifest(storage, path, known)) {
    throw Error(Code::exists,
                path +
                    ": a store is there, and an object store cannot replace it in one "
                    "step: remove it (aws s3 rm --recursive " +
                    path + "), or choose another name");
  }
  if (is_store(storage, path, known)) {
    storage.remove_folder(path);  // left by a run that ended before its first commit
  } else if (storage.exists(path)) {
    throw Error(Code::exists, path + ": exists and is not a store: choose another name");
  }
  whole.put(manifest_path(path, manifest) + new_ending, {});
  whole.note_empty();
}

/// The same as make_objects() where objects are made by who writes them.
void clear_objects(WholeFiles& whole, const std::string& path, std::span<const Segment> segments) {
  if (!whole.may_have_leftovers()) {
    return;
  }
  std::vector<std::string> removed;
  for (const Segment& segment : segments) {
    removed.push_back(object_path(path, segment.name));
  }
  whole.remove_all(removed);
}

}  // namespace

void begin_store(Storage& storage, const std::string& path, const std::string& manifest,
                 const Manifests& known, bool synced) {
  if (WholeFiles* const whole = storage.whole_files(path)) {
    begin_whole(storage, *whole, path, manifest, known);
    return;
  }
  restore_store(storage, path, known);
  const bool replaces = has_manifest(storage, path, known);
  if (!replaces && is_store(storage, path, known)) {
    remove_whole(storage, path, synced);  // left by a run that ended before its first commit
  } else if (!replaces && storage.exists(path)) {
    throw Error(Code::exists, path +
                                  ": exists and is not a store: remove it or choose "
                                  "another name");
  }
  try {
    if (replaces) {
      storage.rename(path, path + old_ending);
      sync_name(storage, path, synced);
    }
    make_begun(storage, path, manifest, known, synced);
  } catch (...) {
    forget_begun(storage, path, known);
    throw;
  }
}

void restore_store(Storage& storage, const std::string& path, const Manifests& known) {
  if (storage.whole_files(path) != nullptr) {
    return;  // nothing is moved aside
  }
  if (!is_put_aside(storage, path, known)) {
    if (has_manifest(storage, path, known)) {
      forget_replaced(storage, path, true);  // left by a run that ended after its first commit
    }
    return;
  }
  remove_whole(storage, path, true);
  storage.rename(path + old_ending, path);
  storage.sync_directory(path);
}

void give_up_store(Storage& storage, const std::string& path, const Manifests& known) {
  remove_whole(storage, path, true);
  restore_store(storage, path, known);
}

void forget_replaced(Storage& storage, const std::string& path, bool synced) {
  if (storage.whole_files(path) != nullptr) {
    return;
  }
  const std::string old = path + old_ending;
  if (storage.exists(old) || storage.exists(old + gone_ending)) {
    remove_whole(storage, old, synced);
  }
}

void make_objects(Storage& storage, const std::string& path, std::span<const Segment> segments) {
  if (WholeFiles* const whole = storage.whole_files(path)) {
    clear_objects(*whole, path, segments);
    return;
  }
  if (!segments.empty()) {
    storage.confine(path);
  }
  std::set<std::string> folders;
  for (const Segment& segment : segments) {
    const std::string object = object_path(path, segment.name);
    const std::string folder = folder_of(object);
    if (segment.length != 0 && folders.insert(folder).second) {
      storage.make_folder(folder);
    }
    if (storage.exists(object)) {
      storage.remove(object);  // left by a step that was not committed
      if (segment.length == 0) {
        storage.sync_directory(object);  // otherwise a crash may restore it into a step that has
                                         // none
      }
    }
    if (segment.length != 0) {
      const auto file = storage.open(object, Access::create);
      if (segment.file_bytes != 0) {
        file->resize(segment.file_bytes);
      }
    }
  }
}

}  // namespace sluice::storage
