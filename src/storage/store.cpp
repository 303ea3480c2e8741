#include "storage/store.hpp"

#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "storage/calls.hpp"
#include "storage/store_version.hpp"

namespace sluice::storage {

namespace {

constexpr std::size_t open_objects_max = 64;
/// The number of closed objects that are remembered for a sync; more are synced at once.
constexpr std::size_t closed_objects_max = 4096;

class Store final : public File, public Objects {
 public:
  /// `shown`: how messages name it; the folder if empty.
  Store(Storage& storage, std::string path, std::string manifest, Access access,
        const std::string& shown = "")
      : storage_(storage),
        path_(std::move(path)),
        shown_(shown.empty() ? path_ : shown),
        manifest_name_(std::move(manifest)),
        access_(access),
        has_manifest_(storage.exists(manifest_path(path_, manifest_name_))) {
    if (access_ != Access::read || shown_ != path_) {
      storage_.confine(path_);
    }
    const std::string at = manifest_path(path_, manifest_name_);
    probe_ = storage_.open(at + (has_manifest_ ? "" : new_ending), access_);
    if (has_manifest_) {
      if (probe_->size() > most_manifest_bytes) {
        throw Error(Code::unsupported, at + ": has " + std::to_string(probe_->size()) +
                                           " bytes; up to " + std::to_string(most_manifest_bytes) +
                                           " can be read");
      }
      manifest_.resize(probe_->size());
      manifest_.resize(probe_->read(0, manifest_));
    }
  }

