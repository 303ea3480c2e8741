// Makes the metadata of a commit visible: docs/durability.md, stages 2 to 6, on the planning rank.
//
// Invariants: a new file takes its name at its first commit; afterwards nothing below the committed
// end changes without a complete journal; a poisoned file is never written again; a file that is
// not being written has the time of modification of its last commit. If the storage writes in the
// background, a durable commit is applied (stages 4 to 6) by a thread, after publish() has
// returned; settle() waits for it, and nothing else may use the file before.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <string>

#include "commit/publish/journal.hpp"
#include "commit/publish/parts_files.hpp"
#include "commit/publish/reopenable_file.hpp"
#include "commit/publish/store_commit.hpp"
#include "layout/format.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

class Publisher {
 public:
  /// A new file, built beside `path`; replaces an existing file, whose permissions it gets, at the
  /// first commit. Holds the lease of `path`: Error locked if another process writes it. A store is
  /// built in place, and is not valid before its first commit.
  static std::unique_ptr<Publisher> build(storage::Storage& storage, const std::string& path,
                                          const layout::Format& format, bool synced);
  /// An existing file; what a crash left undone is completed first.
  static std::unique_ptr<Publisher> reopen(storage::Storage& storage, const std::string& path);
  /// Removes a file that was never committed.
  ~Publisher();
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  ReopenableFile& file() noexcept { return *file_; }
  /// The present path of the file: its temporary name until the first commit.
  const std::string& present_path() const noexcept { return building_.empty() ? path_ : building_; }
  bool poisoned() const noexcept { return poisoned_; }
  /// Lease::notice() of the lease.
  std::string lease_notice() const { return lease_ ? lease_->notice() : std::string(); }

  /// Waits until the last commit is applied. To be called before anything of the next one. Error
  /// wrong_state if the file is poisoned.
  void settle();
  /// Stage 2: metadata in new space. The caller syncs with the data.
  void write_fresh(const layout::MetadataUpdate& update);
  /// Stages 3 to 6, or the first commit. With `synced` the caller has synced file() before. Throws
  /// only if the commit failed. If it succeeded, but the file could not be changed in place, the
  /// file is poisoned and recovery will do it.
  void publish(const layout::MetadataUpdate& update, bool synced, std::int64_t modified_ns);
  /// Makes the names of the file and its journal durable.
  void sync_names();
  /// A clean end: the journal is not needed any more. May be called again if it fails.
  void close();

 private:
  Publisher(storage::Storage& storage, const std::string& path);
  void give_up_store() noexcept;
  void change(const layout::MetadataUpdate& update, bool synced, std::int64_t modified_ns);
  bool put_back(const std::vector<layout::MetadataRun>& before, std::int64_t modified_ns,
                bool synced) noexcept;
  void publish_to_store(const layout::MetadataUpdate& update, bool synced,
                        std::int64_t modified_ns);
  void name_file(const layout::MetadataUpdate& update, bool synced, std::int64_t modified_ns);
  void write_journal(const std::vector<std::byte>& bytes, bool synced);
  void invalidate_journal();
  void apply(Journal journal, bool synced) noexcept;
  void restore_time() noexcept;

  storage::Storage& storage_;
  std::string path_;
  std::string building_;
  bool was_left_ = false;  ///< did the previous writer end without closing the file?
  std::unique_ptr<storage::Lease> lease_;
  ReplacedSet replaced_;  ///< whose index the new file replaces
  std::unique_ptr<ReopenableFile> file_;
  std::unique_ptr<storage::File> journal_;
  std::uint64_t commits_ = 0;
  std::int64_t modified_ns_ = 0;  ///< of the last commit
  bool is_store_ = false;
  bool is_new_store_ = false;  ///< without a commit
  Unsynced unsynced_;
  bool names_changed_ = false;   ///< since the folder was synced
  bool is_durable_ = false;      ///< was anything ever synced?
  bool leaves_journal_ = false;  ///< close() has started to remove it
  bool poisoned_ = false;        ///< after settle()
  std::future<void> applying_;
};

}  // namespace sluice::commit
