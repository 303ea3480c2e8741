#include "commit/publish/recovery.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "codec/checksum.hpp"
#include "commit/publish/damage.hpp"
#include "commit/publish/in_place.hpp"
#include "commit/publish/journal_format.hpp"
#include "commit/publish/journal_runs.hpp"
#include "commit/publish/store_commit.hpp"
#include "commit/publish/superblock.hpp"
#include "layout/catalog.hpp"
#include "layout/formats/formats.hpp"
#include "layout/formats/stores.hpp"
#include "model/clock.hpp"
#include "sluice/error.hpp"
#include "storage/calls.hpp"
#include "storage/endings.hpp"

namespace sluice::commit {

namespace {

/// npy with durability close: a power failure may leave a count of steps without their values.
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

/// When the file at `name` was written last. One that cannot be read tells nothing: as if it were
/// now.
std::int64_t time_of(storage::Storage& storage, const std::string& name) noexcept {
  try {
    return storage.open(name, storage::Access::read)->modified_ns();
  } catch (const std::exception&) {
    return model::wall_clock_ns();
  }
}

/// Data of a step that was never committed changed the time of modification. The log contains the
/// right one; if it cannot be read nothing is lost, verify then reports it. `sign_ns`: the last
/// sign of life of the writer.
void restore_time(storage::Storage& storage, const std::string& path,
                  std::int64_t sign_ns) noexcept {
  try {
    std::int64_t modified_ns = 0;
    bool is_changed = false;
    {
      const auto file = storage.open(path, storage::Access::read);
      const auto catalog = layout::open_catalog(layout::format_in(*file, "auto"), *file);
      modified_ns = catalog->commits().empty() ? 0 : catalog->commits().back().modified_ns;
      const auto superblock = find_superblock(*file);
      const auto end = superblock ? end_in(*file, *superblock) : std::nullopt;
      is_changed = end && is_changed_since(*file, std::max(sign_ns, modified_ns), *end);
    }
    if (modified_ns != 0 && !is_changed) {
      stamp(*storage.open(path, storage::Access::read_write), modified_ns);
    }
  } catch (const std::exception&) {
    // as above
  }
}

/// A client of a network file system may remember for a while that there was no such name, such as
/// that of a journal. Reading the folder makes it look again.
void look_at_folder(storage::Storage& storage, const std::string& path) noexcept {
  try {
    storage.list(storage::folder_of(path));
  } catch (const std::exception&) {
    // a hint
  }
}

/// May the journal hold what the file does not? One that is damaged may.
bool may_hold_steps(storage::Storage& storage, const std::string& path) {
  try {
    return open_runs(storage, path) != nullptr;
  } catch (const Error& e) {
    if (e.code() != Code::damaged) {
      throw;
    }
    return true;
  }
}

/// Gives the journal `name` one of the names under which journals are kept: a free one, or that of
/// the oldest.
LeftJournal take_left_name(storage::Storage& storage, const std::string& name) {
  std::string oldest;
  std::int64_t oldest_ns = 0;
  for (int number = 1; number <= most_left_journals; ++number) {
    const std::string kept = name + "-left-" + std::to_string(number);
    try {
      storage.rename_new(name, kept);
      return {kept, false};
    } catch (const Error& e) {
      if (e.code() != Code::exists) {
        throw;
      }
    }
    const std::int64_t kept_ns = time_of(storage, kept);
    if (oldest.empty() || kept_ns < oldest_ns) {
      oldest = kept;
      oldest_ns = kept_ns;
    }
  }
  storage.rename(name, oldest);
  return {oldest, true};
}

}  // namespace

bool has_lease(storage::Storage& storage, const std::string& path) {
  return storage.exists(storage::lease_path(path));
}

bool is_unfinished(storage::Storage& storage, const std::string& path) {
  return storage.exists(journal_path(path)) || has_lease(storage, path);
}

std::optional<std::int64_t> left_lease(storage::Storage& storage, const std::string& path) {
  return has_lease(storage, path) ? std::optional(time_of(storage, storage::lease_path(path)))
                                  : std::nullopt;
}

Recovery recover(storage::Storage& storage, const std::string& path, bool dry_run,
                 std::optional<std::int64_t> left_ns) {
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
  if (left_ns && !storage.exists(name)) {
    look_at_folder(storage, path);
  }
  if (!storage.exists(name)) {
    const Recovery result =
        storage.exists(path) ? recover_count(storage, path, dry_run) : Recovery{};
    if (left_ns && !dry_run) {
      restore_time(storage, path, *left_ns);
    }
    return result;
  }
  const std::int64_t sign_ns = std::max(time_of(storage, name), left_ns.value_or(0));
  const CarriedOut done = carry_out_journal(storage, path, dry_run, sign_ns);
  if (!dry_run) {
    if (!done.complete) {
      restore_time(storage, path, sign_ns);
    }
    remove_journal(storage, path);
  }
  return {done.complete ? Recovery::Found::complete : Recovery::Found::incomplete, done.commit,
          done.runs, done.found.changed, done.found.guarded};
}

LeftJournal keep_left_journal(storage::Storage& storage, const std::string& path) {
  const std::string name = journal_path(path);
  if (!storage.exists(name) || storage.exists(path) || storage.is_link(name) ||
      !may_hold_steps(storage, path)) {
    return {};
  }
  LeftJournal kept = take_left_name(storage, name);
  storage.sync_directory(path);  // it must not come back beside the new file
  return kept;
}

std::string opening_notice(const storage::Lease* lease, const LeftJournal& kept) {
  const std::string of_lease = lease != nullptr ? lease->notice() : std::string();
  if (kept.path.empty()) {
    return of_lease;
  }
  return of_lease + (of_lease.empty() ? "" : "; ") + kept.path +
         " is the journal of a file that was moved away from this name after its run was killed, "
         "and may have steps that are not in that file yet: rename it to the present name of the "
         "file with .sluice-journal behind it, and run sluice recover on the file; remove it only "
         "if that file is not wanted" +
         (kept.has_replaced_another ? "; it replaces the oldest of " +
                                          std::to_string(most_left_journals) + " such journals"
                                    : "");
}

Recovery recover_unattended(storage::Storage& storage, const std::string& given_path,
                            bool dry_run) {
  const std::string path = storage.real_path(given_path);
  // Opened before the lease is taken, which creates a file beside it.
  const auto file = layout::is_put_aside(storage, path)
                        ? nullptr
                        : layout::open_data(storage, path, storage::Access::read);
  const auto left_ns = left_lease(storage, path);
  const auto lease = dry_run ? nullptr : storage.lease(path);
  Recovery result = recover(storage, path, dry_run, left_ns);
  if (result.found == Recovery::Found::nothing && file && is_guarded(*file)) {
    look_at_folder(storage, path);
    result = recover(storage, path, dry_run, left_ns);
    if (result.found == Recovery::Found::nothing) {
      throw_lost(path);
    }
  }
  return result;
}

namespace {

/// Identifies the current commit of a file, as a reader finds it.
struct Moment {
  std::vector<std::byte> journal;  ///< as returned by journal_bytes_in(), complete or not
  std::array<std::byte, superblock_bytes> superblock{};
  std::int64_t modified_ns = 0;
  bool is_in_place = false;  ///< what the journal holds, before anything was read
  bool is_lost = false;      ///< the file needs a journal, and there is none
};

/// Of a file whose journal is not seen: may it be seen by another try? Waits a little if so, and
/// makes the client of a network file system look again. `since_s`: of the first try; 0: this one.
bool may_be_seen_soon(storage::Storage& storage, const std::string& path, double& since_s) {
  constexpr double longest_s = 2;
  constexpr auto pause = std::chrono::milliseconds(25);
  const bool is_first = since_s == 0;
  since_s = is_first ? model::now_s() : since_s;
  look_at_folder(storage, path);
  // Without a writer one look is enough.
  if (!is_first && (!has_lease(storage, path) || model::now_s() - since_s > longest_s)) {
    return false;
  }
  if (!is_first) {
    std::this_thread::sleep_for(pause);
  }
  return true;
}

std::vector<std::byte> journal_bytes(storage::Storage& storage, const std::string& path) {
  const std::string name = journal_path(path);
  if (!storage.exists(name)) {
    return {};
  }
  try {
    return journal_bytes_in(storage.open(name, storage::Access::read), [&] {
      return layout::open_data(storage, path, storage::Access::read);
    });
  } catch (const Error& e) {
    if (e.code() == Code::not_found) {
      return {};  // its writer removed it at this moment
    }
    throw;
  }
}

/// One attempt of open_committed(); `moment` is the state at its beginning. `file` is set even if
/// it throws, because `load` may have kept it.
void try_committed(storage::Storage& storage, const std::string& path,
                   const std::function<void(storage::File&)>& load, Moment& moment,
                   std::unique_ptr<storage::File>& file) {
  file = layout::open_data(storage, path, storage::Access::read);
  if (auto journal = parse_journal(moment.journal)) {
    auto runs = std::make_unique<MemoryRuns>(std::move(*journal));
    moment.is_in_place = examine(*file, *runs).changed == 0;
    file = with_journal(std::move(file), std::move(runs));
  } else if (is_guarded(*file)) {
    moment.is_lost = true;
    throw_lost(path);
  }
  file->read(0, moment.superblock);
  load(*file);
  moment.modified_ns = file->modified_ns();
  // Without a journal the superblock identifies it: every commit changes it.
  std::array<std::byte, superblock_bytes> superblock{};
  file->read(0, superblock);
  if (superblock != moment.superblock) {
    moment.journal.assign(1, std::byte{0});  // different from any journal
  }
}

/// Was nothing put in place since `moment`, though the journal is `journal` now? Each record holds
/// the changes of those before it that were not in place when it was written.
bool has_stayed(storage::Storage& storage, const std::string& path, const Moment& moment,
                const std::vector<std::byte>& journal) {
  try {
    auto then = parse_journal(moment.journal);
    auto now = parse_journal(journal);
    if (!then || !now || (moment.is_in_place && now->commit != then->commit + 1)) {
      return false;
    }
    MemoryRuns runs(std::move(moment.is_in_place ? *now : *then));
    const InPlace found = examine(*layout::open_data(storage, path, storage::Access::read), runs);
    return !found.guarded && found.changed != 0;
  } catch (const Error&) {
    return false;  // it is being put in place, or its writer removed the journal
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
  constexpr int most_misfits = 3;  // a sector read while it was written matches neither
  std::unique_ptr<storage::File> file;
  const double end_s = model::now_s() + 10;
  int misfits = 0;
  double lost_since_s = 0;
  for (int tries = 0; tries < most_tries; ++tries) {
    Moment moment;
    const std::uint64_t began = moment_of(storage, path);
    const bool had_lease = has_lease(storage, path);
    moment.journal = journal_bytes(storage, path);
    std::unique_ptr<storage::File> next;
    std::exception_ptr failure;
    Code failed = Code::ok;
    bool is_misfit = false;
    try {
      try_committed(storage, path, load, moment, next);
    } catch (const Error& e) {
      failure = std::current_exception();
      failed = e.code();
      is_misfit = e.code() == Code::changed_outside && ++misfits < most_misfits;
    }
    file = std::move(next);  // the previous one had to outlive what was loaded from it
    if (moment.is_lost && may_be_seen_soon(storage, path, lost_since_s)) {
      continue;
    }
    // While nothing is put in place, a record of the journal stays what was read by it.
    const std::vector<std::byte> journal =
        is_misfit ? std::vector<std::byte>() : journal_bytes(storage, path);
    // Beside a writer, a failure counts only where the file stays as it is.
    const bool may_pass = failure && is_of_content(failed) && model::now_s() < end_s &&
                          moment_of(storage, path) != began;
    if (!is_misfit && !may_pass &&
        (moment.journal == journal || has_stayed(storage, path, moment, journal))) {
      if (failure) {
        std::rethrow_exception(failure);
      }
      // Compared before and after, so that a write in between is not missed.
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
    return with_journal(std::move(file), std::make_unique<MemoryRuns>(std::move(*parsed)));
  }
  return file;
}

}  // namespace sluice::commit
