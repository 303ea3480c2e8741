// One group's part of a set: takes the group's blocks of a commit, assigns them a place in the
// part, writes them there, and returns what the index must record.
//
// A variable's blocks in a group are stored in the part in one of two ways:
//   natural  their union is a box: a dataset of that box's shape;
//   listed   otherwise: a one-dimensional dataset with the blocks one after the other, each in
//            row-major order.
// A dataset is reused whenever it is large enough, so a decomposition that changes at every step
// has two datasets, not one for each step; only the first one is made exactly as large as needed.
// If a new decomposition needs a new dataset, it is called `<variable>~1`, `~2`, ...
//
// Invariants: a group that never puts anything creates no file; every row of a stepped dataset is a
// commit of the part, whatever the number of the step; committed rows and fixed datasets are never
// written again, so a commit that failed in another group only leaves a row that no index refers
// to. All ranks of the group take the same decisions from the same reductions. A part never takes
// the name of an existing file; one that no index refers to is removed with its writer.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commit/output/names.hpp"
#include "commit/parts/part_news.hpp"
#include "commit/write/file_writer.hpp"
#include "model/linear.hpp"

namespace sluice::commit {

/// The folder and the names of a group's parts.
struct PartsPlace {
  std::string index_path;
  std::string folder;
  std::uint64_t set_id = 0;
  std::uint64_t number = 0;    ///< of the next part
  std::uint64_t stride = 1;    ///< between the numbers of one group: how many groups there are
  std::size_t rank_cores = 1;  ///< as FilePlace: of all groups
  bool is_lasting = false;     ///< is the folder on stable storage, with a part of the set in it?
  /// Of the folder, where another group makes it for this one.
  std::optional<PlaceFacts> made = std::nullopt;
};

/// Local. Makes the folder of the parts; with `durability` other than none its name is durable.
/// Error permission if it is a symbolic link.
void make_parts_folder(storage::Storage& storage, const PartsPlace& place, Durability durability);

class PartsWriter {
 public:
  /// Local. group and storage must outlive the object. The part will be created in `place`, by the
  /// first commit in which the group has a block.
  PartsWriter(exec::Transport& group, storage::Storage& storage, PartsPlace place,
              const Options& options);
  ~PartsWriter();

  /// Called on the group's first rank when a commit in the background is in the part.
  using Announce = std::function<void(const PartNews&)>;
  /// Collective over the group. `definitions`: of the whole. Does nothing if no rank of the group
  /// has a block. With `announce` a part that is written in the background is complete when that is
  /// called; the part then stays if it does not throw. Nothing else may be in flight.
  PartNews commit(const std::vector<model::Definition>& definitions, const FileCommit& commit,
                  const Announce& announce = {});
  /// Collective over the group. Reverts the last commit, which succeeded here but not elsewhere.
  void forget();
  void sync_all();
  void close();
  /// Local. An index refers to the part, or may do so: it stays.
  void keep() noexcept { is_kept_ = is_kept_ || part_id_ != 0; }
  /// Local. The number for the group's next part.
  std::uint64_t next_number() const noexcept { return place_.number + (file_ ? place_.stride : 0); }
  bool has_file() const noexcept { return file_ != nullptr; }
  bool poisoned() const { return file_ && file_->poisoned(); }
  /// The commits in flight; null: there is no file.
  CommitQueue* queue() noexcept { return file_ ? &file_->queue() : nullptr; }
  double waited_s() const { return file_ ? file_->waited_s() : 0; }

 private:
  /// A dataset of the part.
  struct Dataset {
    std::uint32_t number = 0;  ///< in the file
    bool listed = false;
    model::Dims shape;
  };
  /// The group's state of a variable of the whole.
  struct Known {
    std::vector<Dataset> datasets;
    // of the last commit
    std::uint64_t signature = 0;  ///< of this rank's boxes; 0: to be placed again
    Dataset dataset;
    model::Box hull;           ///< natural
    std::uint64_t offset = 0;  ///< listed: of this rank's first element
  };
  /// A variable that the group writes in this commit.
  struct Written {
    std::uint32_t variable = 0;
    bool is_new = false;      ///< does its location differ from that in the previous row?
    std::uint64_t total = 0;  ///< elements of the group
  };

  std::vector<Written> agree(const std::vector<model::Definition>& definitions,
                             const FileCommit& commit);
  void number_places(const std::vector<Written>& written);
  void place(const std::vector<model::Definition>& definitions, const FileCommit& commit,
             std::vector<Written>& written);
  void make_file();
  std::string free_path();
  Dataset choose(const model::Definition& definition, Known& known, bool listed,
                 const model::Dims& shape);
  std::string free_name(const std::string& name) const;
  std::vector<model::Block> move_blocks(const std::vector<model::Definition>& definitions,
                                        const FileCommit& commit);
  PartNews tell(const std::vector<model::Definition>& definitions, const FileCommit& commit,
                const std::vector<Written>& written);
  /// Of this rank: boxes of `listed` variables (with their number in the part), and scalars.
  PartNews tell_own(const std::vector<model::Definition>& definitions, const FileCommit& commit,
                    const std::vector<std::optional<std::uint32_t>>& listed) const;

  exec::Transport& group_;
  storage::Storage& storage_;
  PartsPlace place_;
  std::string path_;
  std::uint64_t part_id_ = 0;
  bool is_kept_ = false;
  Options options_;
  std::unique_ptr<FileWriter> file_;
  Names names_;  ///< of the datasets in it
  std::uint64_t commits_ = 0;
  std::vector<Known> known_;                                  ///< by variable of the whole
  std::vector<std::unique_ptr<model::BlockSource>> sources_;  ///< of the current commit
  std::uint64_t agreed_number_ = 0;  ///< blocks_number of the commit that the group agreed on last
  std::vector<Written> agreed_;      ///< the result if the number is the same again
  std::uint64_t places_number_ = 0;  ///< counts how often blocks moved to other places in the part
  std::vector<std::uint32_t> placed_;  ///< the variables that were written there last
};

}  // namespace sluice::commit
