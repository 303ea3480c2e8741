#include "crash/oracle.hpp"

#include <algorithm>
#include <map>

#include "api/file/file_impl.hpp"
#include "codec/checksum.hpp"
#include "commit/publish/parts_files.hpp"
#include "commit/publish/recovery.hpp"
#include "commit/read/input.hpp"
#include "commit/tools/verify.hpp"
#include "crash/plain_store.hpp"
#include "exec/transport/solo_transport.hpp"
#include "layout/formats/stores.hpp"
#include "support/local_transport.hpp"

namespace sluice::test {

OracleCounts& OracleCounts::operator+=(const OracleCounts& other) {
  disks += other.disks;
  repeated += other.repeated;
  plain_old += other.plain_old;
  plain_new += other.plain_new;
  plain_refused += other.plain_refused;
  replayed += other.replayed;
  second_crashes += other.second_crashes;
  appended += other.appended;
  in_flight += other.in_flight;
  return *this;
}

namespace {

struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::shared_ptr<storage::MemoryStorage> storage_of(const Files& files) {
  auto storage = storage::make_memory();
  for (const auto& [path, bytes] : files) {
    storage->put(path, *bytes);
  }
  return storage;
}

Files files_of(const storage::MemoryStorage& storage) {
  Files files;
  for (const std::string& path : storage.paths()) {
    files[path] = std::make_shared<Bytes>(storage.contents(path));
  }
  return files;
}

std::uint64_t digest_of(const Files& files) {
  codec::Checksum digest;
  for (const auto& [path, bytes] : files) {
    digest.update(std::as_bytes(std::span(path)));
    const std::uint64_t size = bytes->size();
    digest.update(std::as_bytes(std::span(&size, 1)));
    digest.update(*bytes);
  }
  return digest.value();
}

class Examiner {
 public:
  Examiner(const Recording& recording, Reach reach, const OracleOptions& options)
      : recording_(recording), reach_(reach), options_(options) {}

  Findings run() {
    CrashDisks disks(recording_.base, recording_.log->records(), reach_, options_.limits);
    std::vector<std::size_t> marks = recording_.acks;
    marks.insert(marks.end(), recording_.durable.begin(), recording_.durable.end());
    disks.visit([&](const CrashDisk& disk) { return look(disk); }, recording_.first_place, marks);
    return std::move(findings_);
  }

 private:
  /// The states that may be found: golden indexes [first, last].
  struct Demand {
    std::size_t first = 0;
    std::size_t last = 0;
    std::size_t first_plain = 0;  ///< plain readers may still see the state before recovery
  };

  bool look(const CrashDisk& disk) {
    const auto passed = [&](const std::vector<std::size_t>& places) {
      return static_cast<std::size_t>(std::count_if(
          places.begin(), places.end(), [&](std::size_t p) { return p <= disk.place; }));
    };
    Demand demand;
    demand.first = std::max(passed(recording_.durable), passed(recording_.acks));
    // What was put in place last, of what is put in place later.
    demand.first_plain = recording_.is_deferred ? 0 : passed(recording_.acks);
    demand.last = recording_.is_in_flight ? std::max(demand.first, passed(recording_.begun))
                                          : std::min(demand.first + 1, recording_.acks.size());
    const std::uint64_t digest = digest_of(disk.files) * 31 + demand.first * 1000003 +
                                 demand.first_plain * 101 + demand.last;
    if (!seen_.insert(digest).second) {
      ++findings_.counts.repeated;
      return true;
    }
    ++findings_.counts.disks;
    findings_.counts.in_flight += demand.last > demand.first + 1 ? 1 : 0;
    try {
      demand_all(disk.files, demand, true);
    } catch (const std::exception& e) {
      findings_.violations.push_back(describe(disk) + ": " + e.what());
    }
    return findings_.violations.size() < options_.most_violations &&
           findings_.counts.disks < options_.most_disks;
  }

  std::string describe(const CrashDisk& disk) const {
    const auto& records = recording_.log->records();
    std::string text = test::describe(disk, records.size());
    if (disk.place > 0) {
      const storage::Record& last = records[disk.place - 1];
      text += std::string(" (last: rank ") + std::to_string(last.rank) + " " +
              storage::call_name(last.call) + " " + last.path + " at " +
              std::to_string(last.offset) + ")";
    }
    return text;
  }

  /// The view of plain libhdf5: expensive for sets, and many disks differ only in what it does not
  /// read.
  const std::optional<Snapshot>& plain_of(const storage::MemoryStorage& storage) {
    Files files = files_of(storage);
    std::erase_if(files, [](const auto& file) { return file.first.ends_with(".sluice-journal"); });
    const auto [view, is_new] = plain_views_.try_emplace(digest_of(files));
    if (is_new) {
      try {
        view->second = recording_.comparable(plain_view(storage));
      } catch (...) {
        plain_views_.erase(view);
        throw;
      }
    }
    return view->second;
  }

