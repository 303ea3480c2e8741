// A file being read: any selection of any variable and step, on any number of ranks.
//
// Invariants: only rank 0 looks at the file's metadata; every rank reads its own bytes; what has
// checksum records is checked before it is handed out, partial reads too; reading changes nothing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commit/read/parts_input.hpp"
#include "commit/read/records.hpp"
#include "exec/read/two_phase_read.hpp"
#include "exec/transport/transport.hpp"
#include "layout/catalog.hpp"
#include "model/block.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::exec {
struct RowSource;
}

namespace sluice::commit {

/// What every rank knows of a stored variable.
struct InputVariable {
  model::Definition definition;
  bool big_endian = false;
  bool placeable = false;
  codec::Pipeline filters;          ///< of compressed variables that every rank can decode
  std::vector<std::uint64_t> rows;  ///< varying: of every step; empty otherwise
};

/// What a rank wants of a variable (of one step), and where.
struct GetRequest {
  std::uint32_t variable = 0;
  std::uint64_t step = 0;
  model::Box box;  ///< in coordinates of the variable, without the step
  model::Memory memory;
  bool allow_overflow = false;
};

/// A commit of the file, as far as verifying needs it.
struct CommitInfo {
  std::uint64_t step = 0;  ///< CommitRow::no_step outside steps
  double time = 0;
  std::uint64_t is_intact = 1;  ///< 0: its row does not match its checksum
};

class Input {
 public:
  /// Collective. transport and storage must outlive the object. Of a symbolic link, what it leads
  /// to is read, on every rank what it leads to on rank 0.
  Input(exec::Transport& transport, storage::Storage& storage, const std::string& path,
        const Options& options);

  const std::string& path() const noexcept { return path_; }
  const std::vector<InputVariable>& variables() const noexcept { return variables_; }
  const std::vector<model::Attribute>& attributes() const noexcept { return attributes_; }
  const std::vector<CommitInfo>& commits() const noexcept { return commits_; }
  std::uint64_t steps() const noexcept { return steps_; }
  /// NaN where none was given.
  double time(std::uint64_t step) const;
  /// The shape of a step. Error out_of_bounds for steps that are not there.
  model::Dims shape(std::uint32_t variable, std::uint64_t step) const;
  /// The same, but that of the variable for steps that are not there.
  model::Dims shape_or_most(std::uint32_t variable, std::uint64_t step) const noexcept;
  bool written_by_sluice() const noexcept { return ours_; }
  /// Has the file another mtime than its last commit gave it? Not told of an unfinished one.
  bool modified_since_commit() const noexcept { return modified_; }
  /// Was it being written, or left by a writer that did not close it? See commit::is_unfinished.
  bool is_unfinished() const noexcept { return is_unfinished_; }
  /// On rank 0: has nobody written to the file or its journal since it was opened?
  bool is_unchanged() const;
  /// On rank 0. Valid until follow().
  layout::Catalog& catalog() noexcept { return *catalog_; }
  /// On rank 0. Where the file was changed since its catalog was opened: opens that anew. It has
  /// the commits and variables of the one before, and perhaps more; false where there is no such.
  bool follow();

  /// Index of a variable. Error not_found lists what there is.
  std::uint32_t find(const std::string& name) const;
  /// Gives the variables that `old` had their old numbers. Error changed_outside where one of them
  /// is not here, or of another type or rank (fixed ones may have grown).
  void keep_order_of(const Input& old);
  /// Of the index of a set of parts: the set; nullptr for ordinary files.
  const layout::PartSet* set() const noexcept { return parts_ ? &parts_->set() : nullptr; }
  /// Local. Of a variable whose elements are in parts: the number that it has in the set.
  std::optional<std::uint32_t> number_in_set(std::uint32_t variable) const;
  /// Local. As get(), of a variable whose elements are in parts; the box lies inside its shape.
  void get_from_parts(std::uint32_t variable, std::uint64_t step, const model::Box& box,
                      const model::Memory& memory, bool allow_overflow);

