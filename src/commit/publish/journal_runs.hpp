// The runs of a journal piece by piece, so that a journal may be larger than memory: from memory,
// or from a file, which is written and read through small buffers.
//
// Invariants: pieces ascend, do not overlap, and have at most piece_bytes; a stored journal is
// valid only if its checksums match (journal.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "codec/checksum.hpp"
#include "commit/publish/journal.hpp"
#include "commit/publish/journal_format.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

class JournalRuns {
 public:
  static constexpr std::uint64_t piece_bytes = most_only_new_bytes;
  struct Piece {
    std::uint64_t offset = 0;  ///< in the file
    std::uint64_t length = 0;
    std::uint64_t before = 0;  ///< where its old bytes are, for the subclass
    std::uint64_t after = 0;
    std::uint64_t run = 0;
    bool only_new = false;
  };

  virtual ~JournalRuns() = default;
  const std::vector<Piece>& pieces() const noexcept { return pieces_; }
  std::uint64_t commit() const noexcept { return commit_; }
  std::uint64_t end() const noexcept { return end_; }
  std::int64_t modified_ns() const noexcept { return modified_ns_; }
  std::uint64_t runs() const noexcept { return runs_; }

  /// The bytes lie in the journal's memory or in `buffer`. Of a piece that is `only_new` the
  /// checksum of its old bytes is all there is.
  virtual std::span<const std::byte> before(const Piece& piece, std::vector<std::byte>& buffer) = 0;
  virtual std::uint64_t before_checksum(const Piece& piece) = 0;
  virtual std::span<const std::byte> after(const Piece& piece, std::vector<std::byte>& buffer) = 0;
  /// The first piece that ends behind `offset`.
  std::vector<Piece>::const_iterator first_behind(std::uint64_t offset) const;

 protected:
  /// Adds the pieces of one run.
  void add(std::uint64_t offset, std::uint64_t length, std::uint64_t before, std::uint64_t after,
           bool only_new);

  std::vector<Piece> pieces_;
  std::uint64_t runs_ = 0;
  std::uint64_t commit_ = 0;
  std::uint64_t end_ = 0;
  std::int64_t modified_ns_ = 0;
};

/// Of a journal in memory.
class MemoryRuns final : public JournalRuns {
 public:
  explicit MemoryRuns(Journal journal);
  std::span<const std::byte> before(const Piece& piece, std::vector<std::byte>& buffer) override;
  std::uint64_t before_checksum(const Piece& piece) override;
  std::span<const std::byte> after(const Piece& piece, std::vector<std::byte>& buffer) override;

 private:
  Journal journal_;
};

/// The last record of a journal that counts, as if it were the only one; where there is none, no
/// more than the first header. Error unsupported where it claims more than most_journal_bytes.
std::vector<std::byte> journal_bytes_in(const std::shared_ptr<storage::File>& journal,
                                        const OpenData& open_data);

/// Makes a complete record that is not backed invalid, durably: to be called before the one before
/// it is carried out, because then it could not be told from one whose own change has begun.
void drop_unbacked(storage::Storage& storage, const std::string& path);

/// For the journal of `path`; empty if there is none, it is not complete or not backed.
std::unique_ptr<JournalRuns> open_runs(storage::Storage& storage, const std::string& path);

/// Writes a record of a journal to a file, over an older one. What is held is one piece. Of long
/// runs, which are data, the old bytes are left out.
class JournalWriter {
 public:
  explicit JournalWriter(std::shared_ptr<storage::File> file, JournalPlace place = {});

  /// Adds what differs between `before` and `after`, both of the same length and at most
  /// piece_bytes, at `offset`, which is after all that was added before.
  void add(std::uint64_t offset, std::span<const std::byte> before,
           std::span<const std::byte> after);
  /// The same, whether it differs or not. That the old bytes are `before` is known only where the
  /// file is not guarded.
  void add_whole(std::uint64_t offset, std::span<const std::byte> before,
                 std::span<const std::byte> after);
  std::uint64_t runs() const noexcept { return runs_; }
  /// Makes the record complete. It is not synced. Nothing else is added afterwards. `tail` may be
  /// null.
  std::unique_ptr<JournalRuns> finish(std::uint64_t commit, std::uint64_t end,
                                      std::int64_t modified_ns, const JournalTail* tail = nullptr);
  /// After finish(): the place behind it.
  const JournalPlace& next_place() const noexcept { return next_; }

 private:
  void put(std::span<const std::byte> bytes);
  void put_run(std::uint64_t offset, std::span<const std::byte> before,
               std::span<const std::byte> after, bool only_new);
  void write_out();

  class Written;
  std::shared_ptr<storage::File> file_;
  std::unique_ptr<Written> written_;
  codec::Checksum digest_;
  const JournalPlace place_;
  JournalPlace next_;
  std::vector<std::byte> buffer_;  ///< from offset at_ of the file on
  std::uint64_t at_;
  std::uint64_t runs_ = 0;

 public:
  ~JournalWriter();
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;
};

}  // namespace sluice::commit
