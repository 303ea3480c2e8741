// The variables of one file as every rank knows them: definitions, tiles, which are created, the
// number of steps.
//
// Invariant: the same on every rank after the same calls; no I/O, and no message except in
// choose_tiles().
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "commit/write/file_commit.hpp"
#include "exec/encode/encoded_rounds.hpp"
#include "exec/transport/transport.hpp"
#include "layout/formats/formats.hpp"
#include "layout/layout.hpp"
#include "model/bytes.hpp"
#include "sluice/options.hpp"

namespace sluice::commit {

class FileVariables {
 public:
  /// Of a file that is opened: its format, its steps and its existing variables.
  void read_from(model::ByteReader& in);
  void define(const model::Definition& definition);

  const layout::Format& format() const noexcept { return *format_; }
  const std::vector<model::Definition>& definitions() const noexcept { return definitions_; }
  const std::vector<std::uint64_t>& name_hashes() const noexcept { return name_hashes_; }
  std::uint64_t steps() const noexcept { return steps_; }
  /// Is there a variable that only a last commit would create?
  bool has_unmade() const;
  /// Is everything that it touches stepped, and in the file already?
  bool are_known_steps(const FileCommit& commit) const;

  /// The state that a commit changes, restored after a failed one.
  struct State {
    std::uint64_t steps = 0;
    std::vector<bool> made;
  };
  State state() const;
  void restore(const State& state);
  /// The commit is complete, or in flight.
  void note(const FileCommit& commit);

  /// Collective if a variable is written for the first time, else local: tiles by the decomposition
  /// of all ranks.
  void choose_tiles(exec::Transport& transport, const FileCommit& commit, const Options& options);
  /// The blocks cut at tiles; checksum words are not numbered yet. Error unsupported, on all ranks
  /// alike, if readers would refuse the number of tiles.
  StagedCommit cut_blocks(const FileCommit& commit) const;
  bool has_encoded(const FileCommit& commit) const;
  std::vector<exec::EncodedVariable> encoded(const FileCommit& commit) const;
  layout::CommitRequest request_for(const FileCommit& commit, std::uint64_t words) const;
  /// Provisional addresses of everything that is not encoded, one variable after the other, and of
  /// the checksum words.
  layout::CommitPlan provisional_plan(const FileCommit& commit, std::uint64_t words) const;

 private:
  struct Tiles {
    layout::Tiling tiling;  ///< empty rank where not chosen yet
    bool chosen = false;
    bool made = false;  ///< is the variable in the file?
    codec::Pipeline pipeline = {};
  };
  const model::Dims& shape_of(const FileCommit& commit, std::uint32_t variable) const;
  layout::Tiling tiling_of(const FileCommit& commit, std::uint32_t variable) const;
  void settle_filters(exec::Transport& transport, std::uint32_t variable);
  /// May its chunks be those of a rectilinear grid?
  bool may_be_rectilinear(std::uint32_t variable, const layout::Decomposition& all) const;
  void choose_rectilinear(exec::Transport& transport, const FileCommit& commit,
                          const std::vector<std::uint32_t>& variables, const Options& options);
  void choose_tile(std::uint32_t variable, layout::Decomposition all, std::uint64_t step_bytes,
                   std::uint64_t budget_bytes);

  const layout::Format* format_ = nullptr;
  std::vector<model::Definition> definitions_;
  std::vector<std::uint64_t> name_hashes_;
  std::vector<Tiles> tiles_;
  std::uint64_t steps_ = 0;
};

}  // namespace sluice::commit