  /// Collective; each rank its own box.
  /// `failure`: what the caller found wrong with it, which every rank then throws.
  void get(const GetRequest& request, const std::exception_ptr& failure = nullptr);
  void get(std::uint32_t variable, std::uint64_t step, const model::Box& box,
           const model::Memory& memory, bool allow_overflow) {
    get({variable, step, box, memory, allow_overflow});
  }
  /// Local. Notes a request for get_deferred(). What is wrong with it is thrown.
  void defer(const GetRequest& request);
  /// Local. Makes the next get_deferred() fail on every rank: a request could not be noted.
  void fail_deferred(const std::exception_ptr& failure);
  /// Collective. Gets what was deferred since the last time, with little more agreement than one
  /// get() needs: the same variables and steps in the same order on every rank (Error divergent),
  /// the boxes are each rank's own. Where it fails, nothing stays noted.
  void get_deferred();
  /// Collective; each rank its own ids. Rows into dense memory of `type`.
  void get_rows(std::uint32_t variable, std::uint64_t step, std::span<const std::uint64_t> ids,
                std::byte* data, const Type& type, const std::exception_ptr& failure = nullptr);

  /// Collective. Places one variable of one step for everybody, with its checksum records.
  struct Located {
    std::uint32_t variable = 0;
    std::uint64_t step = 0;
    model::Box region;
    layout::Placement placement;
    std::vector<Record> records;
  };
  const Located& locate(std::uint32_t variable, std::uint64_t step, const model::Box& region);
  /// A variable of one step, and the region of it that the ranks want.
  struct Wanted {
    std::uint32_t variable = 0;
    std::uint64_t step = 0;
    model::Box region;
  };
  /// Collective. The same for several, in their order; valid until the next call of either.
  std::span<const Located> locate_all(std::span<const Wanted> wanted);

  /// Local. Dense little-endian file bytes of a box of a located variable, not checked.
  void read_located(const Located& located, const model::Box& box, std::span<std::byte> out);
  /// Local. Reads the box of a record and compares: false where it does not match.
  bool read_record(const Located& located, const Record& record, std::vector<std::byte>& out);
  /// The same of a compressed variable; `last` keeps a tile between calls.
  bool read_encoded_record(const Located& located, const layout::EncodedTiles& tiles,
                           const Record& record, layout::LastTile& last,
                           std::vector<std::byte>& out);

