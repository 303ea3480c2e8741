#include "crash/buggy.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "codec/checksum.hpp"
#include "commit/publish/journal.hpp"
#include "commit/publish/journal_format.hpp"
#include "layout/records/log.hpp"
#include "storage/forwarding.hpp"
#include "storage/store.hpp"

namespace sluice::test {

using storage::Access;
using storage::File;
using storage::Storage;

namespace {

Planted deferred(Bug bug, const std::string& name, bool in_recovery = false,
                 const std::string& scenario = "fresh") {
  return {.bug = bug,
          .name = name,
          .in_recovery = in_recovery,
          .scenario = scenario,
          .is_deferred = true};
}

/// Where steps are put in place later.
std::vector<Planted> bugs_of_a_log() {
  return {
      deferred(Bug::no_data_sync, "data is not synced beside the journal"),
      deferred(Bug::no_journal_sync, "a record of a log is not synced"),
      deferred(Bug::journal_short, "a record of a log lacks a run"),
      deferred(Bug::log_forgets, "a record of a log forgets a change"),
      deferred(Bug::log_at_front, "a record of a log is written over the one before"),
      deferred(Bug::journal_removed_early, "a log is removed before it is put in place"),
      deferred(Bug::no_guard, "a log is put in place without a guard"),
      deferred(Bug::recovery_takes_first, "recovery carries out an old record of a log", true),
      deferred(Bug::recovery_takes_stale, "recovery carries out a stale record of a log", true,
               "many_steps"),
      deferred(Bug::recovery_skips_data, "recovery does not look for the data of a record", true),
  };
}

std::vector<Planted> bugs_of_a_repository() {
  const auto planted = [](Bug bug, const std::string& name, const std::string& strategy) {
    return Planted{.bug = bug, .name = name, .format = "icechunk", .strategy = strategy};
  };
  return {
      planted(Bug::no_data_sync, "nothing of a repository is synced", "shared"),
      planted(Bug::one_writer_unsynced, "a writer of a repository does not sync", "shared"),
      planted(Bug::no_sync_before_rename, "a ref is renamed unsynced", "shared"),
      planted(Bug::no_name_sync, "the folders of a repository are not synced", "shared"),
      planted(Bug::log_chunk_unsynced, "a log of a repository is not synced", "shared"),
      planted(Bug::manifest_unsynced, "a manifest of a repository is not synced", "shared"),
      planted(Bug::snapshot_unsynced, "a ref leads to an unsynced snapshot", "shared"),
      planted(Bug::root_document_first, "a ref comes before its snapshot", "shared"),
      planted(Bug::ref_name_unsynced, "the name of a ref is not synced", "shared"),
      planted(Bug::snapshot_unsynced, "the same from the background", "forward"),
  };
}

std::vector<Planted> bugs_of_a_step() {
  return {
      {Bug::no_data_sync, "no writer syncs its data"},
      {Bug::one_writer_unsynced, "one writer does not sync its data"},
      {Bug::fresh_after_sync, "new metadata is written after the sync"},
      {Bug::no_journal, "nothing is journalled"},
      {Bug::no_journal_sync, "the journal is not synced"},
      {Bug::no_journal_name_sync, "the journal's name is not synced"},
      {Bug::journal_after_apply, "applied before it is journalled"},
      {Bug::journal_short, "the journal lacks a run"},
      {Bug::journal_no_root, "the journal lacks the superblock"},
      {Bug::no_guard, "no guard"},
      {Bug::no_guard_sync, "the guard is not synced"},
      {Bug::no_apply_sync, "the runs are not synced before the superblock"},
      {Bug::root_before_apply, "the superblock is written before the runs"},
      {Bug::apply_short, "a run is not written in place"},
      {Bug::no_sync_before_rename, "renamed before it is synced"},
      {Bug::no_name_sync, "the file's new name is not synced"},
      {Bug::old_journal_stays, "the journal of a replaced file goes after the rename", false,
       "strange_journal"},
      {Bug::journal_removed_early, "the journal is removed before the apply"},
      {Bug::below_frontier, "raw data over committed bytes"},
      {Bug::no_data_sync, "nothing of a store is synced", false, "fresh", "zarr"},
      {Bug::one_writer_unsynced, "a writer of a store does not sync", false, "fresh", "zarr"},
      {Bug::no_sync_before_rename, "documents are renamed unsynced", false, "fresh", "zarr"},
      {Bug::no_name_sync, "the folders of a store are not synced", false, "fresh", "zarr"},
      {Bug::root_document_first, "a store's root comes before its logs", false, "fresh", "zarr"},
      {Bug::old_store_removed, "a replaced store goes before the commit", false, "replace", "zarr"},
      {Bug::entry_unsynced, "a log's entry is not synced", false, "append", "records"},
      {Bug::root_unsynced, "a log's root is not synced", false, "fresh", "records"},
      {Bug::one_writer_unsynced, "a writer of a log does not sync", false, "fresh", "records"},
      {Bug::no_name_sync, "the name of a log is not synced", false, "fresh", "records"},
      {Bug::part_unsynced, "parts are not synced", false, "fresh", "hdf5", "file-per-process"},
      {Bug::part_name_unsynced, "names of parts are not synced", false, "fresh", "hdf5",
       "file-per-process"},
      {Bug::index_unsynced, "an index is renamed unsynced", false, "fresh", "hdf5",
       "file-per-process"},
      {Bug::index_name_unsynced, "the name of an index is not synced", false, "fresh", "hdf5",
       "file-per-process"},
      {Bug::index_name_unsynced, "parts dropped by an unsynced index", false, "fresh", "hdf5",
       "shared", 2},
      {Bug::part_unsynced, "parts of the last steps are not synced", false, "fresh", "hdf5",
       "shared", 2},
      {Bug::recovery_no_sync, "recovery does not sync", true},
      {Bug::recovery_no_guard, "recovery without a guard", true},
      {Bug::recovery_trusts, "recovery trusts a torn journal", true, "alike"},
      {Bug::recovery_drops, "recovery drops a complete journal", true},
  };
}

}  // namespace

const std::vector<Planted>& planted_bugs() {
  static const std::vector<Planted> all = [] {
    std::vector<Planted> both = bugs_of_a_step();
    for (const std::vector<Planted>& more : {bugs_of_a_log(), bugs_of_a_repository()}) {
      both.insert(both.end(), more.begin(), more.end());
    }
    return both;
  }();
  return all;
}

/// The stage of the library in a commit, judged by the calls of rank 0.
enum class Stage : std::uint8_t { data, guarded, applying, root };

struct BugState {
  Bug bug = Bug::none;
  Stage stage = Stage::data;
  std::vector<std::byte> late_journal;  ///< journal_after_apply
  std::uint64_t previous = 0;           ///< in the header of the last record, as it was written
  std::vector<std::pair<std::uint64_t, std::vector<std::byte>>> late;
  std::uint64_t largest_seen = 0;  ///< end of the file after the last commit
  std::vector<std::pair<std::string, std::string>> late_names;  ///< root_document_first
};

std::shared_ptr<BugState> make_bug(Bug bug) {
  auto state = std::make_shared<BugState>();
  state->bug = bug;
  return state;
}

namespace {

constexpr std::uint64_t superblock_bytes = 48;
constexpr std::size_t log_root_bytes = 32;

bool ends_with(const std::string& text, const char* end) { return text.ends_with(end); }
bool is_in(const std::string& path, const char* folder) {
  return path.find(folder) != std::string::npos;
}
bool is_part(const std::string& path) { return path.find(".parts/") != std::string::npos; }
const std::string index_path = "out.h5";

class BuggyFile final : public storage::ForwardingFile {
 public:
  BuggyFile(std::unique_ptr<File> file, std::shared_ptr<Storage> storage,
            std::shared_ptr<BugState> state, int rank)
      : ForwardingFile(std::move(file)),
        storage_(std::move(storage)),
        state_(std::move(state)),
        rank_(rank),
        is_journal_(ends_with(path(), ".sluice-journal")) {}

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    if (is_journal_) {
      write_journal(offset, bytes);
      return;
    }
    BugState& s = *state_;
    wrote_log_root_ = offset == layout::records::root_offset && bytes.size() == log_root_bytes;
    const bool is_guard = offset == 0 && bytes.size() == 1;
    const bool is_root = offset == 0 && bytes.size() == superblock_bytes;
    if (is_guard) {
      s.stage = Stage::guarded;
      if (is(Bug::journal_removed_early) && storage_->exists(commit::journal_path(named_path()))) {
        storage_->remove(commit::journal_path(named_path()));
      }
      if (is(Bug::no_guard) || is(Bug::recovery_no_guard) || is(Bug::root_before_apply)) {
        return;
      }
    } else if (is_root && s.stage == Stage::applying) {
      s.stage = Stage::root;
      write_root(bytes);
      return;
    } else if (s.stage == Stage::applying) {
      if (is(Bug::root_before_apply)) {
        s.late.emplace_back(offset, std::vector(bytes.begin(), bytes.end()));
        return;
      }
      if (is(Bug::apply_short) && s.late.empty()) {
        s.late.emplace_back(offset, std::vector<std::byte>{});
        return;
      }
    } else if (s.stage == Stage::data || s.stage == Stage::root) {
      s.stage = Stage::data;
      write_data(offset, bytes);
      return;
    }
    inner().write(offset, bytes);
  }

