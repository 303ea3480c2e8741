// Crash images of runs of Checkpoint: what each disk that a crash may leave gives back to the run
// that is started again, with the storage of the nodes and without it.
#pragma once

#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "checkpoint/states.hpp"
#include "codec/checksum.hpp"
#include "crash/disk.hpp"
#include "support/recording_storage.hpp"
#include "support/world.hpp"

namespace sluice::test {

inline const std::string node_folder = "node";

inline bool is_on_node(const std::string& path) { return path.rfind(node_folder + "/", 0) == 0; }

inline std::size_t parts_on_nodes(const storage::MemoryStorage& storage) {
  const auto paths = storage.paths();
  return static_cast<std::size_t>(std::count_if(paths.begin(), paths.end(), is_on_node));
}

inline std::shared_ptr<storage::MemoryStorage> without_nodes(
    const storage::MemoryStorage& storage) {
  auto left = storage.clone();
  for (const std::string& path : left->paths()) {
    if (is_on_node(path)) {
      left->remove(path);
    }
  }
  return left;
}

/// How checkpoints are saved, and with which keys: by 2 ranks, which are killed, then by 3.
struct Way {
  CheckpointOptions options;
  std::array<std::vector<std::uint64_t>, 2> keys;
  bool stays = false;      ///< has the state parts that do not change?
  int ranks_per_node = 0;  ///< 0: all on one

  bool has_nodes() const { return !options.scratch.empty(); }
  bool is_behind() const { return options.file.strategy == "forward"; }
};

inline CheckpointOptions with_scratch(std::uint64_t keep = 2) {
  CheckpointOptions options;
  options.keep = keep;
  options.scratch = node_folder;
  options.file.ranks_per_node = 1;  // each rank has storage of its own
  return options;
}

inline CheckpointOptions incremental(std::uint64_t keep = 2,
                                     const std::string& strategy = "shared") {
  CheckpointOptions options;
  options.keep = keep;
  options.incremental = true;
  options.file.strategy = strategy;
  options.file.log = Log::off;
  return options;
}

inline Way scratch_way() { return {.options = with_scratch(), .keys = {{{1, 2, 3, 4}, {5, 6}}}}; }

inline Way incremental_way(const std::string& strategy) {
  return {.options = incremental(2, strategy),
          .keys = {{{1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12}}},
          .stays = true};
}

/// What holds from a number of records on.
struct Mark {
  std::size_t records = 0;
  std::uint64_t begun = 0;    ///< the newest checkpoint that may be there
  std::uint64_t saved = 0;    ///< the newest that is there while the nodes are
  std::uint64_t drained = 0;  ///< the newest that is there without them
};

struct Recorded {
  std::shared_ptr<storage::MemoryStorage> disk = storage::make_memory();
  std::shared_ptr<storage::Log> log = std::make_shared<storage::Log>();
  std::vector<Mark> marks{Mark{}};