  void demand_all(const Files& files, const Demand& demand, bool may_crash_again) {
    const auto storage = storage_of(files);
    if (layout::is_put_aside(*storage, crash_path)) {
      demand_put_back(storage, demand, may_crash_again);
      return;
    }
    demand_plain(*storage, demand);
    const std::size_t state = demand_reader(storage, demand);
    demand_recovery(storage, demand, state, may_crash_again);
  }

  /// A store that was to be replaced: nothing can be opened before it is restored.
  void demand_put_back(const std::shared_ptr<storage::MemoryStorage>& storage, const Demand& demand,
                       bool may_crash_again) {
    try {
      sluice_snapshot(storage, crash_path);
      throw Violation("the Sluice reader opens a store that was put aside");
    } catch (const Error& e) {
      if (std::string(e.what()).find("sluice recover") == std::string::npos) {
        throw Violation(std::string("a store that was put aside: ") + e.what());
      }
    }
    Recording second;
    second.base = files_of(*storage);
    second.disk = storage;
    commit::recover(*std::make_shared<storage::RecordingStorage>(storage, second.log), crash_path,
                    false);
    demand_plain(*storage, demand);
    const std::size_t state = demand_reader(storage, demand);
    demand_recovered(storage, recording_.golden[state]);
    if (may_crash_again && findings_.counts.replayed++ % options_.second_crash_every == 0) {
      crash_again(second, demand, state);
    }
  }

  void demand_plain(storage::MemoryStorage& storage, const Demand& demand) {
    if (!is_there(storage)) {
      return;  // the reader decides whether that is right
    }
    const std::optional<Snapshot>& found = plain_of(storage);
    if (!found) {
      ++findings_.counts.plain_refused;
      return;
    }
    for (std::size_t i = demand.last + 1; i-- > demand.first_plain;) {
      if (found == recording_.golden[i].plain) {
        ++(i == demand.last ? findings_.counts.plain_new : findings_.counts.plain_old);
        return;
      }
    }
    const auto& expected = recording_.golden[demand.first].plain;
    throw Violation("plain libhdf5 sees neither the old state nor the new one:" +
                    difference(expected.value_or(Snapshot{}), *found));
  }

  /// The state that the Sluice reader sees without recovery.
  std::size_t demand_reader(const std::shared_ptr<storage::MemoryStorage>& storage,
                            const Demand& demand) {
    Golden found;
    const bool has_file = is_there(*storage);
    if (has_file) {
      found.plain = plain_of(*storage);
      try {
        found.sluice = sluice_snapshot(storage, crash_path);
      } catch (const Error& e) {
        if (e.code() != Code::changed_outside) {
          throw Violation(std::string("the Sluice reader fails: ") + e.what());
        }
      }
    }
    for (std::size_t i = demand.first; i <= demand.last; ++i) {
      const Golden& golden = recording_.golden[i];
      // If Sluice refuses it, plain libhdf5 determines the state.
      const bool is_this = found.sluice
                               ? golden.sluice == found.sluice || golden.unspoilt == found.sluice
                               : !golden.sluice && (!has_file || golden.plain == found.plain);
      if (golden.plain.has_value() == has_file && is_this) {
        return i;
      }
    }
    std::string text = "the Sluice reader sees";
    for (std::size_t i = demand.first; i <= demand.last; ++i) {
      const auto& expected = recording_.golden[i].sluice;
      text +=
          (i == demand.first ? " not state " : " nor state ") + std::to_string(i) + ":" +
          (has_file ? difference(expected.value_or(Snapshot{}), found.sluice.value_or(Snapshot{}))
                    : " there is no file");
    }
    throw Violation(text);
  }

  void demand_recovery(const std::shared_ptr<storage::MemoryStorage>& storage, const Demand& demand,
                       std::size_t state, bool may_crash_again) {
    const Golden& golden = recording_.golden[state];
    if (!golden.sluice && layout::is_store(*storage, crash_path)) {
      // Remaining files do not interfere with the next run.
      layout::begin_store(*storage, crash_path, layout::format_named("zarr"), true);
    }
    if (!golden.sluice) {
      return;  // no file, or one that recovery refuses as the reader did
    }
    Recording second;
    second.base = files_of(*storage);
    second.disk = storage;
    std::shared_ptr<storage::Storage> outer =
        std::make_shared<storage::RecordingStorage>(storage, second.log);
    if (options_.wrap_recovery) {
      outer = options_.wrap_recovery(outer, 0);
    }
    commit::Recovery recovery;
    try {
      recovery = recover_all(outer);
    } catch (const Error& e) {
      throw Violation(std::string("recovery fails: ") + e.what());
    }
    demand_recovered(storage, golden);
    if (!may_crash_again) {
      return;
    }
    const std::uint64_t disks = findings_.counts.disks;
    if (recovery.changed != 0 && findings_.counts.replayed++ % options_.second_crash_every == 0) {
      crash_again(second, demand, state);
    }
    if (disks % options_.append_every == 0) {
      go_on(storage, golden);
    }
  }

