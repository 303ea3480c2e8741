// Checkpoints: the state of a run, saved now and then, and restored on any number of ranks.
//
//   sluice::Checkpoint state(comm, "state.h5");
//   state.array("temperature", u.data(), {rows, columns}, {.start = {first, 0}, .count = {n,
//   columns}}); state.value("step", step); state.restore();                     // what is there,
//   into u and step; else they stay for (; step < steps; ++step) {
//     if (state.due()) state.save(step * dt);
//     if (state.ending()) break;         // SIGTERM, SIGUSR1, or the end of the job's time
//     advance(u);
//   }
//   state.close();
//
// A checkpoint is a step of a set of parts (docs/durability.md): it is there wholly or not at all,
// and the one before stays until the new one is on stable storage. The file is plain HDF5.
// Conventions as in sluice.hpp: "collective" calls are made by every rank, in the same order. What
// is registered is alike on every rank, in the same order, but for pointers and places.
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
  report,  ///< save() says why in what it returns, and rank 0 in a message; the run goes on
  stop,    ///< save() throws
};

/// What becomes of bytes that belong to a rank where other ranks restore them than saved them.
enum class OnOtherRanks : std::uint8_t {
  refuse,  ///< restore() is Error unsupported
  keep,    ///< they stay as they are; Restored::kept names them
};

struct CheckpointOptions {
  std::uint64_t keep = 2;  ///< the last so many checkpoints stay; 0: all, in one file
  OnFailedSave on_failed_save = OnFailedSave::report;
  // When due() says so. Without interval_s and interval_calls: by what a checkpoint costs and how
  // often the job fails, by Daly's formula.
  double interval_s = 0;             ///< so long after the last one; 0: not by the clock
  std::uint64_t interval_calls = 0;  ///< at every so many-th call of due(); 0: not by calls
  double failure_interval_s = 0;     ///< mean time between failures of the whole job; 0: five years
                                     ///< divided by its nodes
  /// When the job will be killed, in seconds since 1970; 0: what SLURM_JOB_END_TIME says, if it is
  /// set; negative: never.
  double end_time_s = 0;
  double margin_s = 0;  ///< so long before it the last one is due; 0: by what was measured
  bool signals = true;  ///< SIGTERM and SIGUSR1 make the last one due (Checkpoint::due)
  Options file = {};    ///< of the file; keep_last and restart_after are refused
};

/// A checkpoint that restore() did not take.
struct RejectedCheckpoint {
  std::uint64_t number = 0;  ///< 0: not even that can be read
  std::string why;
};

/// What restore() took.
struct Restored {
  std::uint64_t number = 0;  ///< from 1, as save() counts; 0: there was no checkpoint
  double time = 0;           ///< given to save()
  int ranks = 0;             ///< that wrote it
  std::vector<RejectedCheckpoint> newer = {};  ///< damaged ones, the newest first
  std::vector<std::string> kept = {};          ///< bytes that other ranks than these had saved

  explicit operator bool() const noexcept { return number != 0; }
};

/// What save() did.
struct Saved {
  std::uint64_t number = 0;  ///< of the checkpoint; 0: it could not be written
  double seconds = 0;        ///< in the call, on the slowest rank
  std::string why = {};      ///< it could not be written; the last good one is still there

  explicit operator bool() const noexcept { return number != 0; }
};

/// The state of a run and its file. Used by one thread of a rank at a time. Still open at
/// MPI_Finalize it is closed there. Every call on one that was moved from is Error wrong_state.
class Checkpoint {
 public:
  /// Opens nothing yet: the file need not be there. Collective over `comm`, which is duplicated.
  Checkpoint(const Comm& comm, const std::string& path, const CheckpointOptions& options = {});
  explicit Checkpoint(std::unique_ptr<detail::CheckpointImpl> impl);
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;
  /// Closes, and reports what fails to stderr.
  ~Checkpoint();

  // -- what the state is ------------------------------------------------------------------------
  // Local. The memory stays the caller's: save() reads it, restore() writes it. Registered again
  // under its name (same type and shape: Error exists otherwise) something has a new place: after
  // the ranks have moved their parts, or a vector has grown. Names as of variables; "checkpoint/"
  // is the library's own.

