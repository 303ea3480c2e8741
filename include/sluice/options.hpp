/// @file
/// Options of one open file: sluice::Options.
///
/// Every option can also be set in a file (`sluice.toml`) and by an environment variable
/// (`SLUICE_` and the name in capitals). The environment overrides the file, the file overrides the
/// code. All ranks must open a file with the same options: Error `divergent` otherwise. The names
/// are the same in C++, C, Fortran, Python, files and variables.
///
/// The defaults suit most runs. Change `strategy` first, then `writers`, then `budget_bytes`.
#pragma once

#include <cstdint>
#include <string>

namespace sluice {

/// When data is synced to the storage (fsync). A synced step survives a crash of the node.
enum class Durability : std::uint8_t {
  none,       ///< Never. A crash of the node may lose or damage the file.
  close,      ///< Once, at close.
  step,       ///< At the end of every step, before its ticket says durable.
  automatic,  ///< The strongest that the format offers: `step`; for dcd and namdbin `close`.
              ///< In text: `auto`.
};

/// How the blocks of a step are checked for overlaps and holes.
enum class Check : std::uint8_t {
  off,     ///< Not at all. An overlap leaves either value, a hole leaves unspecified bytes.
  volume,  ///< The number of elements that all ranks put must equal the shape's. An overlap and a
           ///< hole of the same size are not found.
  full,    ///< Overlaps and holes are found and named, whenever the decomposition changes.
};

/// What happens to a step that the storage cannot take (no space, quota, I/O error).
enum class OnError : std::uint8_t {
  fail,       ///< Step::end() throws Error `no_space` or `io` on every rank.
  skip_step,  ///< The step is left out; its ticket says Ticket::skipped(), and the run continues.
};

/// Which messages an output gives while it is written. Rank 0 sends them to stderr, or to
/// set_message_handler().
enum class Log : std::uint8_t {
  off,        ///< None.
  automatic,  ///< Skipped steps and failed closes; with strategy `forward` its costs at close; with
              ///< strategy `auto` a file system that is far slower than assumed. In text: `auto`.
  line,       ///< Also one line of costs at close with every strategy.
  steps,      ///< Also one line of JSON for each commit, in the file `<path>.log.jsonl`.
};

/// How many files strategy `auto` may write.
enum class Files : std::uint8_t {
  one,             ///< One file.
  allow_multiple,  ///< Or a set of parts with an index (file-per-process, file-per-node), where
                   ///< that is faster.
};

/// Whether the chunks of a variable in a Zarr store may be unequal: those of a rectilinear grid.
enum class Rectilinear : std::uint8_t {
  automatic,  ///< Where the blocks of the ranks are a grid of unequal blocks, of 64 KiB or more on
              ///< average. In text: `auto`.
  always,     ///< Where they are such a grid, however small. In text: `true`.
  never,      ///< Nowhere, for readers that know regular grids only. In text: `false`.
};

/// How one file is written and read. A plain value, which the constructor of File copies.
struct Options {
  // -- what is written, and by whom ---------------------------------------------------------------

  /// Format of the file: `hdf5`, `netcdf4`, `vtkhdf`, `openpmd`, `npy`, `zarr`, `icechunk`, `dcd`,
  /// `namdbin`, `records`, or `auto`. Default: `auto`, the format that belongs to the ending of the
  /// file's name. Change it where the ending does not tell.
  std::string format = "auto";

  /// Who writes: `serial`, `shared`, `collective`, `forward`, `file-per-process`, `file-per-node`
  /// or `auto`. Default: `auto`, the fastest by prediction. Change it to write in the background or
  /// for comparable runs. A name, not an enum, because strategies can be added, as formats can.
  std::string strategy = "auto";

  /// How many files strategy `auto` may write. Default: one. Change it where readers accept a set
  /// of parts (they open the index as one file).
  Files files = Files::one;

  /// Whether strategy `auto` may try other ways with the run's own commits. Default: true. Switch
  /// it off where the cost of every step must be the same.
  bool autotune = true;

  /// Number of writing ranks (collective, forward, sessions) or of groups (file-per-node).
  /// Default: 0, four ranks on each node, and one group for each node; `auto` takes as many as it
  /// predicts to be best. More writers help where one process cannot saturate the node's link to
  /// the storage.
  int writers = 0;

  /// Rank of the first writer. Default: 0. Change it to keep rank 0 free for other work.
  int first_writer = 0;

  /// Ranks from one writer to the next. Default: 0, spread evenly.
  int writer_spacing = 0;

  /// Which ranks write: `spaced` (by the three options above), `node` (on each node), a list of
  /// ranks `0,4,8`, or a cost for each rank `costs 3,1,1,2` (of four ranks). Default: `spaced`.
  /// Change it if some nodes are nearer to the storage than others.
  std::string writer_map = "spaced";

  /// Number of ranks that read from disk and send to the others. Default: 0, all. Lower it where a
  /// file system suffers from many clients.
  int readers = 0;

  /// Which writer gets a tile of file space: `contiguous` (one range a writer), `cyclic` (tile
  /// number modulo writers) or `auto`. Default: `auto`, cyclic where a file is striped over several
  /// servers.
  std::string tiles = "auto";

  /// Bytes of file space that have one writer. Default: 0, the stripe of the file system, else
  /// 4 MiB.
  std::uint64_t tile_bytes = 0;