  void sync() override {
    BugState& s = *state_;
    if (is_journal_) {
      if (!is(Bug::no_journal_sync) && !is(Bug::no_journal) && !is(Bug::journal_after_apply)) {
        inner().sync();
      }
      return;
    }
    if (is_left_out(path())) {
      return;
    }
    const Stage stage = s.stage;
    if (stage == Stage::guarded && rank_ == 0) {
      s.stage = Stage::applying;
    } else if (stage == Stage::root && rank_ == 0) {
      s.stage = Stage::data;
    }
    const bool is_building = ends_with(inner().path(), ".sluice-new");
    const bool skipped =
        is(Bug::recovery_no_sync) || (stage == Stage::data && is(Bug::no_data_sync)) ||
        (stage == Stage::data && rank_ == 2 && is(Bug::one_writer_unsynced)) ||
        (stage == Stage::guarded && (is(Bug::no_guard_sync) || is(Bug::root_before_apply))) ||
        (stage == Stage::applying && (is(Bug::no_apply_sync) || is(Bug::root_before_apply))) ||
        (is_building && stage == Stage::data && is(Bug::no_sync_before_rename));
    if (!skipped) {
      inner().sync();
    }
    if (is(Bug::fresh_after_sync) && stage == Stage::data) {
      for (const auto& [offset, bytes] : s.late) {
        inner().write(offset, bytes);
      }
      s.late.clear();
    }
  }

  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) override {
    const std::size_t got = inner().read(offset, bytes);
    if (is_journal_ && is(Bug::recovery_trusts) && offset == 0) {
      // The header may be read alone; it describes the whole journal.
      std::vector<std::byte> whole(inner().size());
      whole.resize(inner().read(0, whole));
      repair_checksums(whole);
      std::copy_n(whole.begin(), std::min(got, whole.size()), bytes.begin());
    }
    constexpr std::uint64_t record_alignment = 4096;
    const bool is_header = is_journal_ && bytes.size() == commit::journal_header_bytes &&
                           offset % record_alignment == 0 && got == bytes.size();
    if (is_header && is(Bug::recovery_takes_first) && offset != 0) {
      std::fill(bytes.begin(), bytes.end(), std::byte{0});
    }
    if (is_header && (is(Bug::recovery_takes_stale) || is(Bug::recovery_skips_data))) {
      if (const auto header = header_as_read(offset)) {
        std::memcpy(bytes.data(), &*header, sizeof *header);
      }
    }
    if (is_journal_ && is(Bug::recovery_drops) && got != 0) {
      bytes[0] = std::byte{0};
    }
    return got;
  }
  void preallocate(std::uint64_t offset, std::uint64_t length) override {
    state_->largest_seen = offset;
    inner().preallocate(offset, length);
  }

