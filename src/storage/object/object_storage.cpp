#include "storage/object/object_storage.hpp"

#include <algorithm>

#include "model/clock.hpp"
#include "model/name.hpp"
#include "sluice/error.hpp"
#include "storage/object/curl_library.hpp"
#include "storage/object/pages.hpp"

namespace sluice::storage {

namespace {

constexpr std::size_t streams = 8;  ///< requests of a process at a time
constexpr double no_limit_s = 24 * 3600;
/// The other ranks wait for one whose requests are tried again: it gives up before they do.
constexpr double share_of_timeout = 0.7;
/// Of what one call lists.
constexpr std::size_t most_names = 4 << 20;
/// Longer reads are several requests at a time.
constexpr std::size_t read_piece_bytes = 8 << 20;

double request_timeout_s(double timeout_s) {
  return timeout_s > 0 ? timeout_s * share_of_timeout : no_limit_s;
}

/// An object that is read: its bytes never change.
class ObjectReader final : public File {
 public:
  ObjectReader(Bucket& bucket, Workers& workers, ReadAhead& ahead, std::string key,
               std::string path)
      : bucket_(bucket),
        workers_(workers),
        ahead_(ahead),
        key_(std::move(key)),
        path_(std::move(path)) {}

  void write(std::uint64_t, std::span<const std::byte>) override { refuse(); }
  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) override {
    if (const auto got = ahead_.take(key_, offset, bytes)) {
      return *got;
    }
    if (bytes.size() <= read_piece_bytes) {
      return bucket_.get(key_, offset, bytes);
    }
    const std::size_t count = (bytes.size() + read_piece_bytes - 1) / read_piece_bytes;
    std::vector<std::size_t> got(count);
    workers_.for_each(count, [&](std::size_t i) {
      const std::size_t begin = i * read_piece_bytes;
      got[i] = bucket_.get(key_, offset + begin,
                           bytes.subspan(begin, std::min(read_piece_bytes, bytes.size() - begin)));
    });
    std::size_t all = 0;
    for (std::size_t i = 0; i < count && all == i * read_piece_bytes; ++i) {
      all += got[i];
    }
    return all;
  }
  void preallocate(std::uint64_t, std::uint64_t) override {}
  void sync() override {}
  std::uint64_t size() override { return facts().bytes; }
  void resize(std::uint64_t) override { refuse(); }
  void set_modified_ns(std::int64_t) override {}
  std::int64_t modified_ns() override { return facts().modified_ns; }
  const std::string& path() const override { return path_; }

  const ObjectFacts& facts() {
    if (!facts_) {
      facts_ = bucket_.head(key_);
      if (!facts_) {
        throw Error(Code::not_found, path_ + ": open failed: there is no such object");
      }
    }
    return *facts_;
  }

 private:
  [[noreturn]] void refuse() const {
    throw Error(Code::unsupported, path_ + ": an object store changes no object in place");
  }

  Bucket& bucket_;
  Workers& workers_;
  ReadAhead& ahead_;
  const std::string key_;
  const std::string path_;
  std::optional<ObjectFacts> facts_;
};

/// An object that is being written.
class ObjectWriter final : public File {
 public:
  ObjectWriter(Bucket& bucket, Uploads& uploads, std::string key, std::string path)
      : bucket_(bucket), uploads_(uploads), key_(std::move(key)), path_(std::move(path)) {}

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    uploads_.write(key_, offset, bytes);
  }
  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) override {
    uploads_.finish();
    return bucket_.get(key_, offset, bytes);
  }
  void preallocate(std::uint64_t, std::uint64_t) override {}
  void sync() override { uploads_.finish(); }
  std::uint64_t size() override {
    uploads_.finish();
    const auto facts = bucket_.head(key_);
    return facts ? facts->bytes : 0;
  }
  void resize(std::uint64_t) override {}
  void set_modified_ns(std::int64_t) override {}
  std::int64_t modified_ns() override { return 0; }
  const std::string& path() const override { return path_; }

 private:
  Bucket& bucket_;
  Uploads& uploads_;
  const std::string key_;
  const std::string path_;
};

}  // namespace

