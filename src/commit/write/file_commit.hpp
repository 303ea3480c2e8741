// The content of a commit, as passed to FileWriter.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "commit/write/output_stats.hpp"
#include "layout/portion.hpp"
#include "model/block.hpp"
#include "plan/totals.hpp"
#include "plan/tuner.hpp"

namespace sluice::commit {

enum class Opening : std::uint8_t { write, create, append };

/// The data to be written in one commit. The same on every rank except `blocks`.
struct FileCommit {
  bool is_step = false;
  bool is_last = false;  ///< variables that were never written are created too
  bool synced = false;
  double time = 0;
  std::vector<bool> touched;  ///< by variable: does any rank write it?
  /// By variable: the shape in this step, if rows vary; empty: as defined.
  std::vector<model::Dims> shapes = {};
  /// By variable: the rows of each of its parts, which are the ranks where rows were joined, or
  /// what Output::set_parts() got; empty: it has none.
  std::vector<std::vector<std::uint64_t>> parts = {};
  std::span<const model::Block> blocks;  ///< this rank's
  bool is_alone = false;                 ///< no rank knows of an earlier commit in flight
  /// If an earlier commit had the same number, the blocks of every rank are where they were then;
  /// 0: unknown.
  std::uint64_t blocks_number = 0;
  std::uint32_t rank = 0;                  ///< this process among the ranks of the output, for the
                                           ///< records of who wrote what
  const plan::Explain* explain = nullptr;  ///< to be called once, if any; when: plan::Explain says
  OutputStats* stats = nullptr;            ///< receives the waits of the commit; outlives the
                                           ///< writer
  /// The output's commits so far: used, and updated, if the strategy leaves a choice. On every rank
  /// or on none.
  plan::Tuner* tuner = nullptr;
  /// For a writer in the background: what belongs to the commit once it is in the file. Called on
  /// rank 0 by whoever publishes, with the commit's stamp and the length of the file; its failure
  /// is that of the commit.
  std::function<void(std::int64_t modified_ns, std::uint64_t file_bytes)> when_published = {};
};

/// The blocks of a commit cut into portions, those of compressed variables apart.
struct StagedCommit {
  std::vector<layout::Portion> plain;
  std::vector<layout::Portion> encoded;
  std::uint64_t first_word = 0;  ///< of this rank's checksum records in the commit's
  std::uint64_t words = 0;       ///< of all ranks
};

}  // namespace sluice::commit