  /// As `sluice recover` does: the file, and the parts that it refers to.
  static commit::Recovery recover_all(const std::shared_ptr<storage::Storage>& storage) {
    commit::Recovery recovery = commit::recover(*storage, crash_path, false);
    const auto alone = exec::make_solo();
    const commit::Input in(*alone, *storage, crash_path, {.checksum = false});
    const bool had_journal = recovery.found != commit::Recovery::Found::nothing;
    if (had_journal && !layout::is_store(*storage, crash_path) && in.modified_since_commit()) {
      throw Violation("recovery left a time of modification that is not its commit's");
    }
    if (in.set() != nullptr) {
      for (const layout::Part& part : in.set()->parts) {
        const std::string path = layout::part_path(crash_path, part.path);
        recovery.changed += storage->exists(commit::journal_path(path)) ? 1 : 0;
      }
      commit::check_parts(*alone, *storage, crash_path, *in.set(), true);
    }
    return recovery;
  }

  void demand_recovered(const std::shared_ptr<storage::MemoryStorage>& storage,
                        const Golden& golden) {
    if (storage->exists(commit::journal_path(crash_path))) {
      throw Violation("recovery left its journal");
    }
    if (is_store_there(*storage, crash_path)) {
      const std::string stale = stale_document(*storage, crash_path);
      if (!stale.empty()) {
        throw Violation("recovery left " + stale + " as it was");
      }
    }
    const std::optional<Snapshot>& plain = plain_of(*storage);
    if (!plain) {
      throw Violation("plain libhdf5 refuses the recovered file");
    }
    if (*plain != golden.plain) {
      throw Violation("recovery made another state than the reader saw:" +
                      difference(golden.plain.value(), *plain));
    }
    const auto alone = exec::make_solo();
    const commit::Verdict verdict = commit::verify(*alone, *storage, crash_path);
    if (verdict.state != commit::State::ok || verdict.uncovered_count != 0) {
      throw Violation("verify: " + (verdict.findings.empty()
                                        ? "uncovered data"
                                        : verdict.findings[0].variable + verdict.findings[0].what));
    }
  }

  void crash_again(const Recording& second, const Demand& demand, std::size_t state) {
    CrashDisks disks(second.base, second.log->records(), reach_, options_.second_limits);
    disks.visit([&](const CrashDisk& disk) {
      if (!seen_.insert(digest_of(disk.files) * 37 + state).second) {
        return true;
      }
      ++findings_.counts.second_crashes;
      try {
        demand_all(disk.files, {state, state, demand.first_plain}, false);
      } catch (const std::exception& e) {
        throw Violation("crash in recovery after " + std::to_string(disk.place) +
                        " calls, choice " + disk.choice + ": " + e.what());
      }
      return true;
    });
  }

  /// Another run on the same disk adds a step, and all earlier steps remain.
  void go_on(const std::shared_ptr<storage::MemoryStorage>& storage, const Golden& golden) {
    ++findings_.counts.appended;
    exec::run_local(2, 3, [&](exec::Transport& transport) {
      const std::unique_ptr<commit::Input> there =
          std::make_unique<commit::Input>(transport, *storage, crash_path, Options{});
      File out(detail::open_on(transport, storage, crash_path, Mode::append,
                               {.strategy = there->set() != nullptr ? "auto" : "shared"}));
      std::vector<std::vector<double>> held;
      Step step = out.begin_step();
      for (const commit::InputVariable& known : there->variables()) {
        const model::Definition& d = known.definition;
        const Shape shape(d.shape.begin(), d.shape.end());
        if (there->set() != nullptr && d.name == layout::time_name) {
          continue;  // the index keeps it
        }
        if (d.name.starts_with("VTKHDF_length/")) {
          continue;  // comes with its variable
        }
        const Variable v =
            out.define_raw(d.name, d.type, shape, {.steps = d.stepped, .varying = d.varying});
        if (d.varying) {  // no points, and so of each rank only the end of no cells
          static const std::int64_t none = 0;
          step.put_joined_raw(v, &none, d.name == "VTKHDF/Offsets" ? 1 : 0, d.type);
        } else if (d.stepped && transport.rank() == 1) {
          held.emplace_back(d.shape.volume(), 7.0);
          step.put<double>(v, held.back().data());
        }
      }
      step.end();
      out.close();
    });
    const Snapshot now = sluice_snapshot(storage, crash_path);
    for (const auto& [name, digest] : golden.sluice->items) {
      if (name.starts_with("time float64")) {
        continue;  // grows with the step
      }
      const auto found = now.items.find(name);
      if (found == now.items.end() || found->second != digest) {
        throw Violation("going on changed " + name);
      }
    }
  }

  const Recording& recording_;
  Reach reach_;
  const OracleOptions& options_;
  Findings findings_;
  std::set<std::uint64_t> seen_;
  std::map<std::uint64_t, std::optional<Snapshot>> plain_views_;  // by digest of what it looks at
};

}  // namespace

Findings examine(const Recording& recording, Reach reach, const OracleOptions& options) {
  return Examiner(recording, reach, options).run();
}

}  // namespace sluice::test
