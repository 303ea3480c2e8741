// A file being written: collects what a step puts, carries it out, makes it visible.
//
// Invariants: only rank 0 holds a planner; a commit either succeeds on every rank or throws the
// same Error on every rank and leaves the file as it was; metadata is written only after every
// writer has written (and, if durable, synced) its data; the file is complete and looks closed
// between commits; a file that cannot be brought back to its last commit is poisoned: every later
// call fails.
#pragma once

#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "commit/publisher.hpp"
#include "exec/executor.hpp"
#include "exec/rows.hpp"
#include "exec/transport.hpp"
#include "layout/chunking.hpp"
#include "layout/layout.hpp"
#include "plan/plan.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

enum class Opening : std::uint8_t { write, create, append };

/// What a commit did on all ranks together.
struct Receipt {
  std::uint64_t step = 0;
  bool durable = false;
};

class Output {
 public:
  /// Collective. transport and storage must outlive the object.
  Output(exec::Transport& transport, storage::Storage& storage, const std::string& path,
         Opening opening, const Options& options);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  const std::string& path() const noexcept { return path_; }
  const std::vector<model::Definition>& definitions() const noexcept { return definitions_; }
  std::uint64_t steps() const noexcept { return steps_; }
  bool in_step() const noexcept { return in_step_; }

  // -- local; failures are thrown here and, again, by the next commit on every rank ---------------
  std::uint32_t define(const model::Definition& definition);
  void set_attribute(const model::Attribute& attribute);
  void begin_step(double time);
  void put(const model::Block& block);
  void put_rows(const exec::Rows& rows);
  /// Remembers a failure of this rank: the next commit fails on every rank with it.
  void fail(const std::exception_ptr& failure) noexcept;

  // -- collective ---------------------------------------------------------------------------------
  Receipt end_step();
  Receipt flush();
  void close();

 private:
  struct Tiles {
    model::Dims tile;  ///< empty rank where not chosen yet
    bool chosen = false;
    bool made = false;  ///< is the variable in the file?
  };
  struct Touch {
    bool blocks = false;
    bool rows = false;
  };

  void open(Opening opening);
  /// Returns the path under which the file is now.
  std::string adopt(std::span<const std::byte> message);
  void require_open() const;
  template <class Work>
  void local(Work&& work);

  Receipt commit(bool is_step, bool is_last);
  bool has_work(const std::vector<Touch>& touched, bool is_step, bool is_last) const;
  void sync_own();
  void sync_all();
  std::vector<Touch> agree_on_touched(bool is_step);
  void check_presence(const std::vector<Touch>& touched, bool is_step) const;
  void scatter_all_rows(const std::vector<Touch>& touched);
  void check_decomposition(const std::vector<Touch>& touched);
  void choose_tiles(const std::vector<Touch>& touched);
  layout::CommitPlan place(const std::vector<Touch>& touched, bool is_step, bool is_last,
                           std::uint64_t words);
  void prefill(const layout::CommitPlan& commit);
  void fill_tiles(const layout::Placement& placement, const model::Definition& definition);
  void write(const layout::CommitPlan& commit, std::span<const layout::Portion> portions,
             std::uint64_t first_word, bool synced);
  void publish(bool durable);
  void give_up();
  void forget_step() noexcept;
  std::vector<layout::Portion> cut_blocks() const;
  std::uint64_t block_signature() const;

  exec::Transport& transport_;
  storage::Storage& storage_;
  std::string path_;
  Options options_;
  const plan::Strategy& strategy_;
  plan::Topology topology_;
  std::uint64_t writers_ = 1;       ///< ranks that have the file open for data
  std::uint64_t writer_index_ = 0;  ///< of this rank among them

  std::vector<model::Definition> definitions_;
  std::vector<std::uint64_t> name_hashes_;
  std::vector<Tiles> tiles_;
  std::uint64_t description_digest_ = 0;  ///< of all definitions and attributes in order
  bool has_news_ = true;                  ///< is there something to commit even if nobody puts?

  bool in_step_ = false;
  double time_ = 0;
  std::uint64_t steps_ = 0;
  std::vector<model::Block> blocks_;
  std::vector<exec::Rows> rows_;
  std::deque<exec::OwnedRows> owned_rows_;
  std::exception_ptr failure_;
  std::uint64_t checked_signature_ = 0;
  std::int64_t modified_ns_ = 0;

  bool closed_ = false;
  bool poisoned_ = false;
  std::unique_ptr<Publisher> publisher_;      ///< rank 0
  std::unique_ptr<layout::Planner> planner_;  ///< rank 0
  layout::MetadataUpdate update_;             ///< rank 0: of the commit under way
  std::unique_ptr<storage::File> own_file_;
  storage::File* file_ = nullptr;  ///< for data, on writers: the publisher's or own_file_
  exec::Buffers buffers_;
};

}  // namespace sluice::commit