ObjectStorage::ObjectStorage(const std::string& path, const ObjectStorageOptions& options)
    : root_("s3://" + parse_object_path(path).bucket),
      bucket_(parse_object_path(path).bucket, model::escaped(path, model::Shown::line),
              {request_timeout_s(options.timeout_s), options.says_waits}),
      workers_(streams),
      uploads_(bucket_, workers_, {options.budget_bytes / 2}),
      leftovers_(bucket_),
      ahead_(bucket_, workers_,
             {options.budget_bytes / 4,
              std::min<std::uint64_t>(read_piece_bytes, options.budget_bytes / 4)}) {}

ObjectStorage::~ObjectStorage() = default;

std::shared_ptr<Storage> make_object_store(const std::string& path, double timeout_s,
                                           std::uint64_t budget_bytes) {
  require_curl(model::escaped(path, model::Shown::line).c_str());
  return std::make_shared<ObjectStorage>(path,
                                         ObjectStorageOptions{timeout_s, budget_bytes, false});
}

std::string ObjectStorage::key_of(const std::string& path) const {
  if (path.rfind(root_ + "/", 0) != 0) {
    throw Error(Code::unsupported, path + ": is not in the bucket " + root_);
  }
  return path.substr(root_.size() + 1);
}

std::unique_ptr<File> ObjectStorage::open(const std::string& path, Access access) {
  if (access == Access::create) {
    throw Error(Code::unsupported,
                path +
                    ": an object store takes whole objects only, not files that grow: use format "
                    "zarr, or write to a file system");
  }
  const std::string key = key_of(path);
  auto file = std::make_unique<ObjectReader>(bucket_, workers_, ahead_, key, path);
  note(key, {file->facts().etag, file->facts().commit}, false);
  return file;
}

bool ObjectStorage::exists(const std::string& path) {
  const std::string key = key_of(path);
  if (bucket_.head(key)) {
    return true;
  }
  for (Pages pages(bucket_, key + "/", false, 1); !pages.at_end();) {
    if (!pages.next().keys.empty()) {  // a page may be empty, and not the last
      return true;
    }
  }
  return false;
}

std::vector<std::string> ObjectStorage::list(const std::string& path) {
  const std::string prefix = key_of(path) + "/";
  std::vector<std::string> names;
  for (Pages pages(bucket_, prefix, true); !pages.at_end();) {
    const Listing page = pages.next();
    for (const auto* list : {&page.keys, &page.folders}) {
      for (const std::string& found : *list) {
        std::string name = found.substr(std::min(prefix.size(), found.size()));
        name = name.substr(0, name.find('/'));
        if (!name.empty()) names.push_back(std::move(name));
      }
    }
    if (names.size() > most_names) {
      throw Error(Code::unsupported, path + ": has more objects than can be listed");
    }
  }
  if (names.empty()) {
    throw Error(Code::not_found, path + ": list failed: there is no such folder");
  }
  return names;
}

std::uint64_t ObjectStorage::bytes_below(const std::string& path) {
  std::uint64_t bytes = 0;
  for (Pages pages(bucket_, key_of(path) + "/", false); !pages.at_end();) {
    bytes += pages.next().bytes;
  }
  return bytes;
}

std::string ObjectStorage::real_path(const std::string& path) {
  const ObjectPath parsed = parse_object_path(path);
  if (parsed.key.empty()) {
    throw Error(Code::bad_name, path + ": names a bucket, not what is in it: s3://BUCKET/PREFIX");
  }
  return "s3://" + parsed.bucket + "/" + parsed.key;
}

void ObjectStorage::rename(const std::string& from, const std::string& to) {
  throw Error(Code::unsupported,
              from + ": rename to " + to + " failed: an object store cannot rename");
}

void ObjectStorage::remove(const std::string& path) { bucket_.remove(key_of(path)); }

void ObjectStorage::remove_folder(const std::string& path) {
  for (Pages pages(bucket_, key_of(path) + "/", false); !pages.at_end();) {
    const Listing page = pages.next();
    workers_.for_each(page.keys.size(), [&](std::size_t i) { bucket_.remove(page.keys[i]); });
    if (!pages.at_end() && !page.keys.empty()) {
      pages.begin_again(page);
    }
  }
}

void ObjectStorage::remove_all(std::span<const std::string> paths) {
  std::vector<std::string> keys;
  for (const std::string& path : paths) {
    keys.push_back(key_of(path));
  }
  keys = leftovers_.among(keys);
  workers_.for_each(keys.size(), [&](std::size_t i) { bucket_.remove(keys[i]); });
}

