// Makes the metadata of a commit visible: docs/durability.md, stages 2 to 6, on the planning rank.
//
// Invariants: a new file takes its name at its first commit; afterwards nothing below the committed
// end changes without a complete journal; a poisoned file is never written again, nor is one that
// its path does not lead to, as far as that is seen before a commit begins and before it is
// decided; a file that is not being written has the time of modification of its last commit. If the
// storage writes in the background, a durable commit is applied (stages 4 to 6) by a thread, after
// publish() has returned, those that follow one another quickly together (Applier). Until then the
// planner reads the file through a CommittedView. The records of the journal follow one another
// from its front on, also behind records that are in place; each holds the changes of those before
// it that were not in place when it was written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "commit/publish/applier.hpp"
#include "commit/publish/atomic_file.hpp"
#include "commit/publish/journal.hpp"
#include "commit/publish/journal_format.hpp"
#include "commit/publish/pending_changes.hpp"
#include "commit/publish/published_name.hpp"
#include "commit/publish/recovery.hpp"
#include "commit/publish/reopenable_file.hpp"
#include "commit/publish/store_commit.hpp"
#include "layout/format.hpp"
#include "storage/storage.hpp"
#include "storage/sync_beside.hpp"

namespace sluice::commit {

/// Size: a function and what it keeps for each stage of a commit, of a file and of a store.
class Publisher {
 public:
  /// A new file, built beside `path`; replaces an existing file, whose permissions it gets, at the
  /// first commit, or with Naming::refuse is refused: Error exists. Holds the lease of `path`:
  /// Error locked if another process writes it. A store is built in place, and is not valid before
  /// its first commit.
  static std::unique_ptr<Publisher> build(storage::Storage& storage, const std::string& path,
                                          const layout::Format& format, bool synced, Naming naming);
  /// An existing file; what a crash left undone is completed first.
  static std::unique_ptr<Publisher> reopen(storage::Storage& storage, const std::string& path);
  /// Removes a file that was never committed.
  ~Publisher();
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  ReopenableFile& file() noexcept { return *file_; }
  /// The present path of the file: its temporary name until the first commit.
  const std::string& present_path() const noexcept { return name_.present_path(); }
  /// Error locked if another process has taken the lease, changed_outside if the path does not lead
  /// to the file any more, or that is shorter than its last commit: then nothing may be written.
  /// Any thread.
  void check_place() const { name_.check(); }
  bool poisoned() const noexcept {
    return poisoned_ || (applier_ != nullptr && applier_->has_failed());
  }
  /// What the planner must read over the file.
  const std::shared_ptr<PendingChanges>& changes() const noexcept { return changes_; }
  /// At least so many seconds lie between two times that commits are put in place; 0: each is in
  /// place before the next one; negative: automatic. Before the first commit.
  void set_apply_interval(double seconds);
  /// PublishedName::notice()
  std::string opening_notice() const { return name_.notice(); }

  /// Error wrong_state if the file is poisoned. To be called before anything of the next commit.
  void require_sound() const;
  /// Waits until what is due is in place. The same error.
  void settle();
  /// Puts every commit in place. The same error.
  void finish();
  /// Of a file that was reopened: where its last commit ends, as its catalog says.
  void note_end(std::uint64_t bytes) noexcept { name_.set_end(bytes); }
  /// Gives the file the time of its last commit again, which writes of a failed step have changed.
  void restore_time() noexcept;
  /// Stage 2: metadata in new space. The caller syncs with the data.
  void write_fresh(const layout::MetadataUpdate& update);
  /// Stages 3 to 6, or the first commit. With `synced` the caller has synced file() before, but for
  /// what is `unsynced`: new space, whose bytes are all in the page cache of this node. Throws only
  /// if the commit failed. If it succeeded, but the file could not be changed in place, the file is
  /// poisoned and recovery will do it.
  void publish(const layout::MetadataUpdate& update, bool synced, std::int64_t modified_ns,
               const std::optional<layout::Extent>& unsynced = {});
  /// Makes the names of the file and its journal durable.
  void sync_names();
  /// A clean end: the journal is not needed any more. May be called again if it fails.
  void close();

 private:
  Publisher(storage::Storage& storage, const std::string& path);
  void begin_store(const layout::Format& format, bool synced);
  void begin_file();
  void give_up_store() noexcept;
  void change(const layout::MetadataUpdate& update, bool synced, std::int64_t modified_ns);
  bool put_back(const std::vector<layout::MetadataRun>& before, std::int64_t modified_ns,
                bool synced) noexcept;
  void publish_to_store(const layout::MetadataUpdate& update, bool synced,
                        std::int64_t modified_ns);
  void name_file(const layout::MetadataUpdate& update, bool synced, std::int64_t modified_ns);
  void keep_signature(model::Overlay& changes);
  void change_by_journal(const layout::MetadataUpdate& update, bool synced,
                         std::int64_t modified_ns, const std::optional<layout::Extent>& unsynced);
  /// May a record be followed by others before it is in place?
  bool keeps_log(bool synced) const noexcept { return synced && apply_interval_s_ > 0; }
  JournalPlace place_of_next(bool is_log) const;
  void write_journal(const Journal& journal, bool synced);
  void make_journal_room() noexcept;
  void sync_journal();
  void invalidate_journal();
  void apply(Journal journal) noexcept;

  storage::Storage& storage_;
  std::optional<std::int64_t> left_ns_;  ///< left_lease() of the writer before
  PublishedName name_;                   ///< of file_; of a store only its lease
  std::unique_ptr<ReopenableFile> file_;
  struct Written {
    std::unique_ptr<storage::File> file;
    JournalPlace place;     ///< of the last record
    JournalPlace next;      ///< behind the last that was decided
    bool is_log = false;    ///< may records follow that one?
    bool has_room = false;  ///< is it as long as it may become?
  };
  Written journal_;
  std::uint64_t commits_ = 0;
  std::int64_t modified_ns_ = 0;  ///< of the last commit
  bool is_store_ = false;
  bool is_new_store_ = false;    ///< without a commit
  bool has_superblock_ = false;  ///< as the last commit with a journal found it
  Unsynced unsynced_;
  storage::SyncBeside data_sync_;  ///< of file_, beside the journal
  bool names_changed_ = false;     ///< since the folder was synced
  bool is_durable_ = false;        ///< was anything ever synced?
  bool leaves_journal_ = false;    ///< close() has started to remove it
  bool poisoned_ = false;
  double apply_interval_s_ = 0;
  std::shared_ptr<PendingChanges> changes_ = std::make_shared<PendingChanges>();
  std::unique_ptr<Applier> applier_;  ///< since the first commit with a journal
};

}  // namespace sluice::commit