  Objects* objects() override { return this; }
  std::size_t read_bytes() const override { return probe_->read_bytes(); }
  bool reads_ahead() const override { return storage_.whole_files(path_) != nullptr; }
  std::shared_ptr<void> will_read(std::span<const FileRange> ranges) override {
    WholeFiles* const whole = storage_.whole_files(path_);
    return whole == nullptr ? nullptr : whole->will_read(in_objects(ranges));
  }
  void map(std::span<const Segment> segments) override {
    const std::lock_guard lock(mutex_);
    for (const Segment& segment : segments) {
      if (segment.length != 0) {
        segments_.try_emplace(segment.address, segment);
      }
    }
  }
  void adopt(std::span<const Segment> segments) override {
    if (storage_.whole_files(path_) != nullptr) {
      return;  // who wrote an object also finishes it
    }
    for (const Segment& segment : segments) {
      if (segment.file_bytes != 0) {
        open_object(segment, true)->resize(segment.file_bytes);
      }
    }
  }
  std::optional<std::uint64_t> object_bytes(const std::string& name) override {
    if (has_manifest_ && name == manifest_name_) {
      return manifest_.size();
    }
    const std::string object = object_path(path_, name);
    if (WholeFiles* const whole = storage_.whole_files(path_)) {
      return whole->sizes_of({&object, 1}).front();
    }
    if (!storage_.exists(object)) {
      return std::nullopt;
    }
    return storage_.open(object, Access::read)->size();
  }
  Sizes sizes_of(std::span<const std::string> names) override {
    WholeFiles* const whole = storage_.whole_files(path_);
    if (whole == nullptr) {
      return Objects::sizes_of(names);
    }
    std::vector<std::string> paths;
    for (const std::string& name : names) {
      paths.push_back(object_path(path_, name));
    }
    return whole->sizes_of(paths);
  }
  std::vector<std::string> names_in(const std::string& name) override {
    return storage_.list(name.empty() ? path_ : object_path(path_, name));
  }

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const Segment segment = segment_at(offset, Call::write, bytes.size());
      const std::uint64_t within = offset - segment.address;
      const std::size_t piece = std::min<std::uint64_t>(bytes.size(), segment.length - within);
      const auto object = open_object(segment, true);
      object->write(within, bytes.first(piece));
      offset += piece;
      bytes = bytes.subspan(piece);
    }
  }
  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) override {
    std::size_t done = 0;
    if (offset < manifest_.size()) {
      done = std::min<std::uint64_t>(bytes.size(), manifest_.size() - offset);
      std::memcpy(bytes.data(), manifest_.data() + offset, done);
      return done;
    }
    while (done < bytes.size()) {
      if (done == 0 && segments_end() <= offset) {
        return 0;
      }
      const Segment segment = segment_at(offset + done, Call::read, bytes.size());
      const std::uint64_t within = offset + done - segment.address;
      const std::size_t piece =
          std::min<std::uint64_t>(bytes.size() - done, segment.length - within);
      const std::size_t got = open_object(segment, false)->read(within, bytes.subspan(done, piece));
      done += got;
      if (got < piece) {
        break;
      }
    }
    return done;
  }
  void preallocate(std::uint64_t offset, std::uint64_t length) override {
    std::vector<Segment> met;
    {
      const std::lock_guard lock(mutex_);
      for (auto it = segments_.lower_bound(offset);
           it != segments_.end() && it->first < offset + length; ++it) {
        met.push_back(it->second);
      }
    }
    for (const Segment& segment : met) {
      if (storage_.whole_files(path_) != nullptr) {
        return;  // nothing can be reserved
      }
      open_object(segment, true)->preallocate(0, segment.file_bytes);
    }
  }
  void sync() override {
    if (WholeFiles* const whole = storage_.whole_files(path_)) {
      whole->finish();
      return;
    }
    std::vector<std::shared_ptr<File>> dirty;
    std::set<std::string> closed;
    {
      const std::lock_guard lock(mutex_);
      for (Open& open : open_) {
        if (std::exchange(open.is_dirty, false)) {
          dirty.push_back(open.file);
        }
      }
      if (sync_failure_) {
        std::rethrow_exception(sync_failure_);
      }
      closed.swap(closed_dirty_);
    }
    for_good([&] {
      for (const auto& file : dirty) {
        file->sync();
      }
      for (const std::string& name : closed) {
        const std::string object = path_ + "/" + name;
        if (storage_.exists(object)) {  // left by a step that was not committed
          storage_.open(object, access_)->sync();
        }
      }
    });
  }
  std::uint64_t size() override {
    return std::max<std::uint64_t>(manifest_.size(), segments_end());
  }
  void resize(std::uint64_t) override {}  // objects have sizes, the store has none
  void set_modified_ns(std::int64_t ns) override { probe_->set_modified_ns(ns); }
  std::int64_t modified_ns() override { return probe_->modified_ns(); }
  std::size_t alignment() const override { return probe_->alignment(); }
  void drop_cache() override {
    const std::lock_guard lock(mutex_);
    for (const Open& open : open_) {
      open.file->drop_cache();
    }
  }
  const std::string& path() const override { return shown_; }

 private:
  struct Open {
    std::uint64_t address = 0;
    std::string name;
    std::shared_ptr<File> file;
    bool is_dirty = false;
  };

  std::uint64_t segments_end() {
    const std::lock_guard lock(mutex_);
    return segments_.empty() ? 0 : segments_.rbegin()->first + segments_.rbegin()->second.length;
  }

  Segment segment_at(std::uint64_t offset, Call call, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    auto after = segments_.upper_bound(offset);
    if (after != segments_.begin()) {
      const Segment& segment = std::prev(after)->second;
      if (offset - segment.address < segment.length) {
        return segment;
      }
    }
    throw Error(Code::internal,
                path_ + ": " + describe(call, bytes, offset) + ": no object has this address");
  }

  /// What of the ranges is in objects.
  std::vector<ObjectRange> in_objects(std::span<const FileRange> ranges) {
    std::vector<ObjectRange> found;
    const std::lock_guard lock(mutex_);
    for (const auto& [offset, bytes] : ranges) {
      auto at = segments_.upper_bound(offset);
      at = at == segments_.begin() ? at : std::prev(at);
      for (; at != segments_.end() && at->first < offset + bytes; ++at) {
        const Segment& segment = at->second;
        const std::uint64_t begin = std::max(offset, segment.address);
        const std::uint64_t end = std::min(offset + bytes, segment.address + segment.length);
        if (begin < end) {
          found.push_back(
              {object_path(path_, segment.name), {begin - segment.address, end - begin}});
        }
      }
    }
    return found;
  }

  /// A failed sync is permanent: to continue, another Store is needed.
  template <class Sync>
  void for_good(Sync&& sync) {
    try {
      sync();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      sync_failure_ = sync_failure_ ? sync_failure_ : std::current_exception();
      throw;
    }
  }

  std::shared_ptr<File> opened(const Segment& segment, bool writes) {
    const std::string path = object_path(path_, segment.name);
    WholeFiles* const whole = storage_.whole_files(path_);
    if (whole == nullptr) {
      return storage_.open(path, access_);
    }
    return writes ? whole->open_version(path, segment.address, segment.file_bytes)
                  : whole->open_unseen(path);
  }

  std::shared_ptr<File> open_object(const Segment& segment, bool writes) {
    std::shared_ptr<File> closing;
    std::shared_ptr<File> file;
    {
      const std::lock_guard lock(mutex_);
      auto found = std::find_if(open_.begin(), open_.end(),
                                [&](const Open& open) { return open.address == segment.address; });
      if (found == open_.end()) {
        open_.push_front({segment.address, segment.name, opened(segment, writes)});
        if (open_.size() > open_objects_max) {
          const Open& last = open_.back();
          if (last.is_dirty && closed_dirty_.size() < closed_objects_max) {
            closed_dirty_.insert(last.name);
          } else if (last.is_dirty) {
            closing = last.file;
          }
          open_.pop_back();
        }
      } else {
        open_.splice(open_.begin(), open_, found);
      }
      open_.front().is_dirty = open_.front().is_dirty || writes;
      file = open_.front().file;
    }
    if (closing) {
      for_good([&] { closing->sync(); });
    }
    return file;
  }

  Storage& storage_;
  const std::string path_;
  const std::string shown_;
  const std::string manifest_name_;
  const Access access_;
  const bool has_manifest_;
  std::unique_ptr<File> probe_;
  std::vector<std::byte> manifest_;
  std::mutex mutex_;
  std::map<std::uint64_t, Segment> segments_;
  std::list<Open> open_;  ///< the last used first
  std::set<std::string> closed_dirty_;
  std::exception_ptr sync_failure_;
};

}  // namespace

