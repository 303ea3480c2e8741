#include "commit/publish/in_place.hpp"

#include <algorithm>
#include <cstring>

#include "codec/checksum.hpp"
#include "commit/publish/superblock.hpp"
#include "sluice/error.hpp"
#include "storage/forwarding.hpp"
#include "storage/read_padded.hpp"

namespace sluice::commit {

namespace {

/// At 0 if there is none.
Superblock superblock_of(storage::File& file) {
  return find_superblock(file).value_or(Superblock{});
}

std::vector<std::byte> read_piece(storage::File& file, const JournalRuns::Piece& piece) {
  std::vector<std::byte> now(piece.length);
  storage::read_padded(file, piece.offset, now);
  return now;
}

/// Is every byte the old one or the new one? Byte by byte: a crash tears at sectors, but a failed
/// write may have changed any part.
bool is_either(std::span<const std::byte> now, std::span<const std::byte> before,
               std::span<const std::byte> after) {
  for (std::size_t at = 0; at < now.size(); ++at) {
    if (now[at] != before[at] && now[at] != after[at]) {
      return false;
    }
  }
  return true;
}

/// May a piece that does not hold its new bytes hold `now`?
bool is_of_journal(storage::File& file, const Superblock& superblock, JournalRuns& journal,
                   const JournalRuns::Piece& piece, std::vector<std::byte>& now) {
  if (piece.only_new) {
    // No other program changes a file that it refuses. Its writer may have begun just now.
    return superblock.guarded || codec::checksum(now) == journal.before_checksum(piece) ||
           superblock_of(file).guarded;
  }
  std::vector<std::byte> old_bytes;
  std::vector<std::byte> new_bytes;
  const auto before = journal.before(piece, old_bytes);
  if (superblock.guarded) {
    without_guard(superblock, piece.offset, now);
  }
  return is_either(now, before, journal.after(piece, new_bytes));
}

/// For the text of an error about a file that its journal does not fit.
std::string advice_on_journal(const std::string& path) {
  return ". The last steps may be in " + journal_path(path) +
         " alone: if the file that it belongs to was moved, rename it to the new name of that file "
         "with .sluice-journal behind it, and run sluice recover on that file; remove it only if "
         "these steps are not wanted";
}

}  // namespace

InPlace examine(storage::File& file, JournalRuns& journal) {
  const Superblock superblock = superblock_of(file);
  InPlace result{0, superblock.guarded};
  std::uint64_t last_changed = std::uint64_t(-1);
  std::vector<std::byte> buffer;
  for (const JournalRuns::Piece& piece : journal.pieces()) {
    std::vector<std::byte> now = read_piece(file, piece);
    const bool is_done = std::ranges::equal(now, journal.after(piece, buffer));
    if (!is_done && !is_of_journal(file, superblock, journal, piece, now)) {
      throw Error(Code::changed_outside,
                  file.path() + ": the journal beside it does not match: bytes at offset " +
                      std::to_string(piece.offset) +
                      " are neither those before nor those after the last commit. The file was "
                      "changed by another program, or replaced. Nothing was changed" +
                      advice_on_journal(file.path()));
    }
    if (!is_done && piece.run != last_changed) {
      ++result.changed;
      last_changed = piece.run;
    }
  }
  if (file.size() < journal.end()) {
    throw Error(Code::truncated, file.path() + ": is shorter than its last durable commit (" +
                                     std::to_string(file.size()) + " of " +
                                     std::to_string(journal.end()) + " bytes), or is another file" +
                                     advice_on_journal(file.path()));
  }
  return result;
}

void apply_journal(storage::File& file, JournalRuns& journal, bool synced) {
  raise_guard(file);
  if (synced) {
    file.sync();
  }
  change_under_guard(file, journal, synced);
  if (synced) {
    file.sync();
  }
}

std::uint64_t raise_guard(storage::File& file) {
  const std::uint64_t root = superblock_of(file).offset;
  file.write(root, {&spoiled_byte, 1});
  return root;
}

void lift_guard(storage::File& file) {
  file.write(superblock_of(file).offset, {&signature_byte, 1});
}

void change_under_guard(storage::File& file, JournalRuns& journal, bool synced) {
  const std::uint64_t root = superblock_of(file).offset;
  std::vector<std::byte> superblock(superblock_bytes);
  file.read(root, superblock);
  superblock[0] = signature_byte;
  const std::uint64_t root_end = root + superblock_bytes;
  // From the end of the file to its front: a structure was created after what points to it, and is
  // behind it. So a plain reader that had opened the file before the guard finds no array that is
  // longer than the index of its chunks, where it would read fill values as data.
  std::vector<std::byte> buffer;
  for (auto next = journal.pieces().rbegin(); next != journal.pieces().rend(); ++next) {
    const std::span<const std::byte> after = journal.after(*next, buffer);
    const std::uint64_t end = next->offset + after.size();
    const std::uint64_t from = std::clamp(root, next->offset, end);
    const std::uint64_t to = std::clamp(root_end, next->offset, end);
    if (to < end) {
      file.write(to, after.subspan(to - next->offset));
    }
    if (from < to) {
      std::copy_n(after.begin() + static_cast<std::ptrdiff_t>(from - next->offset), to - from,
                  superblock.begin() + static_cast<std::ptrdiff_t>(from - root));
    }
    if (next->offset < from && from < end) {
      file.write(next->offset, after.first(from - next->offset));
    }
    if (end <= root) {
      file.write(next->offset, after);
    }
  }
  if (synced) {
    file.sync();
  }
  file.write(root, superblock);
}

bool is_guarded(storage::File& file) { return superblock_of(file).guarded; }

void throw_lost(const std::string& path) {
  throw Error(
      Code::damaged,
      path +
          ": was being changed in place and its journal is lost or damaged: if the file was "
          "moved, its journal is beside its former name (NAME.sluice-journal, or "
          "NAME.sluice-journal-left-1 and so on): move it to " +
          journal_path(path) + "; otherwise restore the file from a copy");
}

void stamp_if_allowed(storage::File& file, std::int64_t modified_ns) {
  try {
    file.set_modified_ns(modified_ns);
  } catch (const Error& e) {
    if (e.code() != Code::permission) {
      throw;
    }
    // Only the owner may; verify then says "changed or copied outside", and nothing else is lost.
  }
}

void stamp(storage::File& file, std::int64_t modified_ns) noexcept {
  try {
    stamp_if_allowed(file, modified_ns);
  } catch (const std::exception&) {
    // The commit is complete already.
  }
}

bool is_changed_since(storage::File& file, std::int64_t sign_ns, std::uint64_t end) {
  // Of the time from the sign to the last write of its writer, and between clocks.
  constexpr std::int64_t margin_ns = 60'000'000'000;
  return file.size() <= end && file.modified_ns() - margin_ns > sign_ns;
}

CarriedOut carry_out_journal(storage::Storage& storage, const std::string& path, bool dry_run,
                             std::optional<std::int64_t> sign_ns) {
  const auto journal = open_runs(storage, path);
  const auto file =
      storage.open(path, dry_run ? storage::Access::read : storage::Access::read_write);
  if (!journal) {
    if (is_guarded(*file)) {
      throw_lost(path);
    }
    return {};
  }
  const InPlace found = examine(*file, *journal);
  if (!dry_run) {
    // No other program changes a file that it refuses.
    const bool is_changed =
        sign_ns && !found.guarded &&
        is_changed_since(*file, std::max(*sign_ns, journal->modified_ns()), journal->end());
    if (found.changed != 0 || found.guarded) {
      drop_unbacked(storage, path);
      apply_journal(*file, *journal, true);
    }
    if (!is_changed) {
      stamp(*file, journal->modified_ns());  // a crash may have come just before that, too
    }
  }
  return {true, journal->commit(), journal->runs(), found};
}

void remove_journal(storage::Storage& storage, const std::string& path) {
  if (storage.exists(journal_path(path))) {
    storage.remove(journal_path(path));
  }
  storage.sync_directory(path);
}

namespace {

class JournalledFile final : public storage::ForwardingFile {
 public:
  JournalledFile(std::unique_ptr<storage::File> file, std::unique_ptr<JournalRuns> journal)
      : ForwardingFile(std::move(file)),
        journal_(std::move(journal)),
        superblock_(superblock_of(inner())) {}

  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) override {
    const std::size_t got = inner().read(offset, bytes);
    std::vector<std::byte> buffer;
    without_guard(superblock_, offset, bytes.first(got));
    for (auto piece = journal_->first_behind(offset);
         piece != journal_->pieces().end() && piece->offset < offset + got; ++piece) {
      const std::uint64_t from = std::max(offset, piece->offset);
      const std::uint64_t to = std::min(offset + got, piece->offset + piece->length);
      const auto after = journal_->after(*piece, buffer);
      std::memcpy(&bytes[from - offset], &after[from - piece->offset], to - from);
    }
    return got;
  }

  void write(std::uint64_t, std::span<const std::byte>) override { refuse(); }
  void preallocate(std::uint64_t, std::uint64_t) override { refuse(); }
  void sync() override { refuse(); }
  void resize(std::uint64_t) override { refuse(); }
  void set_modified_ns(std::int64_t) override { refuse(); }

 private:
  [[noreturn]] void refuse() const {
    throw Error(Code::internal, path() + ": a reader must not change the file");
  }

  std::unique_ptr<JournalRuns> journal_;
  Superblock superblock_;
};

}  // namespace

std::unique_ptr<storage::File> with_journal(std::unique_ptr<storage::File> file,
                                            std::unique_ptr<JournalRuns> journal) {
  return std::make_unique<JournalledFile>(std::move(file), std::move(journal));
}

}  // namespace sluice::commit
