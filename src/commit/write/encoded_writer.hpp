// Commits with compressed variables. The ranks send dense tiles to their owners at provisional
// addresses, round by round; owners encode, rank 0 allocates addresses by the sizes, owners write.
//
// Sizes and addresses are sent in one of two ways. write_now(): by one gather and one broadcast a
// round, while all ranks wait; uncompressed data follows when its addresses are known.
// write_behind(): by the tracker, after the call has returned; uncompressed data goes to
// provisional addresses too, and from there to its final ones.
//
// Invariants: a failure of one rank in a round is reported to every rank in its answer; an owner
// holds the tiles of one round.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "commit/write/background_queue.hpp"
#include "commit/write/commit_planner.hpp"
#include "commit/write/data_writer.hpp"
#include "commit/write/plan_maker.hpp"
#include "exec/encode/background_encoder.hpp"
#include "exec/encode/encoded_rounds.hpp"
#include "exec/encode/round_encoder.hpp"

namespace sluice::commit {

class EncodedWriter {
 public:
  struct Config {
    exec::Transport& transport;
    const FileVariables& variables;
    PlanMaker& plans;
    DataWriter& data;
    CommitQueue& queue;
    BackgroundQueue* background;  ///< `queue`, if it is one, else null
    CommitPlanner* planner;       ///< that of rank 0, else null
    std::string path;
    bool checksum;
  };
  /// What is given must outlive the object.
  explicit EncodedWriter(const Config& config) : config_(config) {}

  /// Of write_now().
  struct Written {
    layout::CommitPlan placed;         ///< of what is not compressed
    std::vector<std::uint64_t> words;  ///< checksum records of what is
    plan::Totals totals;               ///< if the commit is to be explained
    std::exception_ptr failure;        ///< of this rank's last writes; for CommitQueue::arrive
  };
  /// Collective. Nothing is in flight. `update`: that of the commit, on rank 0.
  Written write_now(const FileCommit& commit, const StagedCommit& staged,
                    CommitPlanner::Update& update);

  /// The data of a commit that is encoded in the background, the same on every rank.
  struct Behind {
    exec::EncodedRounds rounds;
    layout::CommitPlan plain;  ///< provisional addresses of what is not encoded
    plan::Plan who;            ///< of that
  };
  /// Collective. Null if the commit cannot be planned in the background: because of the queue, of
  /// the format, because it is too large for memory between nodes, where a round needs all ranks,
  /// or, where nothing is to be encoded, because it is not small.
  std::shared_ptr<const Behind> plan_behind(const FileCommit& commit, const StagedCommit& staged);
  /// Collective. Begins the commit in the queue, and sends all bytes. `may_sync_later`:
  /// as for CommitPlanner::plan(). Returns this rank's failure, for CommitQueue::arrive.
  std::exception_ptr write_behind(const FileCommit& commit, const StagedCommit& staged,
                                  const std::shared_ptr<const Behind>& behind, bool may_sync_later);
  /// This rank is about to leave the call of its last write_behind().
  void end_call();

 private:
  /// Of this rank, in one round.
  struct Parts {
    std::vector<layout::Portion> portions;
    std::vector<plan::TileOwners::Tile> tiles;
  };
  using Encoder = std::shared_ptr<exec::BackgroundEncoder>;

  std::vector<Parts> parts_of(const FileCommit& commit, const StagedCommit& staged,
                              const exec::EncodedRounds& rounds) const;
  exec::EncodedRounds rounds_in(const FileCommit& commit, std::uint64_t room_bytes) const;
  exec::EncodedRounds rounds_now(const FileCommit& commit) const;
  CommitPlanner::Rounds planning_of(const FileCommit& commit, const StagedCommit& staged,
                                    const exec::EncodedRounds& rounds) const;
  plan::Totals totals_of(const FileCommit& commit, const exec::EncodedRounds& rounds,
                         const std::vector<Parts>& parts, plan::Plan who) const;
  /// Sends the dense bytes of a round to `file`, or into the memory of `encoder`.
  std::exception_ptr bring(const FileCommit& commit, const exec::EncodedRounds& rounds,
                           std::uint64_t round, const Parts& parts, plan::Plan& who,
                           storage::File* file, exec::RoundEncoder* encoder,
                           std::vector<std::uint64_t>& words);
  exec::RoundPlaces exchange(const CommitPlanner::Rounds& rounds, std::uint64_t round,
                             const exec::RoundSizes& mine, CommitPlanner::Update& update);
  exec::RoundEncoder::Config encoder_config() const;
  Encoder make_encoder(std::uint64_t number, const std::shared_ptr<const Behind>& behind) const;
  void wait_for_end_of_call(const Encoder& encoder, std::uint64_t held_bytes);
  void end_round(std::uint64_t number, const Encoder& encoder, bool is_last);
  void release_plain(const std::shared_ptr<const Behind>& behind, const Encoder& encoder);

  const Config config_;
  std::weak_ptr<exec::BackgroundEncoder> last_encoder_;
};

}  // namespace sluice::commit
