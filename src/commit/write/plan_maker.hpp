// Decides who writes what in a commit: asks the strategy, with what the ranks know of the machine
// and of the earlier commits.
//
// Invariant: the same choice on every rank; the plan that is explained is the plan that is
// executed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "commit/write/choice.hpp"
#include "commit/write/file_variables.hpp"
#include "exec/transport/transport.hpp"
#include "layout/layout.hpp"
#include "plan/plan.hpp"
#include "plan/totals.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

class PlanMaker {
 public:
  /// Collective. Error unsupported if the strategy writes in the background and the storage cannot.
  /// `variables` must outlive the object.
  PlanMaker(exec::Transport& transport, storage::Storage& storage, const FilePlace& place,
            const Options& options, const FileVariables& variables);

  const plan::Strategy& strategy() const noexcept { return strategy_; }
  const plan::WriterChoice& choice() const noexcept { return choice_; }
  const plan::Topology& topology() const noexcept { return topology_; }
  /// Ranks that have the file open for data.
  plan::RankList openers() const { return strategy_.openers(topology_, choice_); }

  /// Is every object written whole, by one rank?
  bool by_objects() const noexcept { return by_objects_; }

  /// Collective if the strategy chooses and the blocks have changed, else local.
  plan::Plan make(const FileCommit& commit, const layout::CommitPlan& placed,
                  std::span<const layout::Portion> portions);
  /// How the tiles of a round are sent to their owners while all ranks wait: in one window of
  /// `window_bytes`.
  plan::Plan make_rounds(const FileCommit& commit, std::span<const layout::Portion> portions,
                         std::uint64_t window_bytes) const;
  /// The totals of executing `plan` on this rank.
  plan::Totals totals(const FileCommit& commit, const layout::CommitPlan& placed,
                      const plan::Plan& plan, std::span<const layout::Portion> portions) const;
  /// Collective. Passes the totals of the commit to the callback: its compressed variables and the
  /// others.
  void explain(const FileCommit& commit, const plan::Totals& encoded, plan::Totals plain,
               bool is_writer) const;

  // -- seconds of writing, by rank 0's clock ------------------------------------------------------
  /// On rank 0: addresses are allocated, and writing begins. Appends the time of the last commit to
  /// the message with the addresses.
  void begin_writing(std::vector<std::byte>& message);
  /// On every rank: removes it from the message.
  void take_root_time(std::vector<std::byte>& message);
  void end_writing();

 private:
  plan::Plan choose(const FileCommit& commit, plan::Input& input, std::int64_t bytes,
                    std::int64_t runs);
  plan::Plan with_objects(plan::Plan plan, const plan::Input& input,
                          const layout::CommitPlan& placed) const;
  std::vector<std::uint64_t> sizes_of(const FileCommit& commit,
                                      std::span<const layout::Portion> portions) const;

  // What the ranks summed up of their blocks when these had that number.
  struct Load {
    std::uint64_t blocks_number = 0;
    std::int64_t bytes = 0;
    std::int64_t runs = 0;
  };

  exec::Transport& transport_;
  const FileVariables& variables_;
  const plan::Strategy& strategy_;
  const plan::MachineRates rates_;
  const plan::WriterChoice choice_;
  const plan::Topology topology_;
  const bool by_objects_;
  bool has_planned_data_ = false;  ///< in any commit so far; the same on every rank
  Load load_;                      ///< the same on every rank
  double began_s_ = 0;             ///< on rank 0: when the addresses were allocated
  double took_s_ = 0;              ///< of the last commit, from then on, if it completed
  std::int64_t root_took_ns_ = 0;  ///< the same, of rank 0; told with the places
};

}  // namespace sluice::commit
