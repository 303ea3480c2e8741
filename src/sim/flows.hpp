// What src/exec does for each flow of a plan, as operations of a program.
#pragma once

#include <vector>

#include "sim/job.hpp"
#include "sim/program.hpp"

namespace sluice::sim {

/// As in exec: one barrier for this many rounds.
inline constexpr std::uint32_t rounds_of_barrier = 8;

/// Direct writes begin and end at multiples of this.
inline constexpr std::uint64_t page_bytes = 4096;

/// A file and how it is written.
struct FileUse {
  std::uint32_t file = 0;
  bool is_direct = false;
  std::uint64_t stripe_bytes = 1;
  bool is_run_by_run = false;  ///< as exec does; otherwise stripe by stripe, which is faster to
                               ///< model
};

/// Flow::direct: the runs of a rank, adjacent ones merged, and its checksum records.
void add_own(Program& program, const FileUse& use, const std::vector<layout::RunList>& runs,
             const layout::Extent& words);

/// Flow::funnel: the data of `rank`, sent to `writer`, which receives from the ranks in the order
/// of calls.
void add_in_turn(Programs& programs, const FileUse& use, int writer, int rank,
                 const std::vector<layout::RunList>& runs, const layout::Extent& words);

/// Flow::two_phase and Flow::async_two_phase.
class RoundsOfAll {
 public:
  RoundsOfAll(const plan::TileMap& tiles, std::uint64_t window_bytes, int ranks);

  /// The bytes of a rank in one pass of the exchange.
  void add(int rank, const layout::RunList& runs);
  void add(int rank, const layout::Extent& extent);
  /// Appends a pass over `range` of the own spaces to the programs of all ranks; the added bytes
  /// are cleared.
  void emit(Programs& programs, const FileUse& use, const plan::OwnRange& range,
            const layout::Extent& space);

 private:
  /// Bytes of a rank for a window of a writer.
  struct Part {
    std::uint32_t window = 0;
    std::uint32_t writer = 0;
    std::uint64_t bytes = 0;
  };
  void add_part(int rank, std::uint32_t window, std::uint32_t writer, std::uint64_t bytes);
  void sort(int rank);
  std::uint64_t& total(std::uint32_t writer, std::uint32_t window) {
    return totals_[std::size_t{window} * tiles_.writers().size() + writer];
  }
  void emit_rank(Programs& programs, const FileUse& use, int rank, std::uint32_t first,
                 std::uint32_t last, const layout::Extent& space);
  void emit_window(Program& program, const FileUse& use, std::uint32_t writer, std::uint32_t window,
                   const layout::Extent& space);

  const plan::TileMap& tiles_;
  const std::uint64_t window_bytes_;
  std::vector<std::vector<Part>> parts_;  ///< by rank
  std::vector<std::uint64_t> totals_;     ///< by window and writer
  std::uint32_t rounds_before_ = 0;       ///< of earlier passes
};

}  // namespace sluice::sim
