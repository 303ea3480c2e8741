// Who moves and writes what: the strategies.
//
// A plan is data. Making one is a pure function of a rank's own portions and the topology: no I/O,
// no messages, O(own portions); no rank needs to know the blocks of another. The same plan is
// executed over MPI in production and over the local transport in tests.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "layout/portion.hpp"
#include "plan/machine_rates.hpp"
#include "plan/tile_map.hpp"

namespace sluice::plan {

struct Topology {
  int rank = 0;
  int ranks = 1;
  int node = 0;
  int nodes = 1;
  std::vector<int> node_of = {};  ///< of every rank; empty: equal blocks of consecutive ranks
};

/// Portions that go to one writer, in the order in which they are sent or written.
struct Transfer {
  int writer = 0;
  std::vector<std::uint32_t> portions;  ///< indices into the rank's list
  std::uint64_t bytes = 0;              ///< packed
};

/// How bytes flow to a writer that is not their owner.
enum class Flow : std::uint8_t {
  direct,           ///< every rank writes its own portions; nothing is sent
  funnel,           ///< the senders send one after the other, each through a bounded buffer
  two_phase,        ///< window by window of every writer's own space, all ranks send to all writers
  async_two_phase,  ///< the same windows, written while the ranks continue
};

struct Plan {
  std::string strategy;
  Flow flow = Flow::direct;
  std::vector<Transfer> transfers;  ///< of this rank; at most one a writer
  std::vector<int> senders;         ///< ranks whose bytes this rank writes, in order; not itself
  TileMap tiles;                    ///< two_phase, async_two_phase: who owns which byte
  std::uint64_t window_bytes =
      0;                ///< two_phase, async_two_phase: bytes that a writer assembles in one round
  bool gathers = true;  ///< background: windows are written when complete, not piece by piece
  std::uint64_t packed_bytes = 0;  ///< background: the most that a rank keeps packed for later
                                   ///< windows
  std::uint64_t writer_bytes = 0;  ///< background: the most bytes that one writer can receive
  /// background: where all ranks write, the same on every rank; empty: wherever the tiles reach.
  layout::Extent space = {};
  std::uint64_t buffer_bytes = 0;  ///< largest staging memory of this rank during execution
  std::string reason = {};         ///< auto: the reason, a sentence
  double predicted_s = 0;          ///< auto: of the writing; 0: not predicted