  void note(exec::Transport& transport, const std::function<void(Mark&)>& change) {
    if (transport.rank() == 0) {
      Mark mark = marks.back();
      mark.records = log->records().size();
      change(mark);
      marks.push_back(mark);
    }
  }
  const Mark& at(std::size_t place) const {
    return *std::prev(
        std::upper_bound(marks.begin(), marks.end(), place,
                         [](std::size_t p, const Mark& mark) { return p < mark.records; }));
  }
};

using Wrapper = std::function<std::shared_ptr<storage::Storage>(std::shared_ptr<storage::Storage>)>;

/// Restores, then saves `keys`; after some of them it waits until they are drained.
inline void record_run(const Way& way, Recorded& run, int ranks,
                       const std::vector<std::uint64_t>& keys, std::uint64_t seed,
                       const Wrapper& wrap) {
  exec::run_local(ranks, seed,
                  [&](exec::Transport& transport) {
                    std::shared_ptr<storage::Storage> storage =
                        std::make_shared<storage::RecordingStorage>(run.disk, run.log,
                                                                    transport.rank());
                    storage = wrap ? wrap(storage) : storage;
                    Checkpoint checkpoint = open_checkpoint(transport, storage, way.options);
                    RankState state(transport.rank(), transport.size(), way.stays);
                    state.add_to(checkpoint);
                    checkpoint.restore();
                    run.note(transport, [](Mark& mark) { mark.drained = mark.saved; });
                    for (const std::uint64_t key : keys) {
                      state.set(key);
                      run.note(transport, [&](Mark& mark) { mark.begun = key; });
                      ASSERT_TRUE(checkpoint.save(0.5 * static_cast<double>(key)));
                      run.note(transport, [&](Mark& mark) {
                        mark.drained = mark.saved;  // the one before: saving waits for it
                        mark.saved = way.is_behind() ? mark.saved : key;
                      });
                      checkpoint.due();
                      if (key % 3 == 0 || way.is_behind()) {
                        ASSERT_TRUE(checkpoint.drain(100));
                        run.note(transport, [&](Mark& mark) { mark.saved = mark.drained = key; });
                      }
                    }
                    if (ranks != 2) {  // else it is killed before the last one is drained
                      checkpoint.close();
                      run.note(transport, [](Mark& mark) { mark.drained = mark.saved; });
                    }
                  },
                  {.ranks_per_node = way.ranks_per_node});
}

inline Recorded record_all(const Way& way, std::uint64_t seed, const Wrapper& wrap = {}) {
  Recorded run;
  record_run(way, run, 2, way.keys[0], seed, wrap);
  record_run(way, run, 3, way.keys[1], seed + 1, wrap);
  return run;
}

struct ImageCounts {
  std::uint64_t disks = 0;      ///< examined
  std::uint64_t repeated = 0;   ///< seen before, with the same requirement
  std::uint64_t fallbacks = 0;  ///< to the last drained one
  std::vector<std::string> violations;
};

/// What one finds who restores: the number of the checkpoint, 0 for none.
inline std::uint64_t restored_from(const Way& way,
                                   const std::shared_ptr<storage::MemoryStorage>& storage,
                                   int ranks) {
  std::uint64_t number = 0;
  on_ranks(ranks, [&](exec::Transport& transport) {
    CheckpointOptions options = way.options;
    options.file.log = Log::off;
    Checkpoint checkpoint = open_checkpoint(transport, storage, options);
    RankState state(transport.rank(), transport.size(), way.stays);
    state.add_to(checkpoint);
    const Restored restored = checkpoint.restore();
    if (restored) {
      const auto key = static_cast<std::uint64_t>(2 * restored.time);
      EXPECT_EQ(key, restored.number);
      state.expect(key, restored.kept.empty());
    }
    if (transport.rank() == 0) {
      number = restored.number;
    }
  });
  return number;
}

/// Demands of the disks that crashes of a run may leave that the newest checkpoint found is one of
/// those that a Mark allows.
class DiskExaminer {
 public:
  explicit DiskExaminer(const Way& way) : way_(way) {}

  /// `what`: which nodes are there. The newest has the number `least` at least.
  void demand(const CrashDisk& disk, const Files& files, const Mark& mark, std::uint64_t least,
              const std::string& what) {
    const std::uint64_t requirement[] = {least, mark.saved, mark.begun};
    codec::Checksum digest;
    digest.update(std::as_bytes(std::span(requirement)));
    for (const auto& [path, bytes] : files) {
      const std::uint64_t of_bytes = digest_of(bytes);
      digest.update(std::as_bytes(std::span(path)));
      digest.update(std::as_bytes(std::span(&of_bytes, 1)));
    }
    if (!seen_.insert(digest.value()).second) {
      ++counts_.repeated;
      return;
    }
    ++counts_.disks;
    const std::string wrong = problem_of(files, mark, least);
    if (!wrong.empty()) {
      counts_.violations.push_back(what + " after " + std::to_string(disk.place) + " calls, " +
                                   disk.choice + ": " + wrong);
    }
  }
  const ImageCounts& counts() const { return counts_; }