 private:
  bool is(Bug bug) const { return state_->bug == bug; }
  std::string named_path() const {
    const std::string& path = inner().path();
    return ends_with(path, ".sluice-new") ? path.substr(0, path.size() - 11) : path;
  }

  /// Syncs of logs, of sets and of repositories.
  bool is_left_out(const std::string& path) const {
    const bool is_building = ends_with(path, ".sluice-new");
    return (is(Bug::entry_unsynced) && !wrote_log_root_ && !is_building) ||
           (is(Bug::root_unsynced) && wrote_log_root_) ||
           (is(Bug::log_chunk_unsynced) && is_building && is_in(path, "/chunks/")) ||
           (is(Bug::manifest_unsynced) && is_in(path, "/manifests/")) ||
           (is(Bug::snapshot_unsynced) && is_in(path, "/snapshots/")) ||
           (is(Bug::part_unsynced) && is_part(path)) ||
           (is(Bug::index_unsynced) && is_building && !is_part(path));
  }

  void write_data(std::uint64_t offset, std::span<const std::byte> bytes) {
    const bool is_later_commit = state_->largest_seen >= 40960;  // the second of `fresh`
    if (is(Bug::fresh_after_sync) && rank_ == 0 && is_later_commit) {
      state_->late.emplace_back(offset, std::vector(bytes.begin(), bytes.end()));
      return;
    }
    inner().write(offset, bytes);
    if (is(Bug::below_frontier) && is_later_commit && offset == state_->largest_seen) {
      // What a planner without its check would do: use the place of the previous step again.
      inner().write(offset - 8192, bytes);
    }
  }

