/// @file
/// Checkpoints: the state of a run, saved now and then, and restored on any number of ranks.
///
///     sluice::Checkpoint state(comm, "state.h5");
///     state.array("u", u, {rows, columns}, {.start = {first, 0}, .count = {n, columns}});
///     state.value("step", step);
///     state.restore();                     // what is there, into u and step; else they stay
///     for (; step < steps; ++step) {
///       if (state.due()) state.save(step * dt);
///       if (state.ending()) break;         // SIGTERM, SIGUSR1, or the end of the job's time
///       advance(u);
///     }
///     state.close();
///
/// A checkpoint is a step of a set of parts (docs/durability.md): it is there wholly or not at all,
/// and the one before stays until the new one is on stable storage. The file is plain HDF5.
///
/// The conventions of sluice.hpp apply. **What is registered** is alike on every rank, in the same
/// order, but for memory and places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sluice/comm.hpp"
#include "sluice/sluice.hpp"

namespace sluice {

namespace detail {
class CheckpointImpl;
}

/// What becomes of a checkpoint that cannot be written.
enum class OnFailedSave : std::uint8_t {
  report,  ///< save() says why in what it returns, and rank 0 in a message; the run goes on.
  stop,    ///< save() throws.
};

/// What becomes of bytes that belong to a rank where another number of ranks restores them.
enum class OnOtherRanks : std::uint8_t {
  refuse,  ///< restore() throws Error `unsupported`.
  keep,    ///< They stay as they are; Restored::kept names them.
};

/// How checkpoints are kept, and when they are due. A plain value, which the constructor of
/// Checkpoint copies.
struct CheckpointOptions {
  /// How many of the last checkpoints stay; 0: all, in one file. Default: 2.
  std::uint64_t keep = 2;
  /// What becomes of a checkpoint that cannot be written. Default: report.
  OnFailedSave on_failed_save = OnFailedSave::report;
  /// A checkpoint is due so long after the last one. Default: 0, not by the clock. Without
  /// interval_s and interval_calls the interval follows from what a checkpoint costs and how often
  /// the job fails, by Daly's formula.
  double interval_s = 0;
  /// A checkpoint is due at every so many-th call of due(). Default: 0, not by calls.
  std::uint64_t interval_calls = 0;
  /// Mean time between failures of the whole job. Default: 0, five years divided by its nodes.
  double failure_interval_s = 0;
  /// When the job will be killed, in seconds since 1970; negative: never. Default: 0, what
  /// SLURM_JOB_END_TIME says, if it is set.
  double end_time_s = 0;
  /// The last checkpoint is due so long before end_time_s. Default: 0, by what was measured.
  double margin_s = 0;
  /// Whether SIGTERM and SIGUSR1 make the last checkpoint due: Checkpoint::due(). Default: true.
  bool signals = true;
  /// Node-local storage, such as "$TMPDIR": a checkpoint is written there, and drained to the
  /// folder of the file in the background while the run goes on. Default: empty, to the file at
  /// once. With it `keep` is not 0, and the file has a part for each node (strategy `auto` or
  /// `file-per-node`) or each rank (`file-per-process`).
  std::string scratch = {};
  /// Whether a save leaves out what no rank has changed since the checkpoint before the last one,
  /// and refers to its bytes there. Default: false. It saves time and writing where large parts of
  /// the state stay as they are from one checkpoint to the next; the file may take twice the room.
  /// It needs `keep`, and excludes Options::split_steps and Options::split_bytes.
  bool incremental = false;
  /// How the file is written and read; `keep_last` and `restart_after` are refused. What the
  /// environment and sluice.toml set for all files of `keep_last`, `restart_after`, `split_steps`,
  /// `split_bytes`, `parts_dir` and, with `scratch`, of `strategy` does not apply to it: only the
  /// table of this file in sluice.toml does. Default: that of Options.
  Options file = {};
};

/// A checkpoint that restore() did not take.
struct RejectedCheckpoint {
  std::uint64_t number = 0;  ///< Its number; 0: not even that can be read.
  std::string why;           ///< What is wrong with it, in one line.
};

/// What restore() took.
struct Restored {
  std::uint64_t number = 0;  ///< Number of the checkpoint, from 1; 0: there was none.
  double time = 0;           ///< What save() got.
  int ranks = 0;             ///< Number of ranks that saved it.
  std::vector<RejectedCheckpoint> newer = {};  ///< Damaged ones, the newest first.
  std::vector<std::string> kept = {};  ///< Names of bytes that another number of ranks had saved.

  /// Whether there was a checkpoint.
  explicit operator bool() const noexcept { return number != 0; }
};

/// What save() did.
struct Saved {
  std::uint64_t number = 0;  ///< Number of the checkpoint; 0: it could not be written.
  double seconds = 0;        ///< Time in the call, on the slowest rank.
  std::string why = {};      ///< Why it could not be written; the last good one is still there.
  /// Why the checkpoint before it was lost on its way to the disk; empty: it was not. Only where a
  /// thread of the library writes it (strategy `forward`). That of the last save is an error of
  /// drain() and close().
  std::string lost = {};

