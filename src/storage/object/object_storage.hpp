// A bucket of an object store as a Storage: docs/object-stores.md.
//
// Invariants: an object is written whole or not at all, and replaced only by replace(), under the
// condition that it is the one that this process knows; what is begun and never finished is
// invisible.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "storage/object/leftovers.hpp"
#include "storage/object/read_ahead.hpp"
#include "storage/object/uploads.hpp"
#include "storage/storage.hpp"

namespace sluice::storage {

struct ObjectStorageOptions {
  double timeout_s = 0;  ///< of a call of the library; 0: no limit
  std::uint64_t budget_bytes = 256ULL << 20;
  bool says_waits = false;  ///< as in BucketOptions
};

/// Size: Most of its functions are those of a Storage, and of what it has in addition.
class ObjectStorage final : public Storage, public WholeFiles {
 public:
  ObjectStorage(const std::string& path, const ObjectStorageOptions& options);
  ~ObjectStorage() override;

  std::unique_ptr<File> open(const std::string& path, Access access) override;
  bool exists(const std::string& path) override;
  std::vector<std::string> list(const std::string& path) override;
  std::string real_path(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;
  void remove_folder(const std::string& path) override;
  void sync_directory(const std::string&) override {}
  std::unique_ptr<Lease> lease(const std::string& path) override;
  FileSystemFacts file_system(const std::string&) override {
    return {model::object_store_kind, Reach::server, 0, 0};
  }
  bool in_background() const override { return true; }
  const char* name() const override { return "s3"; }
  WholeFiles* whole_files(const std::string&) override { return this; }

  void put(const std::string& path, std::span<const std::byte> bytes) override;
  bool has_conditions() const override { return has_conditions_; }
  void replace(const std::string& path, std::span<const std::byte> bytes, std::int64_t modified_ns,
               bool& in_doubt) override;
  std::unique_ptr<File> open_version(const std::string& path, std::uint64_t version,
                                     std::uint64_t bytes) override;
  std::unique_ptr<File> open_unseen(const std::string& path) override;
  Sizes sizes_of(std::span<const std::string> paths) override;
  std::shared_ptr<void> will_read(std::vector<ObjectRange> ranges) override;
  void finish() override { uploads_.finish(); }
  void discard() override;
  void note_empty() override { leftovers_.note_none(); }
  bool may_have_leftovers() const override { return leftovers_.may_be_any(); }
  void remove_all(std::span<const std::string> paths) override;
  /// Of all objects below the folder `path`, by a listing.
  std::uint64_t bytes_below(const std::string& path);

 private:
  std::string key_of(const std::string& path) const;
  /// What this process knows of a file that is replaced.
  struct Version {
    std::string etag;
    std::string commit;  ///< empty: the store's writer gave none
  };
  enum class Found : std::uint8_t { own, former, other, unknown };

  PutCondition condition_of(const std::string& key);
  void note(const std::string& key, Version version, bool is_own);
  /// After a put that failed, or whose answer was lost.
  Found look_up(const std::string& key, const std::string& commit, double most_s);

  const std::string root_;  ///< "s3://bucket"
  Bucket bucket_;
  Workers workers_;
  Uploads uploads_;
  Leftovers leftovers_;
  ReadAhead ahead_;
  std::mutex mutex_;
  std::map<std::string, Version> versions_;  ///< of manifests
  bool has_conditions_ = true;
};

struct LeaseTimes {
  double renew_every_s = 20;
  double stale_after_s = 180;  ///< then another writer may take it over
};
/// The lease of the object `key`, which guards what is below it in `bucket`: Lease says what it is.
std::unique_ptr<Lease> take_object_lease(Bucket& bucket, const std::string& key,
                                         const std::string& path, bool& has_conditions,
                                         const LeaseTimes& times = {});

}  // namespace sluice::storage