  void write_root(std::span<const std::byte> bytes) {
    inner().write(0, bytes);
    if (is(Bug::root_before_apply)) {
      for (const auto& [offset, run] : std::exchange(state_->late, {})) {
        inner().write(offset, run);
      }
    }
    if (is(Bug::apply_short)) {
      state_->late.clear();
    }
    if (is(Bug::journal_after_apply)) {
      const auto journal = storage_->open(commit::journal_path(named_path()), Access::read_write);
      journal->write(0, state_->late_journal);
      journal->sync();
    }
  }

  void write_journal(std::uint64_t offset, std::span<const std::byte> bytes) {
    if (is(Bug::no_journal)) {
      return;
    }
    if (is(Bug::journal_after_apply)) {
      state_->late_journal.assign(bytes.begin(), bytes.end());
      return;
    }
    const bool is_changed = is(Bug::journal_short) || is(Bug::journal_no_root) ||
                            is(Bug::log_forgets) || is(Bug::log_at_front);
    if (is_changed) {
      commit::Journal journal = journal_of(bytes);
      if (is(Bug::journal_short)) {
        journal.runs.pop_back();
      } else if (is(Bug::journal_no_root)) {
        std::erase_if(journal.runs, [](const auto& run) { return run.offset < superblock_bytes; });
      } else if (is(Bug::log_forgets) && offset != 0) {
        journal.runs.pop_back();
      }
      const std::uint64_t at = is(Bug::log_at_front) ? 0 : offset;
      const auto changed = journal.to_bytes(at == 0 ? 0 : state_->previous, true);
      std::memcpy(&state_->previous, &changed[56], sizeof state_->previous);
      inner().write(at, changed);
      return;
    }
    inner().write(offset, bytes);
  }

  /// Of one record, wherever it is.
  static commit::Journal journal_of(std::span<const std::byte> bytes) {
    std::vector<std::byte> alone(bytes.begin(), bytes.end());
    commit::JournalHeader header{};
    std::memcpy(&header, alone.data(), sizeof header);
    header = commit::sealed_header(header, 0);
    std::memcpy(alone.data(), &header, sizeof header);
    return commit::parse_journal(alone).value();
  }

  /// The header of the record at `offset`, as recovery with the bug would take it.
  std::optional<commit::JournalHeader> header_as_read(std::uint64_t offset) {
    commit::JournalPlace as_read;
    commit::JournalPlace place;
    commit::JournalHeader before{};
    const std::uint64_t size = inner().size();
    std::vector<std::byte> bytes(commit::journal_header_bytes);
    while (place.at <= offset && inner().read(place.at, bytes) == bytes.size()) {
      commit::JournalHeader header{};
      std::memcpy(&header, bytes.data(), sizeof header);
      const bool is_sound =
          commit::sound_header(bytes, size - place.at, place.previous).has_value();
      const bool is_stale = !is_sound && place.at != 0 && header.magic[0] == 'S' &&
                            header.payload_bytes < size - place.at;
      if (!is_sound && !(is_stale && is(Bug::recovery_takes_stale))) {
        return std::nullopt;
      }
      place = commit::place_behind(place, header);
      if (is(Bug::recovery_skips_data)) {
        header.magic = commit::log_magic;
      }
      header.commit = is_stale ? before.commit + 1 : header.commit;
      header = commit::sealed_header(header, as_read.previous);
      if (as_read.at == offset) {
        return header;
      }
      as_read = commit::place_behind(as_read, header);
      before = header;
    }
    return std::nullopt;
  }