  /// Whether the checkpoint was written.
  explicit operator bool() const noexcept { return number != 0; }
};

/// The state of a run and its file.
///
/// It is used by one thread of a rank at a time. Still open at MPI_Finalize it is closed there.
/// While an exception unwinds, the destructor writes nothing more; what was saved stays. Collective
/// calls of the other ranks then fail with Error `wrong_state`.
class Checkpoint {
 public:
  /// Begins; restore() and save() open the file, which need not be there. Collective over `comm`.
  /// @param comm     the ranks that save and restore, an intracommunicator; it is duplicated
  /// @param path     the file, the same on every rank; copied
  /// @param options  how checkpoints are kept and when they are due
  /// @throws Error `invalid_argument` (an option), `unsupported` (a format or an object store that
  ///         cannot keep the last few only), `mpi`.
  Checkpoint(const Comm& comm, const std::string& path, const CheckpointOptions& options = {});
  /// A Checkpoint over an open implementation; for the library.
  explicit Checkpoint(std::unique_ptr<detail::CheckpointImpl> impl);
  /// Takes the checkpoint over; every call on the other object is then Error `wrong_state`.
  Checkpoint(Checkpoint&&) noexcept;
  /// Closes this checkpoint and takes the other over.
  Checkpoint& operator=(Checkpoint&&) noexcept;
  /// Closes, and reports what fails to stderr. Collective.
  ~Checkpoint();

  /// @name What the state is
  /// The memory stays the caller's: save() reads it, restore() writes it. Registered again under
  /// its name, with the same type and shape, something has a new place: after the ranks have moved
  /// their parts, or a vector has grown. New names come before the first save (Error
  /// `wrong_state`): a checkpoint holds everything. Names are as of variables; the group
  /// `checkpoint` is the library's own.
  /// @{

  /// Registers this rank's part of an array of all ranks, by its place. Alike, but for `data` and
  /// `mine`.
  ///
  /// The parts of the ranks do not overlap and leave no holes.
  /// @param name   name in the file; `/` makes groups; copied
  /// @param data   the part, row-major, of Selection::count elements (or of memory_shape)
  /// @param shape  elements of the whole array
  /// @param mine   the part; default: the whole array
  /// @throws Error `exists` (with another type or shape), `bad_name`. What is wrong with the part
  ///         comes from save() and restore().
  template <class T>
  void array(const std::string& name, T* data, const Shape& shape, const Selection& mine = {}) {
    array_raw(name, data, type_of<T>(), shape, mine);
  }
  /// array() of data whose type is known at run time. Alike, but for `data` and `mine`.
  void array_raw(const std::string& name, void* data, Type type, const Shape& shape,
                 const Selection& mine);
  /// Registers a vector, an array or a span, which must have as many elements as `mine` says.
  /// Alike, but for `data` and `mine`.
  ///
  ///     state.array("u", u, {cells}, {.start = {first}});
  ///
  /// A vector that has grown is registered again.
  /// @param name   as above
  /// @param data   as above
  /// @param shape  as above
  /// @param mine   as above; in one dimension a start without a count means as many elements as
  ///               `data` has
  /// @throws Error as above; `invalid_argument` (another number of elements).
  template <SizedRoom R>
  void array(const std::string& name, R&& data, const Shape& shape, const Selection& mine = {}) {
    array_sized(name, std::ranges::data(data), std::ranges::size(data),
                type_of<std::ranges::range_value_t<R>>(), shape, mine);
  }
  /// array() of `size` elements whose type is known at run time. Alike, but for the part.
  void array_sized(const std::string& name, void* data, std::uint64_t size, Type type,
                   const Shape& shape, const Selection& mine);

  /// Registers rows of an array of all ranks, by global index. Alike, but for `data`, `ids` and
  /// `count`.
  ///
  /// Each row belongs to exactly one rank. What was saved by rows may be restored by place, and the
  /// other way round.
  /// @param name   name in the file; `/` makes groups; copied
  /// @param ids    global index of each row; copied
  /// @param count  number of rows of this rank, 0 too
  /// @param data   `count` rows, row-major, each of all dimensions but the first
  /// @param shape  elements of the whole array
  /// @throws Error as array().
  template <class T>
  void rows(const std::string& name, const std::uint64_t* ids, std::uint64_t count, T* data,
            const Shape& shape) {
    rows_raw(name, ids, count, data, type_of<T>(), shape);
  }
  /// rows() of data whose type is known at run time. Alike, but for `data`, `ids` and `count`.
  void rows_raw(const std::string& name, const std::uint64_t* ids, std::uint64_t count, void* data,
                Type type, const Shape& shape);
  /// Registers rows in vectors, arrays or spans, of which `data` must have the elements of the rows
  /// that `ids` names. Alike, but for `data` and `ids`.
  ///
  ///     state.rows("positions", ids, places, {atoms, 3});
  /// @param name   as above
  /// @param ids    as above
  /// @param data   as above
  /// @param shape  as above
  /// @throws Error as array().
  template <SizedIds I, SizedRoom R>
  void rows(const std::string& name, I&& ids, R&& data, const Shape& shape) {
    rows_sized(name, std::ranges::data(ids), std::ranges::size(ids), std::ranges::data(data),
               std::ranges::size(data), type_of<std::ranges::range_value_t<R>>(), shape);
  }
  /// rows() of `size` elements whose type is known at run time. Alike, but for the rows.
  void rows_sized(const std::string& name, const std::uint64_t* ids, std::uint64_t count,
                  void* data, std::uint64_t size, Type type, const Shape& shape);

