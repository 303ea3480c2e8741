/** @file
 * Checkpoints for C: the state of a run, saved now and then, and restored on any number of ranks.
 *
 *     sluice_checkpoint *state;
 *     sluice_checkpoint_open(comm, "state.h5", NULL, &state);
 *     sluice_checkpoint_array(state, "u", SLUICE_FLOAT64, u, 2, shape, start, count);
 *     sluice_checkpoint_value(state, "step", SLUICE_INT32, &step);
 *     sluice_checkpoint_restore(state, NULL);
 *     for (; step < steps; ++step) {
 *       sluice_checkpoint_due(state, &due);
 *       if (due) sluice_checkpoint_save(state, t, NULL);
 *       sluice_checkpoint_ending(state, &ending);
 *       if (ending) break;  // SIGTERM, SIGUSR1, or the end of the job's time
 *       ...
 *     }
 *     sluice_checkpoint_close(state);
 *     sluice_checkpoint_free(state);
 *
 * **What is registered** is alike on every rank, in the same order, but for memory and places. The
 * memory stays the caller's: sluice_checkpoint_save() reads it, sluice_checkpoint_restore() writes
 * it. It must be there until it is registered anew, or the checkpoint is closed. Registered again
 * under its name, with the same type and shape, something has a new place. New names come before
 * the first save (SLUICE_ERROR_WRONG_STATE): a checkpoint holds everything. Names are as of
 * variables; the group "checkpoint" is the library's own.
 *
 * The conventions of sluice.h apply, with one difference: messages of failures are those of the
 * thread, sluice_last_error(NULL).
 */
#ifndef SLUICE_CHECKPOINT_H
#define SLUICE_CHECKPOINT_H