  /// As if the checksums were not checked.
  static void repair_checksums(std::span<std::byte> bytes) {
    constexpr std::size_t header_bytes = 64;
    if (bytes.size() < header_bytes) {
      return;
    }
    std::uint64_t payload_bytes = 0;
    std::memcpy(&payload_bytes, &bytes[16], sizeof payload_bytes);
    if (payload_bytes > bytes.size() - header_bytes) {
      return;
    }
    const std::uint64_t payload =
        codec::checksum(std::span<const std::byte>(bytes.subspan(header_bytes, payload_bytes)));
    std::memcpy(&bytes[48], &payload, sizeof payload);
    const std::uint64_t header =
        codec::checksum(std::span<const std::byte>(bytes.first(header_bytes - 8)));
    std::memcpy(&bytes[56], &header, sizeof header);
  }

  const std::shared_ptr<Storage> storage_;
  const std::shared_ptr<BugState> state_;
  const int rank_;
  const bool is_journal_;
  bool wrote_log_root_ = false;  ///< with the last write
};

class BuggyStorage final : public Storage {
 public:
  BuggyStorage(std::shared_ptr<Storage> inner, std::shared_ptr<BugState> state, int rank)
      : inner_(std::move(inner)), state_(std::move(state)), rank_(rank) {}

  std::unique_ptr<File> open(const std::string& path, Access access) override {
    return std::make_unique<BuggyFile>(inner_->open(path, access), inner_, state_, rank_);
  }
  bool exists(const std::string& path) override { return inner_->exists(path); }
  void rename(const std::string& from, const std::string& to) override {
    const bool is_root = ends_with(to, "/zarr.json") || ends_with(to, "/ref.json");
    if (state_->bug == Bug::root_document_first && !is_root &&
        ends_with(from, storage::new_ending)) {
      state_->late_names.emplace_back(from, to);
      return;
    }
    inner_->rename(from, to);
    for (const auto& [late_from, late_to] : std::exchange(state_->late_names, {})) {
      inner_->rename(late_from, late_to);
    }
    if (state_->bug == Bug::old_store_removed && ends_with(to, storage::old_ending)) {
      inner_->remove_folder(to);
    }
    if (state_->bug == Bug::old_journal_stays && inner_->exists(commit::journal_path(to))) {
      inner_->remove(commit::journal_path(to));  // too late: the new file may exist already
    }
  }
  void remove(const std::string& path) override {
    const bool is_journal = ends_with(path, ".sluice-journal");
    const bool skipped =
        is_journal && ((state_->bug == Bug::old_journal_stays && state_->stage == Stage::data) ||
                       (state_->bug == Bug::journal_removed_early && !inner_->exists(path)));
    if (!skipped) {
      inner_->remove(path);
    }
  }
  void remove_folder(const std::string& path) override { inner_->remove_folder(path); }
  void make_folder(const std::string& path) override { inner_->make_folder(path); }
  void sync_directory(const std::string& path) override {
    const bool is_journal_there = inner_->exists(commit::journal_path("out.h5"));
    const bool skipped = (state_->bug == Bug::no_journal_name_sync && is_journal_there) ||
                         (state_->bug == Bug::no_name_sync && !is_journal_there) ||
                         (state_->bug == Bug::part_name_unsynced && is_part(path)) ||
                         (state_->bug == Bug::index_name_unsynced && path == index_path) ||
                         (state_->bug == Bug::ref_name_unsynced && is_in(path, "/refs/")) ||
                         state_->bug == Bug::recovery_no_sync;
    if (!skipped) {
      inner_->sync_directory(path);
    }
  }
  std::unique_ptr<storage::Lease> lease(const std::string& path) override {
    return inner_->lease(path);
  }
  const char* name() const override { return "buggy"; }

 private:
  const std::shared_ptr<Storage> inner_;
  const std::shared_ptr<BugState> state_;
  const int rank_;
};

}  // namespace

std::shared_ptr<Storage> plant(std::shared_ptr<Storage> inner, std::shared_ptr<BugState> state,
                               int rank) {
  return std::make_shared<BuggyStorage>(std::move(inner), std::move(state), rank);
}

}  // namespace sluice::test