  /// Registers one value that is alike on every rank; rank 0's is saved. Alike, but for the memory.
  /// @param name   name in the file; copied
  /// @param value  the value
  /// @throws Error as array().
  template <class T>
  void value(const std::string& name, T& value) {
    value_raw(name, &value, type_of<T>());
  }
  /// value() of a type that is known at run time. Alike, but for the memory.
  void value_raw(const std::string& name, void* value, Type type);

  /// Registers a text that is alike on every rank; rank 0's is saved. Alike, but for the memory.
  /// @param name        name in the file; copied
  /// @param text        UTF-8; a longer one than `most_bytes` makes save() fail
  /// @param most_bytes  its room in the file, 1 to 8388607
  /// @throws Error as array(); `invalid_argument` (the room).
  void text(const std::string& name, std::string& text, std::uint32_t most_bytes = 256);
  /// text() in memory of `capacity` bytes that ends in a NUL or is full. Alike, but for the memory.
  void text_raw(const std::string& name, char* text, std::uint32_t capacity);

  /// Registers bytes of this rank of which only the program knows what they mean, such as the state
  /// of a random generator. Alike, but for the memory.
  ///
  /// They cannot be dealt to another number of ranks.
  /// @param name       name in the file; copied
  /// @param data       the bytes
  /// @param bytes      their number, at least 1, the same on every rank
  /// @param otherwise  what another number of ranks does with them
  /// @throws Error as array(); `invalid_argument` (no bytes).
  void bytes(const std::string& name, void* data, std::uint64_t bytes,
             OnOtherRanks otherwise = OnOtherRanks::refuse);

  /// @}
  /// @name Saving and restoring
  /// @{

  /// Brings the newest good checkpoint back into the registered memory. Collective; once, before
  /// the first save().
  ///
  /// A checkpoint is good if every registered value can be read and matches its checksum. Where
  /// there is no file, the memory stays as it is. After an Error it may hold parts of a checkpoint,
  /// and save() does not replace what is there.
  /// @return what was taken; false where there is no file
  /// @throws Error `damaged` (no checkpoint in the file is good), `format` (the file holds no
  ///         checkpoints), `not_found`, `type_mismatch`, `invalid_argument` (the file holds
  ///         something else than what is registered), `unsupported` (bytes of another number of
  ///         ranks), `wrong_state` (a second restore, or one after a save), and those of opening
  ///         the file.
  Restored restore();

  /// Whether a checkpoint is due. Collective; call it once a step.
  ///
  /// The answer is the same on every rank: rank 0's clock decides. The call costs one reduction of
  /// two numbers. With `forward` between nodes it moves the last save on, as File::poll() does.
  /// From the first call on SIGTERM and SIGUSR1 (where the program has no handlers of its own, and
  /// CheckpointOptions::signals is true) no longer end the process: they make a checkpoint due on
  /// every rank, and so does the end of the job's time. ending() is then true.
  /// @return true: save() now
  bool due();
  /// Whether the job is about to end, as the last due() found: save() is then the last one. Local.
  bool ending() const;

  /// Saves a checkpoint. Collective.
  ///
  /// It returns when the checkpoint is on stable storage (with CheckpointOptions::scratch: on that
  /// of the nodes); with strategy `forward` when the memory may change again. The next save() or
  /// drain() then waits for the rest, and while ending() it drains by itself. A failure
  /// leaves the checkpoints before it, and is the same on every rank.
  ///
  /// Without restore() the first one replaces the checkpoints of the file; a file that holds none
  /// is not replaced (the failure is `exists`). After restore() it goes on behind the checkpoint
  /// that was taken, and drops newer ones, which were damaged. After a restore() that failed, the
  /// failure is `wrong_state` as long as the file is there: choose another name, restore what is
  /// there, or replace it by a new Checkpoint whose first call of the file is save().
  /// @param time  stored with it, in the simulation's unit
  /// @return what was done; false where it could not be written (OnFailedSave::report)
  /// @throws Error `timeout`, `mpi`, after which the ranks no longer agree; with OnFailedSave::stop
  ///         every other failure.
  Saved save(double time);
  /// Waits until what was saved is on stable storage, in the folder of the file. Collective; for
  /// strategy `forward` and CheckpointOptions::scratch.
  /// @param seconds  the longest wait
  /// @return whether it is there
  /// @throws Error the failure of the checkpoint.
  bool drain(double seconds);
  /// Closes the file, and gives the program its signals back. Collective.
  /// @throws Error the failure of the last checkpoint; `wrong_state` (a second close).
  void close();

  /// @}

 private:
  detail::CheckpointImpl& impl() const;

  std::unique_ptr<detail::CheckpointImpl> impl_;  ///< nullptr: moved from
};

}  // namespace sluice
