// One file being written by the ranks of one transport: places a commit's blocks, writes them,
// makes them visible. What is to be written was checked before.
//
// Invariants: only rank 0 holds a planner; a commit either succeeds on every rank or throws the
// same Error on every rank and leaves the file as it was; metadata is written only after every
// writer has written (and, if durable, synced) its data; a file that cannot be brought back to its
// last commit is poisoned and must not be written any more; commits on their way whose call has
// returned come into the file even if it is destroyed without close() (within timeout_s).
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "commit/output/output_stats.hpp"
#include "commit/publish/publisher.hpp"
#include "commit/write/fate.hpp"
#include "commit/write/pipeline.hpp"
#include "exec/encode/encode_behind.hpp"
#include "exec/encode/encoded_rounds.hpp"
#include "exec/encode/encoded_write.hpp"
#include "exec/transport/transport.hpp"
#include "exec/write/executor.hpp"
#include "exec/write/ring.hpp"
#include "layout/chunking.hpp"
#include "layout/formats.hpp"
#include "layout/layout.hpp"
#include "plan/plan.hpp"
#include "plan/totals.hpp"
#include "plan/tuner.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

enum class Opening : std::uint8_t { write, create, append };

/// What is to be written in one commit. The same on every rank but for `blocks`.
struct FileCommit {
  bool is_step = false;
  bool is_last = false;  ///< variables that were never written are made too
  bool synced = false;
  double time = 0;
  std::vector<bool> touched;  ///< by variable: does any rank write it?
  /// By variable: of this step, where rows vary; empty: as defined.
  std::vector<model::Dims> shapes = {};
  std::span<const model::Block> blocks;  ///< this rank's
  /// Where an earlier commit had the same number, the blocks of every rank lie as they did then; 0:
  /// not known.
  std::uint64_t blocks_number = 0;
  std::uint32_t rank = 0;                  ///< this one's among all of the output
  const plan::Explain* explain = nullptr;  ///< to be called once the plan is made, if any
  OutputStats* stats = nullptr;            ///< told of waits for the commit; outlives the writer
  /// Of the output's commits so far: consulted, and told, where the strategy leaves a choice. On
  /// every rank or on none.
  plan::Tuner* tuner = nullptr;
};

class FileWriter {
 public:
  /// Collective. transport and storage must outlive the object.
  FileWriter(exec::Transport& transport, storage::Storage& storage, const std::string& path,
             Opening opening, const Options& options);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  const std::string& path() const noexcept { return path_; }
  const layout::Format& format() const noexcept { return *format_; }
  /// The variables of the file, those of an appended one first.
  const std::vector<model::Definition>& definitions() const noexcept { return definitions_; }
  std::uint64_t steps() const noexcept { return steps_; }
  bool poisoned() const noexcept { return poisoned_; }
  /// On rank 0: Lease::notice() of the lease.
  std::string lease_notice() const {
    return publisher_ ? publisher_->lease_notice() : std::string();
  }
  /// Is there a variable that only a last commit would make?
  bool has_unmade() const;
  /// On rank 0, of the last commit: its stamp in the file's log.
  std::int64_t modified_ns() const noexcept { return modified_ns_; }
  /// On rank 0: how long the file is; 0 elsewhere.
  std::uint64_t bytes() const { return publisher_ ? publisher_->file().size() : 0; }

  // -- local, the same on every rank in the same order --------------------------------------------
  void define(const model::Definition& definition);
  void set_attribute(const model::Attribute& attribute);

  // -- collective ---------------------------------------------------------------------------------
  /// Returns the number of the step (of the next one where it is none).
  std::uint64_t commit(const FileCommit& commit);
  /// Everything written so far is on stable storage.
  void sync_all();
  /// A clean end, once nothing is on its way. Nothing may be called afterwards.
  void close();

  // -- commits on their way: strategies that write in the background; local
  // ------------------------
  /// Of the last commit, where it was on its way when commit() returned; else nullptr.
  std::shared_ptr<Fate> last_fate() const { return fate_; }
  /// Moves on what can be moved without waiting.
  void poll();
  /// Until commit `number` is there, or has failed.
  void wait(std::uint64_t number);
  /// Tells the fates of what is settled; moves nothing.
  void absorb();
  /// Seconds that commits have waited for staging memory so far.
  double waited_s() const;
  /// Until nothing is on its way.
  void wait_for_all();
  /// The same, at most so many seconds; true where nothing is left. Throws what a commit met.
  bool wait_at_most(double seconds);
  /// What the first commit met that failed on its way, if this rank knows of one. Then every rank
  /// has to come to recover() before the next commit.
  std::exception_ptr failure_on_way();
  /// Has a ticket told the caller of it?
  bool failure_was_heard() const { return *heard_; }
  /// Collective. Forgets the commits that failed on their way, and those after them.
  void recover();
  /// Local: another rank does not answer any more, so that it is not worth waiting for.
  void lose_others() noexcept { lost_others_ = true; }

