// Options of one open file. Every field has a default that is right for most runs.
#pragma once

#include <cstdint>
#include <string>

namespace sluice {

enum class Durability : std::uint8_t {
  none,       ///< nothing is synced
  close,      ///< everything is synced once, at close
  step,       ///< every step is synced before its ticket says durable
  automatic,  ///< the strongest that the format offers: step; dcd, namdbin: close
};

enum class Check : std::uint8_t {
  off,
  volume,  ///< the number of elements put must equal the shape's
  full,    ///< overlaps and holes are found and named, whenever the decomposition changes
};

/// What becomes of a step that the storage cannot take.
enum class OnError : std::uint8_t {
  fail,       ///< its end throws
  skip_step,  ///< no space, quota, I/O error: the step is left out, its ticket says so, and on it
              ///< goes
};

/// What is told of an output while it is written. Messages go to stderr of rank 0, or where
/// set_message_handler() says.
enum class Log : std::uint8_t {
  off,        ///< nothing
  automatic,  ///< steps that are left out; at the close of strategy forward a line of its costs
  line,       ///< that line with every strategy
  steps,      ///< the line, and a line of JSON a commit in the file "<path>.log.jsonl"
};

/// How many files an output may come to where the strategy is `auto`.
enum class Files : std::uint8_t {
  one,
  allow_multiple,  ///< or a set of parts with an index, where that is faster (file-per-process,
                   ///< file-per-node)
};

struct Options {
  // -- what is written, and by whom ---------------------------------------------------------------
  std::string format = "auto";    ///< as docs/formats.md calls it | auto (by the name's ending)
  std::string strategy = "auto";  ///< serial | shared | collective | forward |
                                  ///< file-per-process | file-per-node | auto
  Files files = Files::one;       ///< auto: may it write several?
  bool autotune = true;           ///< auto: may it try other ways with the run's own commits?
  int writers =
      0;  ///< ranks (collective, forward) or groups (file-per-node) that write; 0: the nodes
  int first_writer = 0;               ///< rank of the first writer
  int writer_spacing = 0;             ///< ranks from one writer to the next; 0: spread evenly
  std::string writer_map = "spaced";  ///< spaced | node | a list of ranks "0,4,8" | "costs 3,1,1,2"
  int readers = 0;                    ///< ranks that read from disk; 0: all
  std::string tiles = "auto";         ///< tile to writer: contiguous | cyclic (tile mod writers) |
                                      ///< auto: cyclic where a file is striped over several servers
  std::uint64_t tile_bytes = 0;  ///< unit of file space that has one writer; 0: stripe or 4 MiB
  bool coalesce = true;  ///< forward, sessions: bytes wait for their neighbours, and are written
                         ///< with them; false: written as they come
  std::uint64_t coalesce_bytes = 0;     ///< collective, forward: the most at once; 0: by the budget
  std::uint64_t stripe_bytes = 0;       ///< 0: what the file system says, else 4 KiB pages
  std::string hdf5_layout = "stacked";  ///< hdf5: stacked (leading step dimension) | grouped
  std::string parts_dir = {};           ///< where file-per-* puts its parts; empty: beside the file
  std::int64_t restart_after = -1;  ///< append: steps after this one are dropped first; -1: none
  std::string compress = {};    ///< default of variables: "deflate:6" | "zstd:3" | ...; empty: none
  std::uint64_t keep_last = 0;  ///< only the last so many steps stay; 0: all
  std::uint64_t split_steps = 0;  ///< a new part after so many steps; 0: not by steps
  std::uint64_t split_bytes = 0;  ///< a new part once one has so many bytes; 0: not by bytes
  int ranks_per_node = 0;         ///< pretend nodes of so many ranks; 0: the real ones

  // -- how ----------------------------------------------------------------------------------------
  std::string storage = "auto";  ///< direct | posix | mpiio | auto (direct where it is taken)
  std::string hints = {};        ///< mpiio: MPI_Info "cb_nodes=1,romio_cb_write=enable"
  std::uint64_t budget_bytes = 256ULL << 20;  ///< staging memory of one rank, a hard limit
  Durability durability = Durability::automatic;
  OnError on_error = OnError::fail;
  Check check = Check::full;
  Log log = Log::automatic;
  bool checksum = true;     ///< write checksums, and check them when reading
  double timeout_s = 1800;  ///< limit of one collective wait; 0: none
};

}  // namespace sluice