std::unique_ptr<Lease> ObjectStorage::lease(const std::string& path) {
  auto lease = take_object_lease(bucket_, key_of(path), path, has_conditions_);
  // What was read before may be of the writer that had the lease: what is read from now on counts.
  const std::string prefix = key_of(path) + "/";
  const std::lock_guard lock(mutex_);
  std::erase_if(versions_, [&](const auto& known) { return known.first.rfind(prefix, 0) == 0; });
  return lease;
}

void ObjectStorage::put(const std::string& path, std::span<const std::byte> bytes) {
  bucket_.put(key_of(path), bytes);
}

std::unique_ptr<File> ObjectStorage::open_version(const std::string& path, std::uint64_t version,
                                                  std::uint64_t bytes) {
  const std::string key = key_of(path);
  uploads_.begin(key, version, bytes);
  return std::make_unique<ObjectWriter>(bucket_, uploads_, key, path);
}

std::unique_ptr<File> ObjectStorage::open_unseen(const std::string& path) {
  return std::make_unique<ObjectReader>(bucket_, workers_, ahead_, key_of(path), path);
}

Sizes ObjectStorage::sizes_of(std::span<const std::string> paths) {
  Sizes sizes(paths.size());
  const auto look_up = [&](std::size_t i) {
    const std::string key = key_of(paths[i]);
    if (const auto facts = bucket_.head(key)) {
      sizes[i] = facts->bytes;
      // A document may be replaced; data, of which there is much, never is.
      if (paths.size() == 1) note(key, {facts->etag, facts->commit}, false);
    }
  };
  if (paths.size() == 1) {
    look_up(0);
  } else {
    workers_.for_each(paths.size(), look_up);
  }
  return sizes;
}

std::shared_ptr<void> ObjectStorage::will_read(std::vector<ObjectRange> ranges) {
  for (ObjectRange& range : ranges) range.path = key_of(range.path);
  return ahead_.begin(std::move(ranges));
}

void ObjectStorage::discard() {
  uploads_.discard();
  leftovers_.forget();
}

/// What was read first is what the next commit goes on from.
void ObjectStorage::note(const std::string& key, Version version, bool is_own) {
  const std::lock_guard lock(mutex_);
  if (is_own) {
    versions_[key] = std::move(version);
  } else {
    versions_.try_emplace(key, std::move(version));
  }
}

PutCondition ObjectStorage::condition_of(const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (!has_conditions_) {
    return {};
  }
  const auto known = versions_.find(key);
  return known == versions_.end() ? PutCondition{PutCondition::Kind::absent, ""}
                                  : PutCondition{PutCondition::Kind::same, known->second.etag};
}

/// The commit's number says what an object holds. Its etag need not: a store that was killed in a
/// put, or that encrypts its objects anew, may give the same object another one.
ObjectStorage::Found ObjectStorage::look_up(const std::string& key, const std::string& commit,
                                            double most_s) {
  try {
    const auto there = bucket_.head(key, most_s);
    if (!there || there->commit.empty()) {
      return Found::other;
    }
    const std::lock_guard lock(mutex_);
    const auto known = versions_.find(key);
    const bool is_own = there->commit == commit;
    if (!is_own && (known == versions_.end() || there->commit != known->second.commit)) {
      return Found::other;
    }
    versions_[key] = {there->etag, there->commit};
    return is_own ? Found::own : Found::former;
  } catch (const Error&) {
    return Found::unknown;
  }
}

void ObjectStorage::replace(const std::string& path, std::span<const std::byte> bytes,
                            std::int64_t modified_ns, bool& in_doubt) {
  const std::string key = key_of(path);
  const std::string commit = random_text();
  const double end_s = model::now_s() + bucket_.patience_s();  // of all requests together
  const auto left_s = [&] { return std::max(end_s - model::now_s(), bucket_.after_failure_s()); };
  bool may_arrive = false;
  for (bool is_first = true;; is_first = false) {
    try {
      const PutExtras extras{modified_ns, commit, left_s(), &may_arrive};
      note(key, {bucket_.put(key, bytes, condition_of(key), extras), commit}, true);
      return;
    } catch (const Error& e) {
      const Found found = look_up(key, commit, left_s());
      if (found == Found::own) {
        return;
      }
      if (!is_first || found != Found::former || e.code() != Code::locked) {
        in_doubt = in_doubt || may_arrive || found == Found::unknown;
        throw;
      }
    }
  }
}

}  // namespace sluice::storage
