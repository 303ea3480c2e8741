// What the crash tests write, and the content of the file after every commit.
//
// To add a strategy or a format: a row (row.hpp). To add a way of writing: an entry in scenarios().
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <sluice/sluice.hpp>
#include <string>
#include <vector>

#include "crash/disk.hpp"
#include "crash/row.hpp"
#include "crash/snapshot.hpp"
#include "exec/transport/transport.hpp"
#include "support/memory_storage.hpp"
#include "support/recording_storage.hpp"

namespace sluice::test {

inline const std::string crash_path = "out.h5";

/// The content of the file at one moment. Empty for both: there is no such file. Empty for Sluice
/// alone: it refuses the file, because a journal beside it does not match.
struct Golden {
  std::optional<Snapshot> plain;
  std::optional<Snapshot> sluice;
  std::optional<Snapshot> unspoilt;  ///< the view of Sluice once that journal is gone
};

/// One run, recorded: the log, and what must be there when.
struct Recording {
  Files base;
  std::shared_ptr<storage::MemoryStorage> disk;
  std::shared_ptr<storage::Log> log = std::make_shared<storage::Log>();
  std::vector<Golden> golden;     ///< first: before the run; then after every commit
  std::vector<std::size_t> acks;  ///< records when commit i was acknowledged, for golden[i + 1]
  /// Records when commit i could be acknowledged at the earliest: its journal is synced, or it has
  /// its name. A thread may do the rest.
  std::vector<std::size_t> durable;
  std::size_t first_place = 0;  ///< crashes before promise nothing (durability::close)
  /// Several commits are on their way at once: records when each was begun, and `golden` is of a
  /// run that waited for each. Else empty.
  std::vector<std::size_t> begun;
  bool is_in_flight = false;
  /// Commits are put in place later; `golden` is of a run that did so at once.
  bool is_deferred = false;

  /// Without /sluice, which tells one run from another, where `golden` is of another.
  std::optional<Snapshot> comparable(std::optional<Snapshot> plain) const;
};

/// The arguments of a scenario's body on each rank.
class Writer {
 public:
  Writer(exec::Transport& transport, std::shared_ptr<storage::Storage> storage, const Row& row,
         Recording& recording)
      : transport_(transport),
        storage_(std::move(storage)),
        recording_(recording),
        options_(row.options()),
        compress_(row.compress) {}

  int rank() const { return transport_.rank(); }
  int ranks() const { return transport_.size(); }
  Options& options() { return options_; }
  VariableOptions in_steps() const { return {.steps = true, .unit = "1", .compress = compress_}; }
  File open(Mode mode);
  /// Puts this rank's slab of `name`, with values that depend on `key`.
  template <class Target>
  void put(Target& target, Variable variable, std::uint64_t key, const Shape& shape);
  /// Before a collective call whose commit is not waited for.
  void begins();
  /// After each collective call that committed; or, if several are in flight, when the next of them
  /// is known to be durable.
  void committed();
  /// Earlier crashes are not considered.
  void promise_begins();
  /// The reader must get the values that a scenario put.
  void expect(const std::string& name, std::uint64_t key, const Shape& shape, std::uint64_t step);

 private:
  exec::Transport& transport_;
  std::shared_ptr<storage::Storage> storage_;
  Recording& recording_;
  Options options_;
  std::string compress_;
  std::size_t begun_ = 0;
  std::size_t commits_ = 0;
  std::vector<std::vector<double>> held_;
};

struct Scenario {
  std::string name;
  std::function<void(Writer&)> before;  ///< creates the existing content; may be empty
  std::function<void(Writer&)> body;
  /// Changes the storage by hand between `before` and `body`; may be empty.
  std::function<void(storage::MemoryStorage&)> spoil = {};
  /// The same commits, each waited for, if `body` does not; else empty.
  std::function<void(Writer&)> one_by_one = {};
  std::string format = {};     ///< the only one in which it means something; empty: all
  bool fills_journal = false;  ///< only where that is put in place when it is full
};
const std::vector<Scenario>& scenarios();
const Scenario& scenario_named(const std::string& name);

/// Wraps the storage of a rank, e.g. with a bug or with faults.
using Wrap =
    std::function<std::shared_ptr<storage::Storage>(std::shared_ptr<storage::Storage>, int rank)>;

inline constexpr int crash_ranks = 4;

/// Runs a scenario on four ranks and records it.
Recording record(const Scenario& scenario, const Row& row, std::uint64_t seed,
                 const Wrap& wrap = {});

/// Is there a file, or a store with a commit?
bool is_there(storage::MemoryStorage& storage, const std::string& path = crash_path);
/// The present content of a storage, each by its own reader.
Golden golden_of(const std::shared_ptr<storage::MemoryStorage>& storage);
/// What plain libhdf5 sees, the parts of a set beside the index too. Nothing where it refuses the
/// file or any part of it: plain libhdf5 takes a part that it refuses for one that is missing.
std::optional<Snapshot> plain_view(const storage::MemoryStorage& storage);

}  // namespace sluice::test
