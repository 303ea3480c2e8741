#include "commit/publish/recovery.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>

#include "codec/checksum.hpp"
#include "commit/publish/store_commit.hpp"
#include "layout/catalog.hpp"
#include "layout/formats.hpp"
#include "layout/stores.hpp"
#include "sluice/error.hpp"
#include "storage/forwarding.hpp"

namespace sluice::commit {

namespace {

/// Versions 2 and 3 of the superblock: 48 bytes at the start of the file.
constexpr std::uint64_t superblock_bytes = 48;
constexpr std::byte signature_byte{0x89};
constexpr std::byte spoiled_byte{0x00};

/// Is every byte of a run the old one or the new one? Byte by byte: a crash tears at sectors, but a
/// write that failed may have landed in any part. The guard's byte may be spoiled.
bool is_either(const JournalRun& run, std::vector<std::byte> now) {
  if (run.offset == 0 && now[0] == spoiled_byte) {
    now[0] = run.before[0];
  }
  for (std::size_t at = 0; at < now.size(); ++at) {
    if (now[at] != run.before[at] && now[at] != run.after[at]) {
      return false;
    }
  }
  return true;
}

std::vector<std::byte> read_run(storage::File& file, const JournalRun& run) {
  std::vector<std::byte> now(run.after.size());
  const std::size_t got = file.read(run.offset, now);
  std::fill(now.begin() + static_cast<std::ptrdiff_t>(got), now.end(), std::byte{0});
  return now;
}

/// Is the file as stage 4 leaves it: HDF5 but for the first byte?
bool is_guarded(storage::File& file) {
  constexpr std::array<char, 7> rest{'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  std::array<std::byte, 1 + rest.size()> first{};
  return file.read(0, first) == first.size() && first[0] == spoiled_byte &&
         std::memcmp(&first[1], rest.data(), rest.size()) == 0;
}

/// Only if the journal was removed by hand, or damaged.
[[noreturn]] void throw_lost(const std::string& path) {
  throw Error(Code::damaged, path +
                                 ": was being changed in place and its journal is lost or damaged: "
                                 "restore the file from a copy");
}

Recovery examine(storage::File& file, const Journal& journal) {
  Recovery result{Recovery::Found::complete, journal.commit, journal.runs.size(), 0,
                  is_guarded(file)};
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
    // The commit is there already.
  }
}

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
  // From the end of the file to its front: what a structure points to was made after it and lies
  // behind it. So a plain reader that had opened the file before the guard meets no array that is
  // longer than the index of its chunks, where it would read fill values as data.
  for (auto next = journal.runs.rbegin(); next != journal.runs.rend(); ++next) {
    const std::span<const std::byte> after = next->after;
    const std::uint64_t inside = std::min<std::uint64_t>(
        after.size(), superblock_bytes - std::min(superblock_bytes, next->offset));
    if (inside != after.size()) {
      file.write(next->offset + inside, after.subspan(inside));
    }
    std::copy_n(after.begin(), inside,
                superblock.begin() + static_cast<std::ptrdiff_t>(inside == 0 ? 0 : next->offset));
  }
  sync();
  file.write(0, superblock);
  sync();
}

namespace {

/// npy with durability close: a power cut may leave a count of steps whose values never came.
Recovery recover_count(storage::Storage& storage, const std::string& path, bool dry_run) {
  const auto count = layout::count_steps(*storage.open(path, storage::Access::read));
  Recovery result;
  result.counted = count.counted;
  result.there = count.there;
  if (count.there < count.counted && !dry_run) {
    layout::set_step_count(*storage.open(path, storage::Access::read_write), count.there);
  }
  return result;
}

/// Data of a step that never was committed changed the time of modification. The log says what it
/// was; where that cannot be read nothing is lost, verify then says so.
void restore_time(storage::Storage& storage, const std::string& path) noexcept {
  try {
    std::int64_t modified_ns = 0;
    {
      const auto file = storage.open(path, storage::Access::read);
      const auto catalog = layout::open_catalog(layout::format_in(*file, "auto"), *file);
      modified_ns = catalog->commits().empty() ? 0 : catalog->commits().back().modified_ns;
    }
    if (modified_ns != 0) {
      stamp(*storage.open(path, storage::Access::read_write), modified_ns);
    }
  } catch (const std::exception&) {
    // as above
  }
}

}  // namespace

bool has_lease(storage::Storage& storage, const std::string& path) {
  return storage.exists(path + ".sluice-lease");
}

bool is_unfinished(storage::Storage& storage, const std::string& path) {
  return storage.exists(journal_path(path)) || has_lease(storage, path);
}

Recovery recover(storage::Storage& storage, const std::string& path, bool dry_run, bool was_left) {
  const bool is_put_aside = layout::is_put_aside(storage, path);
  if (is_put_aside && dry_run) {
    return {Recovery::Found::complete, 0, 1, 1, false};
  }
  if (is_put_aside || layout::is_store(storage, path)) {
    if (!dry_run) {
      layout::restore_store(storage, path);
    }
    const std::uint64_t changed = recover_store(storage, path, dry_run) + (is_put_aside ? 1 : 0);
    return {changed != 0 ? Recovery::Found::complete : Recovery::Found::nothing, 0, changed,
            changed, false};
  }
  const std::string name = journal_path(path);
  if (!storage.exists(name)) {
    const Recovery result =
        storage.exists(path) ? recover_count(storage, path, dry_run) : Recovery{};
    if (was_left && !dry_run) {
      restore_time(storage, path);
    }
    return result;
  }
  const std::optional<Journal> journal = read_journal(storage, path);
  Recovery result;
  result.found = Recovery::Found::incomplete;
  const auto file =
      storage.open(path, dry_run ? storage::Access::read : storage::Access::read_write);
  if (journal) {
    result = examine(*file, *journal);
    if ((result.changed != 0 || result.guarded) && !dry_run) {
      apply_journal(*file, *journal, true);
    }
    if (!dry_run) {
      stamp(*file, journal->modified_ns);  // a crash may have come just before that, too
    }
  } else if (is_guarded(*file)) {
    throw_lost(path);
  } else if (!dry_run) {
    restore_time(storage, path);
  }
  if (!dry_run) {
    storage.remove(name);
    storage.sync_directory(name);
  }
  return result;
}

Recovery recover_unattended(storage::Storage& storage, const std::string& given_path,
                            bool dry_run) {
  const std::string path = storage.real_path(given_path);
  // Opened before the lease is taken, which makes a file beside it.
  const auto file = layout::is_put_aside(storage, path)
                        ? nullptr
                        : layout::open_data(storage, path, storage::Access::read);
  const bool was_left = has_lease(storage, path);
  const auto lease = dry_run ? nullptr : storage.lease(path);
  Recovery result = recover(storage, path, dry_run, was_left);
  if (result.found == Recovery::Found::nothing && file && is_guarded(*file)) {
    throw_lost(path);
  }
  return result;
}

namespace {

class JournalledFile final : public storage::ForwardingFile {
 public:
  JournalledFile(std::unique_ptr<storage::File> file, Journal journal)
      : ForwardingFile(std::move(file)), journal_(std::move(journal)) {}

  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) override {
    const std::size_t got = inner().read(offset, bytes);
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

  void write(std::uint64_t, std::span<const std::byte>) override { refuse(); }
  void preallocate(std::uint64_t, std::uint64_t) override { refuse(); }
  void sync() override { refuse(); }
  void resize(std::uint64_t) override { refuse(); }
  void set_modified_ns(std::int64_t) override { refuse(); }

 private:
  [[noreturn]] void refuse() const {
    throw Error(Code::internal, path() + ": a reader must not change the file");
  }

  Journal journal_;
};

}  // namespace

std::unique_ptr<storage::File> with_journal(std::unique_ptr<storage::File> file, Journal journal) {
  return std::make_unique<JournalledFile>(std::move(file), std::move(journal));
}

namespace {

/// What stands for the present commit of a file, as a reader finds it.
struct Moment {
  std::vector<std::byte> journal;  ///< as journal_bytes_in() gives it, complete or not
  std::array<std::byte, superblock_bytes> superblock{};
  std::int64_t modified_ns = 0;
};

std::vector<std::byte> journal_bytes(storage::Storage& storage, const std::string& path) {
  const std::string name = journal_path(path);
  if (!storage.exists(name)) {
    return {};
  }
  try {
    return journal_bytes_in(*storage.open(name, storage::Access::read));
  } catch (const Error& e) {
    if (e.code() == Code::not_found) {
      return {};  // removed by its writer in this moment
    }
    throw;
  }
}

/// One try of open_committed(); `moment` is what it found at the beginning. `file` is set even
/// where it throws, as `load` may have kept it.
void try_committed(storage::Storage& storage, const std::string& path,
                   const std::function<void(storage::File&)>& load, Moment& moment,
                   std::unique_ptr<storage::File>& file) {
  file = layout::open_data(storage, path, storage::Access::read);
  if (auto journal = parse_journal(moment.journal)) {
    examine(*file, *journal);
    file = with_journal(std::move(file), std::move(*journal));
  } else if (is_guarded(*file)) {
    throw_lost(path);
  }
  file->read(0, moment.superblock);
  load(*file);
  moment.modified_ns = file->modified_ns();
  // Without a journal to tell by, the superblock does: every commit changes it.
  std::array<std::byte, superblock_bytes> superblock{};
  file->read(0, superblock);
  if (superblock != moment.superblock) {
    moment.journal.assign(1, std::byte{0});  // like no journal that will be found
  }
}

}  // namespace

std::uint64_t moment_of(storage::Storage& storage, const std::string& path) noexcept {
  try {
    codec::Checksum digest;
    digest.update(journal_bytes(storage, path));
    const auto file = layout::open_data(storage, path, storage::Access::read);
    std::array<std::byte, superblock_bytes> superblock{};
    file->read(0, superblock);
    digest.update(superblock);
    const std::int64_t modified_ns = file->modified_ns();
    digest.update(std::as_bytes(std::span(&modified_ns, 1)));
    return digest.value() | 1;
  } catch (const std::exception&) {
    return 0;
  }
}

Committed open_committed(storage::Storage& storage, const std::string& given_path,
                         const std::function<void(storage::File&)>& load) {
  const std::string path = storage.real_path(given_path);
  constexpr int most_tries = 100;
  constexpr int most_misfits = 3;  // a sector read while it was written fits neither
  std::unique_ptr<storage::File> file;
  int misfits = 0;
  for (int tries = 0; tries < most_tries; ++tries) {
    Moment moment;
    const std::uint64_t began = moment_of(storage, path);
    const bool had_lease = has_lease(storage, path);
    moment.journal = journal_bytes(storage, path);
    std::unique_ptr<storage::File> next;
    std::exception_ptr failure;
    bool is_misfit = false;
    try {
      try_committed(storage, path, load, moment, next);
    } catch (const Error& e) {
      failure = std::current_exception();
      is_misfit = e.code() == Code::changed_outside && ++misfits < most_misfits;
    }
    file = std::move(next);  // the one before had to outlive what was loaded from it
    if (!is_misfit && moment.journal == journal_bytes(storage, path)) {
      if (failure) {
        std::rethrow_exception(failure);
      }
      // Asked before and after, so that whoever wrote in between is not missed.
      const bool unfinished = had_lease || is_unfinished(storage, path);
      if (!parse_journal(moment.journal)) {
        moment.journal.clear();
      }
      return {std::move(file), std::move(moment.journal), unfinished, moment.modified_ns, began};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  throw Error(Code::locked,
              path + ": its writer commits faster than the file can be opened: try again");
}

std::unique_ptr<storage::File> open_beside(storage::Storage& storage, const std::string& path,
                                           std::span<const std::byte> journal) {
  auto file = layout::open_data(storage, path, storage::Access::read);
  if (auto parsed = parse_journal(journal)) {
    return with_journal(std::move(file), std::move(*parsed));
  }
  return file;
}

}  // namespace sluice::commit
