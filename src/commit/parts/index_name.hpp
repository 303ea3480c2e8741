// The name of an index while its set is written: the lease of it, and what has it.
//
// Invariant: who puts an index there calls check() before, and wrote() behind.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "commit/publish/atomic_file.hpp"
#include "commit/publish/recovery.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

class IndexName {
 public:
  enum class Holder : std::uint8_t {
    nothing,
    another,  ///< a file that is to be replaced
    own,      ///< an index of this set
  };

  /// Takes the lease: Error locked. The storage must outlive the object.
  IndexName(storage::Storage& storage, const std::string& path);

  /// For a new set. `is_new`: Error exists if something has the name, or gets it before the index.
  void begin(bool is_new);
  /// The index of this set is there, and has been opened as `file`.
  void found(storage::File& file);
  /// The index that has the name now was written with that identity.
  void wrote(const storage::FileIdentity& identity) { identity_ = identity; }
  /// It is not taken back any more.
  void settle() { holder_ = Holder::own; }

  Holder holder() const noexcept { return holder_; }
  /// How it gets its index.
  Naming naming() const noexcept {
    return is_new_ && holder_ == Holder::nothing ? Naming::refuse : Naming::replace;
  }
  /// Error locked if another process has taken the lease; changed_outside if the name does not lead
  /// to the index as it was read or written last.
  void check() const;
  /// Does it lead there, also before settle()? Error locked as above.
  bool has_last() const;
  /// As Publisher::opening_notice().
  std::string notice() const { return opening_notice(lease_.get(), left_journal_); }

 private:
  storage::Storage& storage_;
  const std::string path_;
  std::unique_ptr<storage::Lease> lease_;
  Holder holder_ = Holder::nothing;
  storage::FileIdentity identity_;  ///< of the index that was read or written last
  bool is_new_ = false;
  LeftJournal left_journal_;  ///< keep_left_journal()
};

}  // namespace sluice::commit
