// Rank 0's part of a file: its planner, who may use it when, and the publisher.
//
// Invariants: the planner is used by one thread at a time; between the first and the last round of
// a commit with compressed variables nothing else is planned, and definitions made meanwhile are
// passed to the planner just before the commit after it (tell, replay); the publishing code passes
// metadata to the publisher in the order of the commits.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commit/publish/agreed_path.hpp"
#include "commit/publish/publisher.hpp"
#include "commit/write/file_commit.hpp"
#include "exec/encode/round_encoder.hpp"
#include "layout/formats/formats.hpp"
#include "layout/layout.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// Error unsupported if the format consists of many files and the storage opens files with all
/// ranks.
void refuse_together(const storage::Storage& storage, const std::string& path,
                     const layout::Format& format);

/// A commit whose data lie within so many bytes is small: it is written through the page cache, and
/// if it is durable, rank 0 syncs it together with its journal.
inline constexpr std::uint64_t most_small_bytes = 4 << 20;

class CommitPlanner {
 public:
  /// What rank 0 passes to the publisher.
  struct Update {
    layout::MetadataUpdate metadata;
    std::int64_t modified_ns = 0;
    /// The new space of a small commit: the publisher syncs it together with its journal, and no
    /// writer does before.
    std::optional<layout::Extent> unsynced = {};
  };
  /// A commit that is planned in the background: in its first round, and framed in its last, when
  /// the sizes of all compressed tiles are known.
  struct Rounds {
    layout::CommitRequest request;
    std::uint64_t rounds = 0;
    bool is_last = false;         ///< variables that were never written are created too
    bool may_sync_later = false;  ///< as for plan()
    /// Not before the commit is decided: the ranks that are still in the call need the cores.
    bool when_decided = false;
  };

  /// Creates the file, or opens it to append. `has_own_file`: the planner reads through a
  /// descriptor of its own, because the publisher's is used by another thread.
  CommitPlanner(storage::Storage& storage, const FilePlace& place, Opening opening,
                const Options& options, std::uint64_t writers, bool has_own_file);
  ~CommitPlanner();
  CommitPlanner(const CommitPlanner&) = delete;
  CommitPlanner& operator=(const CommitPlanner&) = delete;

  /// What the other ranks need to know of the file: its present path, then what
  /// FileVariables::read_from reads.
  std::vector<std::byte> known() const;
  Publisher& publisher() noexcept { return *publisher_; }
  /// The stamp of the last commit that was planned.
  std::int64_t modified_ns() const noexcept { return modified_ns_; }

  /// `what` is passed to the planner before commit `before` is planned; 0: at once.
  void tell(std::function<void(layout::Planner&)> what, std::uint64_t before);
  /// Passes on what was deferred for commits up to `number`.
  void replay(std::uint64_t number = layout::absent);

  /// Sets the request's stamp.
  void stamp(layout::CommitRequest& request);
  /// Plans and seals a commit without compressed variables, and preallocates its space.
  /// `may_sync_later`: it is to be durable, all ranks are on this node, so that one sync covers
  /// what they wrote, and nothing earlier waits for one. If it is small, `update` has `unsynced`
  /// then.
  layout::CommitPlan plan(const layout::CommitRequest& request, bool is_last, bool may_sync_later,
                          Update& update);
  /// One round of commit `number`, in order: addresses of its compressed tiles, and `update` in the
  /// last one.
  exec::RoundPlaces place(std::uint64_t number, const Rounds& rounds, std::uint64_t round,
                          std::span<const layout::EncodedTile> tiles, Update& update);
  /// The update of the last commit is being written, and the next is planned on top of it.
  void planned();
  /// The oldest commit that was planned is in the file.
  void committed();
  /// Discards everything that is not committed; returns the present path of the file.
  std::string abandon();
  void close();

 private:
  std::unique_ptr<layout::Planner> open(Opening opening, const Options& options,
                                        const layout::PlannerOptions& settings, bool has_own_file);
  storage::File& file_to_plan(bool has_own_file);
  void drop_later_steps(layout::Planner& planner, const Options& options);
  void replay_locked(std::uint64_t number);
  void note_end(const layout::MetadataUpdate& update);
  void reserve(const layout::CommitPlan& plan);

  storage::Storage& storage_;
  const std::string path_;
  std::unique_ptr<Publisher> publisher_;
  std::unique_ptr<storage::File> own_file_;   ///< the planner's
  std::unique_ptr<storage::File> view_;       ///< of the publisher's, if the planner has none
  std::unique_ptr<layout::Planner> planner_;  ///< reads through one of the two above
  std::uint64_t planned_end_ = 0;             ///< of what was planned last
  std::int64_t modified_ns_ = 0;
  std::mutex mutex_;  ///< of the planner, and:
  std::deque<std::pair<std::uint64_t, std::function<void(layout::Planner&)>>> deferred_;
};

}  // namespace sluice::commit