  /// An array by its place: this rank's part of an array of all ranks (docs of Selection, with
  /// ghost cells too). Parts do not overlap, and leave no holes.
  template <class T>
  void array(const std::string& name, T* data, const Shape& shape, const Selection& mine = {}) {
    array_raw(name, data, type_of<T>(), shape, mine);
  }
  void array_raw(const std::string& name, void* data, Type type, const Shape& shape,
                 const Selection& mine);
  /// An array by rows: row i of `data` (all dimensions but the first, row-major) is row ids[i],
  /// each of one rank. The ids are copied. What was saved by rows may be restored by place, and the
  /// other way round.
  template <class T>
  void rows(const std::string& name, T* data, const Shape& shape, const std::uint64_t* ids,
            std::uint64_t count) {
    rows_raw(name, data, type_of<T>(), shape, ids, count);
  }
  void rows_raw(const std::string& name, void* data, Type type, const Shape& shape,
                const std::uint64_t* ids, std::uint64_t count);
  /// One value that is alike on every rank; rank 0's is saved.
  template <class T>
  void value(const std::string& name, T& value) {
    value_raw(name, &value, type_of<T>());
  }
  void value_raw(const std::string& name, void* value, Type type);
  /// A text of at most `most_bytes` (a longer one makes save() fail), likewise.
  void text(const std::string& name, std::string& text, std::uint32_t most_bytes = 256);
  /// The same in memory for `capacity` bytes that ends in a NUL, or is full.
  void text_raw(const std::string& name, char* text, std::uint32_t capacity);
  /// Bytes of this rank of which only the program knows what they mean, such as a random
  /// generator's state; as many on every rank. They cannot be dealt to other ranks: restored on
  /// another number of ranks than saved them they are refused, or kept as they are.
  void bytes(const std::string& name, void* data, std::uint64_t bytes,
             OnOtherRanks otherwise = OnOtherRanks::refuse);

  // -- saving and restoring -----------------------------------------------------------------------
  /// Brings back the newest checkpoint of which every registered value can be read and matches its
  /// checksum. Where there is no file: an empty Restored, and the memory stays as it is. Where
  /// there is one but nothing in it is good: Error damaged; where it holds something else than what
  /// is registered: not_found, type_mismatch or invalid_argument, which names it. After an Error
  /// the memory may hold parts of a checkpoint. Before the first save(). Collective.
  Restored restore();
  /// Is a checkpoint due? The same answer on every rank: rank 0's clock decides. Costs one
  /// reduction of a number; call it once a step. From the first call on SIGTERM and SIGUSR1 (where
  /// the program has no handlers of its own, and `signals` is true) no longer end the process, but
  /// make a checkpoint due on every rank, and ending() true: so does the end of the job's time.
  /// Collective.
  bool due();
  /// Is the job about to end, as the last due() found? Then save() is the last one. Local.
  bool ending() const;
  /// Saves a checkpoint; `time` is stored with it. The first one replaces a file of which nothing
  /// was restored; after restore() it goes on behind the one that was taken, and newer ones, which
  /// were damaged, are dropped. Returns when it is on stable storage (with strategy forward and
  /// keep 0: when the memory may change again; the next save() or drain() then waits for it; while
  /// ending() it drains by itself). A failure leaves the checkpoints before it, and is reported as
  /// CheckpointOptions::on_failed_save says, the same on every rank; Error timeout and mpi, after
  /// which the ranks no longer agree, are always thrown. Collective.
  Saved save(double time);
  /// Strategy forward: waits until what was saved is on stable storage, at most so many seconds;
  /// true if it is. Throws what it met. Collective.
  bool drain(double seconds);
  /// Collective. A second close is Error wrong_state.
  void close();

 private:
  detail::CheckpointImpl& impl() const;

  std::unique_ptr<detail::CheckpointImpl> impl_;  ///< nullptr: moved from
};

}  // namespace sluice