std::unique_ptr<File> open_data(Storage& storage, const std::string& path, const Manifests& known,
                                Access access) {
  if (access == Access::read && is_put_aside(storage, path, known)) {
    throw Error(Code::format, path +
                                  ": a run that ended before its first commit moved the previous "
                                  "store aside: restore it with `sluice recover " +
                                  path + "`");
  }
  if (access != Access::create && is_store(storage, path, known)) {
    const std::string manifest = manifest_at(storage, path, known);
    if (manifest.empty() && access == Access::read) {
      throw Error(Code::format, path +
                                    ": a store without a manifest: its first commit was not "
                                    "completed, or is still being written");
    }
    return std::make_unique<Store>(
        storage, path, manifest.empty() ? manifest_at(storage, path, known, new_ending) : manifest,
        access);
  }
  return storage.open(path, access);
}

std::unique_ptr<File> open_with_neighbours(Storage& storage, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (!storage.exists(path)) {
    return storage.open(path, Access::read);  // which says so
  }
  return std::make_unique<Store>(storage, folder_of(path), name, Access::read, path);
}

std::unique_ptr<File> open_manifest(Storage& storage, const std::string& path,
                                    const std::string& manifest, const std::string& shown) {
  return std::make_unique<Store>(storage, path, manifest, Access::read, shown);
}

}  // namespace sluice::storage