 private:
  void adopt(std::span<const std::byte> message);
  std::vector<std::byte> describe(bool is_modified);
  void check(const GetRequest& request) const;
  void check_request(std::uint32_t variable, std::uint64_t step, const model::Box& box) const;
  /// The hull of all ranks' boxes of each request; nothing where nobody wants anything.
  std::vector<std::optional<model::Box>> common_regions(std::span<const GetRequest> requests,
                                                        const std::exception_ptr& failure);
  std::string said_of(const GetRequest& request) const;
  [[noreturn]] void refuse_divergent(const std::string& mine);
  void agree_on_count(std::size_t requests, const std::exception_ptr& failure);
  void get_checked(std::span<const GetRequest> requests, const std::exception_ptr& failure);
  /// Those of which the ranks know addresses.
  void get_by_address(std::span<const GetRequest> requests,
                      std::span<const std::optional<model::Box>> regions);
  /// The others: of sets, compressed ones, those that only libhdf5 can read.
  void get_by_reader(const GetRequest& request, const model::Box& region);
  bool has_addresses(std::uint32_t variable) const;
  /// Of rank 0: what locate_all() tells of one.
  void describe_place(const Wanted& wanted, model::ByteWriter& out);
  /// The exception under way; what does not convert says which value it is, not of which variable.
  static std::exception_ptr naming_call(const std::string& call);
  void check_rows(std::uint32_t variable, std::uint64_t step, std::span<const std::uint64_t> ids,
                  const std::byte* data, const Type& type) const;
  void get_checked_rows(std::uint32_t variable, std::uint64_t step,
                        std::span<const std::uint64_t> ids, std::byte* data, const Type& type,
                        std::exception_ptr failure);
  void get_placed(const Located& located, const model::Box& box, const model::Memory& memory,
                  bool allow_overflow);
  /// A selection of a located variable; `checked`: its records, see checked_pieces().
  struct Reading {
    const Located* located = nullptr;
    const GetRequest* request = nullptr;
    model::Box region;
    std::optional<std::vector<exec::CheckedPiece>> checked;
  };
  /// Collective: which of them do the ranks read better together?
  std::vector<bool> read_together(std::span<const Reading> readings);
  /// Collective. The file on readers, ready for `placement`; nullptr elsewhere.
  storage::File* open_together(const layout::Placement& placement);
  /// Collective. In two phases: every byte is read once.
  void get_together(storage::File* source, const Located& located, const model::Box& region,
                    const model::Box& box, const model::Memory& memory, bool allow_overflow,
                    std::span<const exec::CheckedPiece> checked);
  /// The records that overlap the region, as exec::read_in_rounds wants them; nothing where they
  /// are not each in one tile that is there. The same on every rank.
  std::optional<std::vector<exec::CheckedPiece>> checked_pieces(const Located& located,
                                                                const model::Box& region) const;
  std::vector<int> readers() const;
  void fill_absent(const Located& located, const model::Box& box, const model::Memory& memory,
                   bool allow_overflow) const;
  [[noreturn]] void refuse_damaged(const Located& located, const Record& record) const;
  struct LocatedEncoded {
    std::uint32_t variable = 0;
    std::uint64_t step = 0;
    model::Box region;
    layout::EncodedTiles tiles;
    std::vector<Record> records;
  };
  const LocatedEncoded& locate_encoded(std::uint32_t variable, std::uint64_t step,
                                       const model::Box& region);
  /// Compares the records that lie in a decoded tile; Error damaged. `located` must outlive it.
  using TileCheck = std::function<void(std::uint64_t tile, std::span<const std::byte> dense)>;
  TileCheck checks_of(const LocatedEncoded& located) const;
  /// The file, the variable and the step, for messages.
  std::string name_of(std::uint32_t variable, std::uint64_t step) const;
  /// Tells how rows of a compressed variable are read; `located` must outlive it.
  void read_encoded_rows(const LocatedEncoded& located, exec::RowSource& source);
  /// Collective. Of a compressed variable: every tile is decoded by one rank.
  void get_encoded(std::uint32_t variable, std::uint64_t step, const model::Box& region,
                   const model::Box& box, const model::Memory& memory, bool allow_overflow);
  void get_through_root(std::uint32_t variable, std::uint64_t step, const model::Box& box,
                        const model::Memory& memory, bool allow_overflow);
  /// Rank 0: what only the format's library reads, by its records. Error damaged.
  void check_through_root(std::uint32_t variable, std::uint64_t step,
                          std::span<const model::Box> wanted);
  std::vector<Record> records_of(std::uint32_t variable, std::uint64_t step);
  /// Of the times of the steps: they stand in the log too.
  std::vector<Record> records_of_times(std::uint32_t variable) const;
  /// Rank 0: Error damaged or changed_outside where the structure of the file is not as its last
  /// commit left it.
  void require_contents(const std::vector<model::Attribute>& attributes, bool modified) const;
  void require_rows(const std::vector<std::vector<std::uint64_t>>& rows) const;
  storage::File& file();
  void map_objects(const layout::Placement& placement);
  void open_parts(std::span<const std::uint64_t> words);
  std::vector<std::uint64_t> row_counts(std::uint32_t variable);

  exec::Transport& transport_;
  storage::Storage& storage_;
  std::string path_;
  Options options_;
  std::vector<InputVariable> variables_;
  std::vector<std::uint32_t> catalog_index_;  ///< of each variable
  std::vector<model::Attribute> attributes_;
  std::vector<CommitInfo> commits_;
  std::vector<double> times_;
  std::uint64_t steps_ = 0;
  bool ours_ = false;
  bool names_ = true;  ///< does the format keep them?
  bool modified_ = false;
  bool is_unfinished_ = false;
  std::vector<std::byte> journal_;  ///< of a commit that is durable, but maybe not in place yet
  std::unique_ptr<storage::File> file_;
  std::unique_ptr<storage::File> common_file_;  ///< opened together by the readers, if so
  bool common_opened_ = false;
  exec::ReadBuffers buffers_;
  std::vector<Located> located_;  ///< the last ones
  std::vector<GetRequest> deferred_;
  std::exception_ptr deferred_failure_;  ///< the first
  std::optional<LocatedEncoded> located_encoded_;
  std::unique_ptr<PartsInput> parts_;  ///< of the index of a set of parts
  std::vector<std::optional<std::uint32_t>> numbers_in_set_;
  // rank 0
  std::unique_ptr<storage::File> root_file_;
  std::unique_ptr<layout::Catalog> catalog_;
  std::uint64_t moment_ = 0;
  std::uint64_t cached_commit_ = ~std::uint64_t{0};
  std::multimap<std::uint64_t, Record> cached_records_;
};

}  // namespace sluice::commit