 private:
  struct Tiles {
    model::Dims tile;  ///< empty rank where not chosen yet
    bool chosen = false;
    bool made = false;  ///< is the variable in the file?
    codec::Pipeline pipeline = {};
  };

  void open(Opening opening);
  /// Returns the path under which the file is now.
  std::string adopt(std::span<const std::byte> message);
  std::unique_ptr<layout::Planner> plan_file(bool fresh);
  storage::File& file_to_plan();
  void refuse_together(const layout::Format& format) const;
  void drop_later_steps(layout::Planner& planner);
  void choose_tiles(const FileCommit& commit);
  const model::Dims& shape_of(const FileCommit& commit, std::uint32_t variable) const;
  const model::Dims& tile_of(const FileCommit& commit, std::uint32_t variable) const;
  std::vector<layout::Portion> cut_blocks(const FileCommit& commit) const;
  layout::CommitRequest request_for(const FileCommit& commit, std::uint64_t words);
  layout::CommitPlan place(const FileCommit& commit, std::uint64_t words);
  void reserve(const layout::CommitPlan& plan);
  bool has_encoded(const FileCommit& commit) const;
  std::vector<exec::EncodedVariable> encoded_variables(const FileCommit& commit) const;
  /// Takes the portions of encoded variables out of `portions`.
  std::vector<layout::Portion> take_encoded(const FileCommit& commit,
                                            std::vector<layout::Portion>& portions) const;
  exec::EncodedResult write_encoded(const FileCommit& commit, const layout::CommitPlan& placed,
                                    std::span<const layout::Portion> portions);
  plan::Plan make_plan(const FileCommit& commit, const layout::CommitPlan& placed,
                       std::span<const layout::Portion> portions,
                       const exec::EncodedResult& encoded);
  plan::Plan choose_plan(const FileCommit& commit, plan::Input& input, std::int64_t bytes,
                         std::int64_t runs);
  void explain(const FileCommit& commit, const layout::CommitPlan& placed, const plan::Plan& plan,
               const plan::Input& input, const exec::EncodedResult& encoded) const;
  void prefill(const layout::CommitPlan& plan, const plan::Plan& who);
  void fill_tiles(const layout::Placement& placement, const model::Definition& definition,
                  const plan::Plan& who);
  void fill_own_tiles(storage::File& file, const layout::Placement& placement,
                      const model::Definition& definition, const plan::TileMap& map) const;
  void write(const FileCommit& commit, const layout::CommitPlan& placed, const plan::Plan& who,
             std::span<const layout::Portion> portions, std::uint64_t first_word,
             std::span<const std::uint64_t> earlier_words);
  void sync_own();
  void publish(bool synced);
  void give_up();
  // file_writer_background.cpp
  void open_pipeline();
  void bring_ended() noexcept;
  void end_pipeline() noexcept;
  void share_ring(const plan::Plan& who, std::uint64_t commits);
  void drop_ring();
  void wait_for_room();
  void begin_background(const plan::Plan& who, bool is_step);
  void agree_in_background(const std::exception_ptr& failure, bool synced);
  void publish_in_background(const FileCommit& commit);
  void prefill_in_background(const layout::CommitPlan& placed, const plan::Plan& who);
  void forget_failed();
  void renew_own(const std::string& present_path);
  // file_writer_behind.cpp
  /// What a commit that is encoded behind the call needs to know, the same on every rank.
  struct Behind {
    exec::EncodedRounds rounds;
    layout::CommitPlan plain;  ///< stand-ins of what is not encoded
    plan::Plan who;            ///< of that
  };
  /// Those of a commit, all that go into this file together.
  struct Staged {
    std::span<const layout::Portion> plain;
    std::span<const layout::Portion> encoded;
    std::uint64_t first_word = 0;
    std::uint64_t words = 0;  ///< of all ranks
  };
  void number_words(const FileCommit& commit, std::uint64_t words);
  std::uint64_t commit_now(const FileCommit& commit, const Staged& staged);
  void wait_until_placed();
  std::shared_ptr<const Behind> plan_behind(const FileCommit& commit, const Staged& staged);
  layout::CommitPlan stand_ins(const FileCommit& commit, std::uint64_t words) const;
  void commit_behind(const FileCommit& commit, const std::shared_ptr<const Behind>& behind,
                     const Staged& staged);
  void begin_placing(const FileCommit& commit, const Behind& behind, const Staged& staged);
  std::shared_ptr<exec::EncodeBehind> make_encoder(const std::shared_ptr<const Behind>& behind);
  std::exception_ptr bring_encoded(const FileCommit& commit, const Behind& behind,
                                   const Staged& staged,
                                   const std::shared_ptr<exec::EncodeBehind>& encoder,
                                   std::vector<std::uint64_t>& words);
  std::exception_ptr bring_plain(const FileCommit& commit, const Behind& behind,
                                 const Staged& staged,
                                 const std::shared_ptr<exec::EncodeBehind>& encoder,
                                 std::span<const std::uint64_t> words);
  void release_plain(const std::shared_ptr<const Behind>& behind,
                     const std::shared_ptr<exec::EncodeBehind>& encoder);
  void end_round(const std::shared_ptr<exec::EncodeBehind>& encoder, bool is_last);
  bool has_thread() const { return storage_.in_background() && transport_.runs_at_once(); }
  void tell_planner(std::function<void(layout::Planner&)> what);
  void tell_planner_what_waits(std::uint64_t number);