  /// Whether pieces wait for their neighbours and are written with them (forward, sessions).
  /// Default: true. Set false to measure what gathering gains.
  bool coalesce = true;

  /// Largest single write of a writer in bytes (collective, forward). Default: 0, as `budget_bytes`
  /// allows.
  std::uint64_t coalesce_bytes = 0;

  /// Bytes of a stripe of the file system. Default: 0, what the file system reports, else 4 KiB
  /// pages. Set it where the file system does not report its stripes.
  std::uint64_t stripe_bytes = 0;

  /// Layout of steps in HDF5: `stacked` (one dataset with a leading step dimension) or `grouped` (a
  /// group a step). Default: `stacked`. Use `grouped` where a reader expects one.
  std::string hdf5_layout = "stacked";

  /// Whether the block of a rank may be a chunk of its own in a Zarr store where blocks are
  /// unequal. Default: never, because of all other readers only zarr-python >= 3.2 reads such
  /// chunks, and only where its setting `array.rectilinear_chunks` is on.
  Rectilinear rectilinear = Rectilinear::never;

  /// Branch of an Icechunk repository onto which steps are committed. One that is not there begins
  /// at the head of `main`. Default: `main`. Set another one for steps that are not to change what
  /// readers of `main` see.
  std::string branch = "main";

  /// Names of tags in an Icechunk repository, one for each step: `{step}` in it is the number of
  /// the step, `{branch}` the branch. Default: empty, no tags. Set it as to `step-{step}`, so that
  /// readers open a step by its name.
  std::string tags = {};

  /// Folder of the parts of file-per-process and file-per-node. Default: empty, beside the file.
  /// Set it to a node-local disk, and collect the parts later with `sluice collect`.
  std::string parts_dir = {};

  /// With Mode::append: the last step that is kept; later ones are dropped first. Default: -1, none
  /// is dropped. Set it to the step from which a run restarts: File::latest_good().
  std::int64_t restart_after = -1;

  /// Compression of variables that do not say otherwise: `deflate:1` to `deflate:12`, `zstd:1` to
  /// `zstd:19`, a plugin of HDF5 (`lz4`, `zfp:accuracy=0.001`, ...) or `none`, with `+noshuffle`
  /// behind, and `round:N+` or `digits:N+` in front, for floats. Default: empty, none. See
  /// docs/compression.md.
  std::string compress = {};

  /// How many of the last steps stay in the file. Default: 0, all. Set it for a checkpoint file
  /// that must not grow.
  std::uint64_t keep_last = 0;

  /// Steps after which a new part begins; the parts are read as one file. Default: 0, never. Set
  /// it for runs of many days.
  std::uint64_t split_steps = 0;

  /// Bytes after which a new part begins. Default: 0, never.
  std::uint64_t split_bytes = 0;

  /// Ranks of a pretended node. Default: 0, the real nodes. For tests.
  int ranks_per_node = 0;

  // -- how ----------------------------------------------------------------------------------------

  /// Interface to the storage: `direct` (O_DIRECT), `posix`, `writeback`, `mpiio` or `auto`.
  /// Default: `auto`, direct where the file system takes it. Use `mpiio` for file systems that need
  /// its hints.
  std::string storage = "auto";

  /// MPI_Info hints of storage `mpiio`: `cb_nodes=1,romio_cb_write=enable`. Default: none.
  std::string hints = {};

  /// Staging memory of one rank in bytes, a hard limit. Default: 256 MiB. Raise it with strategy
  /// `forward`, so that a whole step fits; lower it where memory is short.
  std::uint64_t budget_bytes = 256ULL << 20;

  /// Seconds for which a process keeps staging memory that no file uses, for files to come; all of
  /// it together stays within `budget_bytes`. Memory that was used before is several times as fast
  /// as new one. Default: 60. Raise it where files follow each other more slowly; 0 gives memory
  /// back when the file that used it is closed.
  double staging_idle_s = 60;

  /// When data is synced. Default: automatic. Use `close` or `none` for files that can be computed
  /// again: a sync of every step costs time.
  Durability durability = Durability::automatic;

  /// Seconds that may pass until plain readers (h5py, netCDF4) see a durable step of a file that
  /// changes in place. Steps that follow one another more quickly are put in place together, so
  /// that each waits for one sync; readers of Sluice see each of them at once. 0: each step is put
  /// in place before the next one, for plain readers that follow a run step by step.
  /// Default: automatic (negative), which is 0.2, or 0 on a storage without a thread (mpiio).
  double apply_every_s = -1;

  /// What happens to a step that the storage cannot take. Default: fail. Use skip_step for output
  /// that the run can do without.
  OnError on_error = OnError::fail;

  /// How blocks are checked for overlaps and holes. Default: full, which costs only when the
  /// decomposition changes. Use `volume` where it changes every step.
  Check check = Check::full;

  /// Which messages the output gives. Default: automatic.
  Log log = Log::automatic;

  /// Whether checksums are written (where the format has a place for them) and checked when
  /// reading. Default: true.
  bool checksum = true;

  /// Limit of one collective wait in seconds, after which Error `timeout` names the ranks that did
  /// not come. Default: 1800. 0: no limit. Raise it where one rank may be late by more. The first
  /// wait of more than 60 s is said on stderr, unless `log` is off.
  double timeout_s = 1800;
};

}  // namespace sluice