#include "sluice/sluice.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup c_checkpoint Checkpoints
 * @{ */

/** The state of a run and its file. */
typedef struct sluice_checkpoint sluice_checkpoint;

/** As sluice_checkpoint_options::keep: every checkpoint stays. */
#define SLUICE_KEEP_ALL (-1)

/** What sluice_checkpoint_open() takes beside communicator and path. A field that is 0 has its
 * default. */
typedef struct sluice_checkpoint_options {
  size_t size;                 /**< Set by SLUICE_CHECKPOINT_OPTIONS_INIT. */
  int64_t keep;                /**< The last so many checkpoints stay; SLUICE_KEEP_ALL: all, in one
                                    file. Default: 0, the last two. */
  int32_t stop_on_failed_save; /**< 1: sluice_checkpoint_save() returns the failure; 0: it returns
                                    SLUICE_OK, and sluice_saved says why. Default: 0. */
  int32_t ignore_signals;      /**< 1: SIGTERM and SIGUSR1 are left alone. Default: 0. */
  double interval_s;           /**< A checkpoint is due so long after the last one. Default: 0, not
                                    by the clock. */
  int64_t interval_calls;      /**< One is due at every so many-th call of sluice_checkpoint_due().
                                    Default: 0, not by calls. */
  double failure_interval_s;   /**< Mean time between failures of the whole job. Default: 0, five
                                    years divided by its nodes. */
  double end_time_s;           /**< When the job will be killed, in seconds since 1970; negative:
                                    never. Default: 0, what SLURM_JOB_END_TIME says, where set. */
  double margin_s;             /**< The last checkpoint is due so long before that. Default: 0, by
                                    what was measured. */
  const char* file_options;    /**< Lines of TOML, as for sluice_open(), but neither keep_last nor
                                    restart_after. Where parts lie and which stay is changed only
                                    here and in the file's own table of sluice.toml. Default: NULL,
                                    the defaults. */
  const char* scratch;         /**< Node-local storage, such as "$TMPDIR": a checkpoint is written
                                    there, and drained in the background while the run goes on.
                                    Default: NULL, to the file at once. */
  int32_t incremental;         /**< 1: a save leaves out what no rank has changed since the
                                    checkpoint before the last one, and refers to its bytes there;
                                    it needs keep, and excludes split_steps and split_bytes.
                                    Default: 0. */
} sluice_checkpoint_options;
/** Defaults of sluice_checkpoint_options. */
#define SLUICE_CHECKPOINT_OPTIONS_INIT \
  { sizeof(sluice_checkpoint_options), 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, 0 }

/** What sluice_checkpoint_restore() took. The texts are the handle's, until its next restore. */
typedef struct sluice_restored {
  size_t size;      /**< Set by SLUICE_RESTORED_INIT. */
  int64_t number;   /**< Number of the checkpoint, from 1; 0: there was none. */
  double time;      /**< What sluice_checkpoint_save() got. */
  int32_t ranks;    /**< Number of ranks that saved it. */
  int32_t newer;    /**< Number of newer ones, which were damaged. */
  const char* why;  /**< A line for each of them, the newest first; else "". */
  const char* kept; /**< A line for each name whose bytes other ranks had saved; else "". */
} sluice_restored;
/** A sluice_restored to be filled. */
#define SLUICE_RESTORED_INIT \
  { sizeof(sluice_restored), 0, 0, 0, 0, NULL, NULL }

/** What sluice_checkpoint_save() did. The text is the handle's, until its next save. */
typedef struct sluice_saved {
  size_t size;     /**< Set by SLUICE_SAVED_INIT. */
  int64_t number;  /**< Number of the checkpoint; 0: it could not be written. */
  double seconds;  /**< Time in the call, on the slowest rank. */
  const char* why; /**< Why it could not be written; else "". */
  /** Why the checkpoint before it was lost on its way to the disk; else "". Only where a thread of
      the library writes it (strategy `forward`). That of the last save is an error of
      sluice_checkpoint_drain() and sluice_checkpoint_close(). */
  const char* lost;
} sluice_saved;
/** A sluice_saved to be filled. */
#define SLUICE_SAVED_INIT \
  { sizeof(sluice_saved), 0, 0, NULL, NULL }

/** Opens the checkpoints of one file, which need not be there.
 *
 * Collective over `comm`. Programs with an MPI_Comm call sluice_checkpoint_open(). The file itself
 * is opened by sluice_checkpoint_restore() and sluice_checkpoint_save().
 * @param comm        the ranks that save and restore, an intracommunicator; it is duplicated
 * @param path        the file, the same on every rank
 * @param options     NULL: the defaults
 * @param checkpoint  receives the handle, to be given to sluice_checkpoint_close() and
 *                    sluice_checkpoint_free(); NULL on failure
 * @retval SLUICE_OK                      success
 * @retval SLUICE_ERROR_INVALID_ARGUMENT  an option, or `comm` is MPI_COMM_NULL
 * @retval SLUICE_ERROR_UNSUPPORTED       a field of `options` that the library does not know; a
 *                                        format or an object store that cannot keep the last few
 * @retval SLUICE_ERROR_MPI               the process has no MPI that fits */
SLUICE_API int sluice_checkpoint_open_comm(sluice_comm comm, const char* path,
                                           const sluice_checkpoint_options* options,
                                           sluice_checkpoint** checkpoint);
#ifndef SLUICE_NO_MPI_H
/** sluice_checkpoint_open_comm() for a communicator of the program's own MPI.
 *
 * Collective over `comm`.
 * @param comm        the ranks that save and restore; it is duplicated
 * @param path        as for sluice_checkpoint_open_comm()
 * @param options     as for sluice_checkpoint_open_comm()
 * @param checkpoint  as for sluice_checkpoint_open_comm()
 * @return as sluice_checkpoint_open_comm() */
static inline int sluice_checkpoint_open(MPI_Comm comm, const char* path,
                                         const sluice_checkpoint_options* options,
                                         sluice_checkpoint** checkpoint) {
  return sluice_checkpoint_open_comm(sluice_comm_of(comm), path, options, checkpoint);
}
#endif
/** sluice_checkpoint_open_comm() for the integer handle of Fortran.
 *
 * Collective over `comm`.
 * @param comm        MPI_Comm_c2f, or MPI_VAL of mpi_f08
 * @param path        as for sluice_checkpoint_open_comm()
 * @param options     as for sluice_checkpoint_open_comm()
 * @param checkpoint  as for sluice_checkpoint_open_comm()
 * @return as sluice_checkpoint_open_comm() */
SLUICE_API int sluice_checkpoint_open_f(int comm, const char* path,
                                        const sluice_checkpoint_options* options,
                                        sluice_checkpoint** checkpoint);
/** sluice_checkpoint_open_comm() for this process alone, without MPI.
 *
 * Local.
 * @param path        as for sluice_checkpoint_open_comm()
 * @param options     as for sluice_checkpoint_open_comm()
 * @param checkpoint  as for sluice_checkpoint_open_comm()
 * @return as sluice_checkpoint_open_comm() */
SLUICE_API int sluice_checkpoint_open_serial(const char* path,
                                             const sluice_checkpoint_options* options,
                                             sluice_checkpoint** checkpoint);

/** Registers this rank's part of an array of all ranks, by its place.
 *
 * Alike, but for `data`, `start` and `count`. The parts of the ranks do not overlap and leave no
 * holes.
 * @param checkpoint  an open checkpoint
 * @param name        name in the file; "/" makes groups
 * @param type        type in memory and in the file
 * @param data        the part, row-major; the caller's
 * @param rank        number of dimensions
 * @param shape       `rank` numbers of elements of the whole array
 * @param start       first element of the part; NULL: zeros
 * @param count       elements of the part; NULL: up to the shape's end
 * @retval SLUICE_OK                      success
 * @retval SLUICE_ERROR_EXISTS            it is registered with another type or shape
 * @retval SLUICE_ERROR_BAD_NAME          the name
 * @retval SLUICE_ERROR_INVALID_ARGUMENT  type or shape, or no data of a part that has elements
 * @retval SLUICE_ERROR_OUT_OF_BOUNDS     the part is not inside the shape */
SLUICE_API int sluice_checkpoint_array(sluice_checkpoint* checkpoint, const char* name,
                                       sluice_type type, void* data, int rank, const int64_t* shape,
                                       const int64_t* start, const int64_t* count);
/** sluice_checkpoint_array() with all that a selection says, such as ghost cells.
 *
 * Alike, but for `data` and `selection`.
 * @param checkpoint  as for sluice_checkpoint_array()
 * @param name        as for sluice_checkpoint_array()
 * @param type        as for sluice_checkpoint_array()
 * @param data        the memory of `selection`
 * @param rank        as for sluice_checkpoint_array()
 * @param shape       as for sluice_checkpoint_array()
 * @param selection   the part; NULL: the whole array. Its stride_bytes must be those of a part of a
 *                    dense array
 * @return a code of sluice_checkpoint_array(), or a listed code
 * @retval SLUICE_ERROR_UNSUPPORTED  stride_bytes with other gaps than ghost cells */
SLUICE_API int sluice_checkpoint_array_selection(sluice_checkpoint* checkpoint, const char* name,
                                                 sluice_type type, void* data, int rank,
                                                 const int64_t* shape,
                                                 const sluice_selection* selection);
/** Registers rows of an array of all ranks, by global index.
 *
 * Alike, but for `data`, `rows` and `ids`. Each row belongs to exactly one rank. What was saved by
 * rows may be restored by place, and the other way round.
 * @param checkpoint  an open checkpoint
 * @param name        as for sluice_checkpoint_array()
 * @param type        as for sluice_checkpoint_array()
 * @param data        `rows` rows, row-major, each of all dimensions but the first; the caller's
 * @param rank        number of dimensions, at least 1
 * @param shape       `rank` numbers of elements of the whole array
 * @param rows        number of rows of this rank, 0 too
 * @param ids         the global index of each; copied
 * @return as sluice_checkpoint_array() */
SLUICE_API int sluice_checkpoint_rows(sluice_checkpoint* checkpoint, const char* name,
                                      sluice_type type, void* data, int rank, const int64_t* shape,
                                      int64_t rows, const int64_t* ids);
/** Registers one value that is alike on every rank.
 *
 * Alike, but for the memory. Rank 0's value is saved.
 * @param checkpoint  an open checkpoint
 * @param name        as for sluice_checkpoint_array()
 * @param type        as for sluice_checkpoint_array()
 * @param value       the value; the caller's
 * @return as sluice_checkpoint_array() */
SLUICE_API int sluice_checkpoint_value(sluice_checkpoint* checkpoint, const char* name,
                                       sluice_type type, void* value);
/** Registers a text that is alike on every rank.
 *
 * Alike, but for the memory. Rank 0's text is saved.
 * @param checkpoint  an open checkpoint
 * @param name        as for sluice_checkpoint_array()
 * @param text        UTF-8 that ends in a NUL or fills its memory; the caller's
 * @param capacity    bytes of that memory, 1 to SLUICE_STRING_BYTES_MAX, the same on every rank
 * @return as sluice_checkpoint_array() */
SLUICE_API int sluice_checkpoint_text(sluice_checkpoint* checkpoint, const char* name, char* text,
                                      int64_t capacity);
/** Registers bytes of this rank, such as the state of a random generator.
 *
 * Alike, but for the memory.
 * @param checkpoint           an open checkpoint
 * @param name                 as for sluice_checkpoint_array()
 * @param data                 the bytes; the caller's
 * @param bytes                their number, at least 1, the same on every rank
 * @param keep_on_other_ranks  1: they stay as they are where another number of ranks restores them;
 *                             0: sluice_checkpoint_restore() is then SLUICE_ERROR_UNSUPPORTED
 * @return as sluice_checkpoint_array() */
SLUICE_API int sluice_checkpoint_bytes(sluice_checkpoint* checkpoint, const char* name, void* data,
                                       int64_t bytes, int32_t keep_on_other_ranks);

/** Brings the newest good checkpoint back into the registered memory.
 *
 * Collective; once, before the first sluice_checkpoint_save(). A checkpoint is good if every
 * registered value can be read and matches its checksum. Where there is no file, the memory stays
 * as it is, and the number is 0. After a failure the memory may hold parts of a checkpoint, and
 * sluice_checkpoint_save() does not replace what is there.
 * @param checkpoint  an open checkpoint
 * @param restored    receives what was taken; may be NULL
 * @return a code of sluice_open_comm(), or a listed code
 * @retval SLUICE_OK                      success, also where there is no file
 * @retval SLUICE_ERROR_DAMAGED           no checkpoint in the file is good
 * @retval SLUICE_ERROR_FORMAT            the file holds no checkpoints
 * @retval SLUICE_ERROR_NOT_FOUND         a registered name is not in the file
 * @retval SLUICE_ERROR_TYPE_MISMATCH     it has another type there
 * @retval SLUICE_ERROR_INVALID_ARGUMENT  it has another shape there
 * @retval SLUICE_ERROR_UNSUPPORTED       bytes of another number of ranks
 * @retval SLUICE_ERROR_WRONG_STATE       a second restore, or one after a save */
SLUICE_API int sluice_checkpoint_restore(sluice_checkpoint* checkpoint, sluice_restored* restored);
/** Saves a checkpoint.
 *
 * Collective. It returns when the checkpoint is on stable storage (with `scratch`: on that of the
 * nodes); with strategy `forward` when the memory may change again. The next save or
 * sluice_checkpoint_drain() then waits for the rest, and while sluice_checkpoint_ending() gives 1
 * it drains by itself. A failure leaves the checkpoints before it. Without a restore the first save
 * replaces the checkpoints of the file; a file that holds none is not replaced (the failure is
 * SLUICE_ERROR_EXISTS). After a restore it goes on behind the checkpoint that was taken, and drops
 * newer ones, which were damaged. After a restore that failed, the failure is
 * SLUICE_ERROR_WRONG_STATE as long as the file is there: choose another name, restore what is
 * there, or replace it by a new handle whose first call of the file is this one.
 * @param checkpoint  an open checkpoint
 * @param time        stored with it, in the simulation's unit
 * @param saved       receives what was done; may be NULL
 * @return with stop_on_failed_save a code of sluice_open_comm() or sluice_end_step(), else a listed
 * code
 * @retval SLUICE_OK             success; without stop_on_failed_save also a failure, which `saved`
 *                               reports
 * @retval SLUICE_ERROR_TIMEOUT  a rank did not come
 * @retval SLUICE_ERROR_MPI      MPI failed */
SLUICE_API int sluice_checkpoint_save(sluice_checkpoint* checkpoint, double time,
                                      sluice_saved* saved);
/** Whether a checkpoint is due.
 *
 * Collective; call it once a step. The answer is the same on every rank: the clock of rank 0
 * decides. The call costs one reduction of two numbers. From the first call on SIGTERM and SIGUSR1,
 * where the program has no handlers of its own, no longer end the process: they make a checkpoint
 * due on every rank, and so does the end of the job's time. sluice_checkpoint_ending() is then 1.
 * @param checkpoint  an open checkpoint
 * @param due         receives 1 or 0
 * @return SLUICE_OK */
SLUICE_API int sluice_checkpoint_due(sluice_checkpoint* checkpoint, int32_t* due);
/** Whether the job is about to end, as the last sluice_checkpoint_due() found.
 *
 * Local. The next checkpoint is then the last one.
 * @param checkpoint  an open checkpoint
 * @param ending      receives 1 or 0
 * @return SLUICE_OK */
SLUICE_API int sluice_checkpoint_ending(sluice_checkpoint* checkpoint, int32_t* ending);
/** Waits until what was saved is on stable storage, in the folder of the file.
 *
 * Collective. For strategy `forward` and with `scratch`; otherwise it is there already.
 * @param checkpoint  an open checkpoint
 * @param seconds     the longest wait
 * @param all         receives 1 where all of it is there, else 0; may be NULL
 * @return SLUICE_OK, or the failure of the checkpoint */
SLUICE_API int sluice_checkpoint_drain(sluice_checkpoint* checkpoint, double seconds, int32_t* all);
/** Sets from which number on messages count steps, rows and elements.
 *
 * Local. For bindings. Arguments, and the numbers of checkpoints, are not affected.
 * @param checkpoint  an open checkpoint
 * @param first       0 (as at the start), or 1 for languages that count so
 * @return SLUICE_OK */
SLUICE_API int sluice_checkpoint_count_from(sluice_checkpoint* checkpoint, int32_t first);
/** Closes the file, and gives the program its signals back.
 *
 * Collective. The handle stays until sluice_checkpoint_free().
 * @param checkpoint  an open checkpoint
 * @return a code of sluice_close() */
SLUICE_API int sluice_checkpoint_close(sluice_checkpoint* checkpoint);
/** Frees a handle.
 *
 * Local. What was saved stays. With strategy `forward` what is still on its way may be lost unless
 * the checkpoint was closed.
 * @param checkpoint  a handle; NULL is fine */
SLUICE_API void sluice_checkpoint_free(sluice_checkpoint* checkpoint);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