  /// One line a transfer, for debugging and SLUICE_EXPLAIN.
  std::string text() const;
};

/// Which ranks write, if the strategy leaves a choice (the options of the same names). The same on
/// every rank.
struct WriterChoice {
  int writers = 0;
  int first_writer = 0;
  int writer_spacing = 0;
  std::string writer_map = "spaced";
  bool cyclic = false;           ///< tile t belongs to writer t mod writers; else contiguous runs
  std::uint64_t tile_bytes = 0;  ///< 0: default_tile_bytes
  std::uint64_t budget_bytes = 256ULL << 20;  ///< staging memory of one rank
  bool gathers = true;                        ///< background: complete windows, not pieces as they
                                              ///< arrive
  std::uint64_t coalesce_bytes = 0;           ///< the longest window; 0: as the budget allows
};

/// A multiple of the stripes of every file system in use, and long enough a write for any disk.
inline constexpr std::uint64_t default_tile_bytes = 4ULL << 20;
/// Writers on a node if the choice leaves their number open: measured, see docs/strategies.md.
inline constexpr int default_writers_per_node = 4;

struct Input {
  Topology topology;
  std::span<const layout::Portion> portions;
  std::span<const std::uint64_t> portion_sizes;  ///< packed bytes, one a portion
  layout::Extent space = {};                     ///< of the commit
  WriterChoice choice = {};
  /// Mean length of a contiguous run in the file over all ranks; used by `auto` only.
  std::uint64_t mean_run_bytes = 0;
  /// The data of all ranks together, used by `auto` only; 0: the length of `space`.
  std::uint64_t bytes = 0;
  MachineRates rates = {};  ///< used by `auto` only
};

struct Candidate;

/// The ranks that write one file of a set.
struct Group {
  int number = 0;
  int count = 1;  ///< number of groups
};

/// A strategy as its file describes it: one row of properties and functions. Code that depends on
/// the strategy asks its row; no other code names a strategy. The functions are pure, and throw the
/// same Error on every rank for an impossible choice. Rows live as long as the process.
struct Strategy {
  const char* name;
  /// Which ranks open the file for writing, and the plan. Null if it writes a set of files.
  RankList (*openers)(const Topology&, const WriterChoice&) = nullptr;
  Plan (*plan)(const Input&) = nullptr;
  /// Which ranks write, if that is not all that open the file. Null: `openers`.
  RankList (*writers)(const Topology&, const WriterChoice&) = nullptr;
  /// It compares the others by Input::mean_run_bytes, bytes and rates, and uses one of them; also
  /// one that writes a set of files, if the caller allows that.
  bool chooses = false;
  /// Staging buffers of a writer: a window of the exchange, or layout::portion_bytes.
  bool in_windows = false;
  bool in_background = false;  ///< ends of steps do not wait for the writing
  /// The group of `topology.rank`, for a set of files. Null: it writes one file.
  Group (*group)(int writers, const Topology& topology) = nullptr;
  /// For a set of files: the strategy by which the ranks of a group write their part. Null: this
  /// one.
  const char* within_part = nullptr;
  // -- for one that is compared with others; null: it is not
  // ---------------------------------------
  /// The candidates that `input.choice` leaves open, those that send nothing first.
  std::vector<Candidate> (*candidates)(const Input& input) = nullptr;
  /// The predicted time of a candidate.
  double (*seconds)(const Input& input, const Candidate& candidate) = nullptr;
  /// The number of writers, appended to the name: " with 4 writers". Null: nothing is appended.
  std::string (*count_text)(const Candidate& candidate) = nullptr;
};

/// Every strategy, in the order in which messages list them.
std::vector<const Strategy*> strategies();
/// Adds a strategy for the life of the process; `row` must live as long. Error invalid_argument if
/// its name is not a word or is taken, or a required function is missing. Thread-safe.
void register_strategy(const Strategy& row);
/// The names of all, with `separator` between them.
std::string strategy_names(const std::string& separator);
/// The strategy of that name. Error invalid_argument lists the names.
const Strategy& strategy(std::string_view name);
/// The same; null if there is none.
const Strategy* find_strategy(std::string_view name);
/// Does it choose among the other strategies?
bool chooses(std::string_view name);

/// The plan of `collective`; other strategies build on it.
Plan plan_collective(const Input& input);

/// `plan` where every object is written whole, by one rank: the objects are at multiples of the
/// next power of two of their length, and the largest has `largest_bytes`. Ranks that would write
/// pieces of an object exchange them first, in windows of at most `room_bytes`. The same writers.
Plan by_objects(Plan plan, const Input& input, std::uint64_t largest_bytes,
                std::uint64_t room_bytes);

/// The ranks that write by a choice, ascending. Error invalid_argument names the option that is
/// wrong.
RankList writer_list(const Topology& topology, const WriterChoice& choice);
/// The same as a vector.
std::vector<int> writer_ranks(const Topology& topology, const WriterChoice& choice);
/// The cost of moving a byte, in any unit in which costs add up: hops, microseconds a MiB, ...
struct Distances {
  std::function<double(int from, int writer)> between;  ///< between two ranks; empty: zero
  std::function<double(int writer)> to_storage;         ///< empty: zero
};

/// `writers` ranks, ascending, for a machine whose distances are known. The ranks are divided into
/// that many groups of consecutive ranks, whose sizes differ by at most one; in each group the rank
/// writes from which the bytes of the whole group reach storage at the least cost (the lowest of
/// several). So runs of tiles, assigned to writers in order (`tiles = contiguous`), stay near the
/// ranks that fill them if the decomposition follows the order of ranks. A pure function, with
/// ranks * ranks / writers calls of `between`. Error invalid_argument if writers is not 1 .. ranks,
/// or a cost is negative or not a number.
std::vector<int> nearest_writers(int ranks, int writers, const Distances& distances);

/// Every rank, whatever the choice.
RankList all_ranks(const Topology& topology, const WriterChoice& choice);
/// How many ranks write.
std::uint64_t count_writers(const Strategy& strategy, const Topology& topology,
                            const WriterChoice& choice);
/// Which rank owns which byte of `space` by a choice.
TileMap tile_map(const Topology& topology, const WriterChoice& choice, const layout::Extent& space);
/// The bytes that a writer assembles in one round: by the budget, such that three windows being
/// written, one being received and one being sent stay inside it.
std::uint64_t window_bytes(const WriterChoice& choice);
/// Windows of a writer that may wait to be written in the background.
std::uint64_t windows_held(const WriterChoice& choice);

/// All portions of `input` as one transfer to `writer`.
Transfer everything_to(int writer, const Input& input);

}  // namespace sluice::plan