  exec::Transport& transport_;
  storage::Storage& storage_;
  std::string path_;
  Options options_;
  const layout::Format* format_ = nullptr;
  const plan::Strategy& strategy_;
  plan::WriterChoice choice_;
  plan::Topology topology_;
  plan::MachineRates rates_;        ///< asked for where the strategy looks at it
  bool has_planned_data_ = false;   ///< the same
  double chose_s_ = 0;              ///< on rank 0: when it had chosen places
  double took_s_ = 0;               ///< of the last commit, from then on, if it came to its end
  std::int64_t root_took_ns_ = 0;   ///< the same, of rank 0; told with the places
  std::uint64_t writers_ = 1;       ///< ranks that have the file open for data
  std::uint64_t writer_index_ = 0;  ///< of this rank among them, where it is one

  // What the ranks told each other of their blocks when these had that number.
  struct Words {
    std::uint64_t blocks_number = 0;
    std::uint64_t first = 0;  ///< checksum words of the ranks below this one
    std::uint64_t all = 0;
  };
  struct Load {
    std::uint64_t blocks_number = 0;
    std::int64_t bytes = 0;
    std::int64_t runs = 0;
  };
  Words words_;
  Load load_;  ///< where the strategy looks at it

  std::vector<model::Definition> definitions_;
  std::vector<std::uint64_t> name_hashes_;
  std::vector<Tiles> tiles_;
  std::uint64_t steps_ = 0;
  std::int64_t modified_ns_ = 0;
  bool poisoned_ = false;
  bool lost_others_ = false;

  std::unique_ptr<Publisher> publisher_;      ///< rank 0
  std::unique_ptr<layout::Planner> planner_;  ///< rank 0
  layout::MetadataUpdate update_;             ///< rank 0: of the commit under way
  std::unique_ptr<ReopenableFile> own_file_;
  storage::File* file_ = nullptr;  ///< for data, on writers: the publisher's or own_file_
  exec::Buffers buffers_;

  /// A commit on its way, and what there was before it.
  struct OnWay {
    std::shared_ptr<Fate> fate;
    std::uint64_t steps = 0;
    std::vector<bool> made;
  };
  std::unique_ptr<storage::File> planner_file_;  ///< rank 0: the pipeline uses the publisher's
  std::unique_ptr<Pipeline> pipeline_;           ///< in the background only; before buffers_ ends
  bool ring_is_refused_ = false;
  bool encodes_behind_ = false;  ///< was there ever a commit that is encoded behind the call?
  std::uint64_t number_ = 0;     ///< of the commit under way
  std::deque<OnWay> on_way_;
  std::shared_ptr<Fate> fate_;
  std::shared_ptr<bool> heard_ = std::make_shared<bool>(false);
  double waited_s_ = 0;  ///< besides what the buffers know themselves

  // Of commits that are encoded behind the call.
  std::mutex planner_mutex_;  ///< rank 0: its planner is used by two threads then
  /// What the planner must be told before it plans commit `first`.
  std::deque<std::pair<std::uint64_t, std::function<void(layout::Planner&)>>> waiting_to_be_told_;
  std::uint64_t last_behind_ = 0;            ///< number of the last such commit
  std::atomic<std::uint64_t> answered_ = 0;  ///< on writers: the last whose places have come
  OutputStats* stats_ = nullptr;
};

}  // namespace sluice::commit
