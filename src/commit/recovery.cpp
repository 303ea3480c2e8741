#include "commit/recovery.hpp"

#include <algorithm>
#include <cstring>

#include "sluice/error.hpp"

namespace sluice::commit {

namespace {

/// Disks write sectors of this size whole or not at all.
constexpr std::uint64_t sector_bytes = 512;

/// Versions 2 and 3 of the superblock: 48 bytes at the start of the file.
constexpr std::uint64_t superblock_bytes = 48;
constexpr std::byte signature_byte{0x89};
constexpr std::byte spoiled_byte{0x00};

/// Does every sector's share of a run hold the old or the new bytes? The guard's byte may be
/// spoiled.
bool is_either(const JournalRun& run, std::vector<std::byte> now) {
  if (run.offset == 0 && now[0] == spoiled_byte) {
    now[0] = run.before[0];
  }
  for (std::uint64_t at = 0; at < now.size();) {
    const std::uint64_t sector_end = (run.offset + at) / sector_bytes * sector_bytes + sector_bytes;
    const std::uint64_t length =
        std::min<std::uint64_t>(now.size() - at, sector_end - run.offset - at);
    const bool old_bytes = std::memcmp(&now[at], &run.before[at], length) == 0;
    const bool new_bytes = std::memcmp(&now[at], &run.after[at], length) == 0;
    if (!old_bytes && !new_bytes) {
      return false;
    }
    at += length;
  }
  return true;
}

std::vector<std::byte> read_run(storage::File& file, const JournalRun& run) {
  std::vector<std::byte> now(run.after.size());
  const std::size_t got = file.read(run.offset, now);
  std::fill(now.begin() + static_cast<std::ptrdiff_t>(got), now.end(), std::byte{0});
  return now;
}

/// The guard may be on disk although no journal is: only if the journal was removed by hand.
bool is_guarded(storage::File& file) {
  std::byte first{};
  return file.read(0, {&first, 1}) == 1 && first == spoiled_byte;
}

Recovery examine(storage::File& file, const Journal& journal) {
  Recovery result{Recovery::Found::complete, journal.runs.size(), 0};
  for (const JournalRun& run : journal.runs) {
    const std::vector<std::byte> now = read_run(file, run);
    if (!is_either(run, now)) {
      throw Error(Code::changed_outside,
                  file.path() + ": the journal beside it does not fit: bytes at offset " +
                      std::to_string(run.offset) +
                      " are neither those before nor those after the last commit. The file was "
                      "changed by another program, or replaced. Nothing was changed; remove " +
                      journal_path(file.path()) + " to keep the file as it is");
    }
    result.changed += now != run.after ? 1 : 0;
  }
  if (file.size() < journal.end) {
    throw Error(Code::truncated, file.path() + ": is shorter than its last durable commit (" +
                                     std::to_string(file.size()) + " of " +
                                     std::to_string(journal.end) + " bytes)");
  }
  return result;
}

}  // namespace

void apply_journal(storage::File& file, const Journal& journal, bool synced) {
  auto sync = [&] {
    if (synced) {
      file.sync();
    }
  };
  file.write(0, {&spoiled_byte, 1});
  sync();
  std::vector<std::byte> superblock(superblock_bytes);
  file.read(0, superblock);
  superblock[0] = signature_byte;
  for (const JournalRun& run : journal.runs) {
    // A run never straddles: the planner cuts at the end of the superblock.
    if (run.offset < superblock_bytes) {
      std::copy(run.after.begin(), run.after.end(),
                superblock.begin() + static_cast<std::ptrdiff_t>(run.offset));
    } else {
      file.write(run.offset, run.after);
    }
  }
  sync();
  file.write(0, superblock);
  sync();
}

Recovery recover(storage::Storage& storage, const std::string& path, bool dry_run) {
  const std::string name = journal_path(path);
  if (!storage.exists(name)) {
    return {};
  }
  const std::optional<Journal> journal = read_journal(storage, path);
  Recovery result{Recovery::Found::incomplete, 0, 0};
  const auto file =
      storage.open(path, dry_run ? storage::Access::read : storage::Access::read_write);
  if (journal) {
    result = examine(*file, *journal);
    const bool pending = result.changed != 0 || is_guarded(*file);
    if (pending && !dry_run) {
      apply_journal(*file, *journal, true);
    }
  } else if (is_guarded(*file)) {
    throw Error(Code::damaged, path +
                                   ": was being changed in place and its journal is damaged: "
                                   "restore the file from a copy");
  }
  if (!dry_run) {
    storage.remove(name);
    storage.sync_directory(name);
  }
  return result;
}

namespace {

class JournalledFile final : public storage::File {
 public:
  JournalledFile(std::unique_ptr<storage::File> file, Journal journal)
      : file_(std::move(file)), journal_(std::move(journal)) {}

  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) override {
    const std::size_t got = file_->read(offset, bytes);
    if (offset == 0 && got != 0 && bytes[0] == spoiled_byte) {
      bytes[0] = signature_byte;
    }
    auto run = std::upper_bound(
        journal_.runs.begin(), journal_.runs.end(), offset,
        [](std::uint64_t at, const JournalRun& r) { return at < r.offset + r.after.size(); });
    for (; run != journal_.runs.end() && run->offset < offset + got; ++run) {
      const std::uint64_t from = std::max(offset, run->offset);
      const std::uint64_t to = std::min(offset + got, run->offset + run->after.size());
      std::memcpy(&bytes[from - offset], &run->after[from - run->offset], to - from);
    }
    return got;
  }
  std::uint64_t size() override { return file_->size(); }
  std::int64_t modified_ns() override { return file_->modified_ns(); }
  const std::string& path() const override { return file_->path(); }

  void write(std::uint64_t, std::span<const std::byte>) override { refuse(); }
  void preallocate(std::uint64_t, std::uint64_t) override { refuse(); }
  void sync() override { refuse(); }
  void resize(std::uint64_t) override { refuse(); }
  void set_modified_ns(std::int64_t) override { refuse(); }

 private:
  [[noreturn]] void refuse() const {
    throw Error(Code::internal, file_->path() + ": a reader must not change the file");
  }

  std::unique_ptr<storage::File> file_;
  Journal journal_;
};

}  // namespace

std::unique_ptr<storage::File> with_journal(std::unique_ptr<storage::File> file, Journal journal) {
  return std::make_unique<JournalledFile>(std::move(file), std::move(journal));
}

}  // namespace sluice::commit
