// The name of a file while that is written: the lease of it, and what has it. The file is a single
// one (Publisher), or the index of a set (PartsIndex).
//
// Invariants: nobody else has the lease until release(). Who writes the file calls check() before,
// which tells that it was moved, or that another file got the name meanwhile. Of what had the name
// before, nothing goes that may be needed: the journal of a file that was moved away is kept, and
// the parts of a set stay until the new file has the name durably, and if its index was moved away.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "commit/publish/atomic_file.hpp"
#include "commit/publish/parts_files.hpp"
#include "commit/publish/recovery.hpp"
#include "storage/named_file.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

class PublishedName {
 public:
  enum class Holder : std::uint8_t {
    nothing,
    another,  ///< a file that is to be replaced
    own,      ///< the one that is written
  };

  /// Takes the lease: Error locked. `remedy`: the end of the text of Error changed_outside. The
  /// storage must outlive the object.
  PublishedName(storage::Storage& storage, const std::string& path, std::string remedy = "");

  storage::Storage& storage() const noexcept { return storage_; }
  const std::string& path() const noexcept { return path_; }
  /// Of a file of create(), until it has the name: another one.
  const std::string& present_path() const noexcept { return is_building() ? building_ : path_; }
  bool is_building() const noexcept { return !building_.empty(); }
  Holder holder() const noexcept { return holder_; }
  /// What the user should know of the opening; empty: nothing.
  std::string notice() const { return opening_notice(lease_.get(), left_journal_); }

  /// For a new file. `is_taken`: something has the name. Error exists with Naming::refuse, also
  /// later, if something gets it before the file.
  void begin(Naming naming, bool is_taken);
  void keep_left_journal() { left_journal_ = commit::keep_left_journal(storage_, path_); }
  /// The new file replaces what is there: remove_replaced() removes its parts, if it has any.
  void note_replaced() { replaced_ = ReplacedSet(storage_, path_); }

  /// The file, under a temporary name beside.
  std::unique_ptr<storage::File> create();
  /// Removes that, which is closed, with the lease only.
  void give_up() noexcept;
  /// The file has that identity.
  void set_identity(const storage::FileIdentity& identity) { identity_ = identity; }
  /// Where the last commit of it ends.
  void set_end(std::uint64_t bytes) noexcept { end_ = bytes; }
  /// It has the name, and is not taken back any more.
  void settle() noexcept { holder_ = Holder::own; }
  /// Just before it gets the name: how. Where another file was put there, note_replaced() is void.
  Naming prepare() noexcept;
  /// The file of create() gets the name: take_name().
  bool take(bool synced);
  /// take_name_back() after that.
  bool give_back() noexcept;
  /// After the file has the name durably, or if it is never synced. Before it has: nothing.
  void remove_replaced() noexcept;

  /// Error locked if another process has taken the lease, or its record was removed;
  /// changed_outside if the file is gone with it.
  void check_lease() const;
  /// The same; changed_outside if the file had the name, and has it no more, or is shorter than
  /// set_end() said. Any thread.
  void check() const;
  /// Does it lead to the file, also before settle()? Error locked as above.
  bool leads_to_file() const;
  /// Does it, is `file` that one, and as long as it must be?
  bool leads_to(storage::File& file) const;
  Error moved_error() const { return storage::moved_error(path_, remedy_); }
  Error cut_error() const { return storage::cut_error(path_, end_); }
  void release() noexcept { lease_.reset(); }

 private:
  storage::Storage& storage_;
  const std::string path_;
  const std::string remedy_;
  std::unique_ptr<storage::Lease> lease_;  ///< null: the storage has none
  Naming naming_ = Naming::replace;
  LeftJournal left_journal_;
  ReplacedSet replaced_;
  std::string building_;  ///< the temporary name of the file; empty: it has none
  storage::FileIdentity identity_;
  std::atomic<std::uint64_t> end_ = 0;
  std::atomic<Holder> holder_ = Holder::nothing;
};

}  // namespace sluice::commit