 private:
  /// Most files of a disk are those of the one before.
  std::uint64_t digest_of(const std::shared_ptr<const Bytes>& bytes) {
    const auto [known, is_new] = digests_.try_emplace(bytes.get());
    if (is_new) {
      known->second = {bytes, codec::checksum(*bytes)};  // kept, so that the address stays its own
      if (digests_.size() > most_digests) {
        const std::uint64_t digest = known->second.second;
        digests_.clear();
        return digest;
      }
    }
    return known->second.second;
  }

  /// "" if there is none.
  std::string problem_of(const Files& files, const Mark& mark, std::uint64_t least) {
    const auto at = storage::make_memory();
    for (const auto& [path, bytes] : files) {
      at->put(path, *bytes);
    }
    std::string found;
    try {
      const std::uint64_t number = restored_from(way_, at, 1 + static_cast<int>(counts_.disks % 2));
      if (number >= least && number <= mark.begun) {
        counts_.fallbacks += number < mark.saved ? 1 : 0;
        return counts_.disks % goes_on_every == 0 ? problem_of_going_on(at, number) : "";
      }
      found = std::to_string(number);
    } catch (const Error& e) {
      if (least == 0 && (e.code() == Code::not_found || e.code() == Code::damaged)) {
        return "";  // nothing had been promised yet, and it says so
      }
      found = e.what();
    }
    return "found " + found + ", not " + std::to_string(least) + " to " +
           std::to_string(mark.begun);
  }

  std::string problem_of_going_on(const std::shared_ptr<storage::MemoryStorage>& at,
                                  std::uint64_t number) {
    save_keys(2, at, {number + 1}, way_.options, way_.stays);
    const std::uint64_t next = restored_from(way_, without_nodes(*at), 1);
    return next == number + 1 ? "" : "goes on to " + std::to_string(next);
  }

  static constexpr std::uint64_t goes_on_every = 16;
  static constexpr std::size_t most_digests = 1000;

  const Way& way_;
  ImageCounts counts_;
  std::set<std::uint64_t> seen_;
  std::map<const Bytes*, std::pair<std::shared_ptr<const Bytes>, std::uint64_t>> digests_;
};

/// A line of the battery (tests/crash/reliability.py).
inline void report(const std::string& what, const ImageCounts& counts) {
  std::printf("T1c %s: %llu disks, %llu gave the last drained one, %zu violations; %llu repeated\n",
              what.c_str(), static_cast<unsigned long long>(counts.disks),
              static_cast<unsigned long long>(counts.fallbacks), counts.violations.size(),
              static_cast<unsigned long long>(counts.repeated));
  std::fflush(stdout);
}

inline ImageCounts examine(const Way& way, const Recorded& run, Reach reach, std::uint64_t seed,
                           std::size_t most_violations) {
  DiskLimits limits{.all_up_to = 4, .random = 3, .pairs = 3, .torn = 3, .per_place = 1};
  if (is_long()) {
    limits = {.all_up_to = 8, .random = 30, .pairs = 30, .torn = 10, .per_place = 8};
  }
  limits.seed = seed;
  DiskExaminer examiner(way);
  CrashDisks disks({}, run.log->records(), reach, limits);
  disks.visit([&](const CrashDisk& disk) {
    constexpr std::size_t every = 4;  // place, in short runs
    if (!is_long() && disk.place % every != 0) {
      return true;
    }
    const Mark& mark = run.at(disk.place);
    examiner.demand(disk, disk.files, mark, mark.saved, "nodes there");
    if (way.has_nodes()) {
      Files left = disk.files;
      std::erase_if(left, [](const auto& file) { return is_on_node(file.first); });
      examiner.demand(disk, left, mark, mark.drained, "nodes lost");
    }
    return examiner.counts().violations.size() < most_violations;
  });
  return examiner.counts();
}

}  // namespace sluice::test
