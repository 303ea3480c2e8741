// An output into a set of parts: every group of ranks writes a file of its own, and an index
// combines them.
//
// The sequence of a commit: all ranks agree and check as for one file; each group commits its part,
// all groups at the same time, metadata too; all ranks agree that every part is complete (and, if
// durable, synced); rank 0 writes the index and renames it. Only the rename makes the step visible.
//
// When something fails:
// - before any part was written: nothing has happened;
// - in one group, while others have committed: those parts now hold a row that no index mentions.
//   No reader sees it. The step fails on every rank, and the next one is written behind that row,
//   into the next; the row's space stays lost. The same holds for a process that dies there;
// - writing the index: the same, in all parts;
// - a part or an index of which it is not known what a crash would leave: the set is broken, and
//   every later call fails. Opening it again goes by the index that is there.
// A set that is replaced by a run of Mode::write stays whole until the first commit of that run.
//
// With `split` every group continues in a new part after that many steps or bytes; strategies other
// than file-per-* then have one group of all ranks. With `keep` the index drops the first steps in
// the commit that adds one too many, and the files of parts that nothing refers to any more are
// removed after the next one. A part is closed before its successor is created.
//
// With share_unchanged() a step does not write the variables whose values no rank has changed since
// the step that the index then refers to once more (IndexedSet::shared_lag). What is compared are
// checksums of the last commits of this object (BlockHistory), so after a failure, and after
// opening the set again, everything is written.
//
// Where one group writes in the background (forward), a commit ends when its data has been passed
// on. The thread that publishes the part then writes the index, and only then the commit counts.
// One commit is in flight at a time: the next one waits for it. If it fails, the index is as
// before, and the next one begins a new part.
#pragma once

#include <optional>

#include "commit/output/output.hpp"
#include "commit/parts/block_history.hpp"
#include "commit/parts/parts_index.hpp"
#include "commit/parts/parts_writer.hpp"

namespace sluice::commit {

/// Size: a third of its functions are those of Output.
class PartsOutput final : public Output {
 public:
  /// Collective.
  PartsOutput(exec::Transport& transport, storage::Storage& storage, const std::string& path,
              Opening opening, const Options& options);

  /// Steps refer to values that have not changed. Before the first step, with `keep` and without
  /// splitting. Alike on every rank.
  void share_unchanged() noexcept { shares_unchanged_ = true; }
  /// Collective. Closes the parts under way: they are final, and the next commit makes new ones.
  void finish_parts();
  /// Collective. The set as its index has it.
  layout::PartSet set();
  /// Collective. Writes the index again with other paths of its parts, one a part, durably. Only
  /// of parts that are final.
  void move_parts(const std::vector<std::string>& paths);

  std::string opening_notice() const override {
    return index_ ? index_->opening_notice() : std::string();
  }

 private:
  void accept(const model::Definition& definition) override;
  void accept(const model::Attribute& attribute) override;
  bool broken() const override { return broken_; }
  bool has_unfinished() const override { return false; }
  std::uint64_t carry_out(const FileCommit& commit) override;
  void sync_all() override;
  void finish() override;
  CommitQueue* queue() noexcept override { return is_behind_ ? part_->queue() : nullptr; }
  bool one_at_a_time() const override { return true; }
  void recover() override;
  std::uint64_t steps_left() const override { return steps_left_.value_or(steps()); }
  double waited_s() const override { return part_->waited_s(); }

  void check_fixed(const FileCommit& commit) const;
  void make_part();
  bool is_full() const;
  template <class Work>
  void lasting(Work&& work);
  void turn_over();
  PartsWriter::Announce announce(const FileCommit& commit,
                                 const std::vector<std::uint32_t>& shared);
  std::uint64_t bytes_of_part();
  std::uint64_t publish(const FileCommit& commit, const PartNews& news,
                        const std::vector<std::uint32_t>& shared);
  void give_up() noexcept;
  /// As exec::agree over all ranks, for the outcome in the groups.
  void agree_on(const std::exception_ptr& failure, std::int64_t& extra);
  void sync_part();
  void close_part();

  std::unique_ptr<storage::Storage> alone_;  ///< for the part: never used for calls of all ranks
  std::unique_ptr<exec::Transport> group_;
  std::unique_ptr<exec::Transport> leaders_;  ///< the first ranks of the groups; elsewhere nullptr
  std::unique_ptr<PartsIndex> index_;         ///< rank 0
  /// To be noted in the index before the next commit: one may be in flight.
  std::vector<model::Attribute> attributes_;
  std::uint64_t bytes_behind_ = 0;  ///< rank 0: of the part, by the last commit in the background
  std::unique_ptr<PartsWriter> part_;
  PartsPlace place_;              ///< of this group's next part
  std::uint64_t part_steps_ = 0;  ///< in the present parts
  std::uint64_t part_bytes_ = 0;  ///< of the largest of them
  bool part_has_fixed_ = false;   ///< does one of them contain a fixed variable?
  std::vector<bool> is_written_;  ///< by variable: a fixed one that is committed
  bool is_behind_ = false;        ///< is the part written in the background?
  bool shares_unchanged_ = false;
  BlockHistory history_;                      ///< where unchanged values are shared
  std::vector<model::Block> written_blocks_;  ///< of the current commit, without those
  struct Before {
    std::uint64_t steps = 0;
    std::vector<bool> is_written;
  };
  std::optional<Before> before_;             ///< the last commit, where it was in the background
  std::optional<std::uint64_t> steps_left_;  ///< after it failed, until the next commit
  bool broken_ = false;
};

}  // namespace sluice::commit
