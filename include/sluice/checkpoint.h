/* Checkpoints for C: the state of a run, saved now and then, and restored on any number of ranks.
 * See checkpoint.hpp for what each call means; the conventions of sluice.h hold here, but messages
 * of failures are those of the thread: sluice_last_error(NULL).
 *
 *   sluice_checkpoint *state;
 *   sluice_checkpoint_open(comm, "state.h5", NULL, &state);
 *   sluice_checkpoint_array(state, "u", SLUICE_FLOAT64, u, 2, shape, start, count);
 *   sluice_checkpoint_value(state, "step", SLUICE_INT32, &step);
 *   sluice_checkpoint_restore(state, NULL);
 *   for (; step < steps && !ending; ++step) {
 *     ...
 *     sluice_checkpoint_due(state, &due);
 *     if (due) sluice_checkpoint_save(state, t, NULL);
 *     sluice_checkpoint_ending(state, &ending);
 *   }
 *   sluice_checkpoint_close(state);
 *   sluice_checkpoint_free(state);
 */
#ifndef SLUICE_CHECKPOINT_H
#define SLUICE_CHECKPOINT_H

#include "sluice/sluice.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_checkpoint sluice_checkpoint;

/* As CheckpointOptions of checkpoint.hpp. */
typedef struct sluice_checkpoint_options {
  size_t size;                 /* set by SLUICE_CHECKPOINT_OPTIONS_INIT */
  int64_t keep;                /* the last so many stay; 0: all, in one file */
  int32_t stop_on_failed_save; /* 1: sluice_checkpoint_save() returns the failure; 0: it returns
                                  SLUICE_OK, and sluice_saved says why */
  int32_t ignore_signals;      /* 1: SIGTERM and SIGUSR1 are left alone */
  double interval_s;           /* 0: not by the clock */
  int64_t interval_calls;      /* 0: not by calls of sluice_checkpoint_due() */
  double failure_interval_s;   /* 0: five years divided by the nodes */
  double end_time_s;           /* since 1970; 0: of SLURM_JOB_END_TIME; negative: never */
  double margin_s;             /* 0: by what was measured */
  const char* file_options;    /* lines in TOML form, as of sluice_open(); NULL: the defaults */
} sluice_checkpoint_options;
#define SLUICE_CHECKPOINT_OPTIONS_INIT \
  { sizeof(sluice_checkpoint_options), 2, 0, 0, 0, 0, 0, 0, 0, NULL }

/* What sluice_checkpoint_restore() took. The texts are the handle's, until its next restore. */
typedef struct sluice_restored {
  size_t size;      /* set by SLUICE_RESTORED_INIT */
  int64_t number;   /* from 1; 0: there was no checkpoint */
  double time;      /* given to sluice_checkpoint_save() */
  int32_t ranks;    /* that wrote it */
  int32_t newer;    /* newer ones that were damaged */
  const char* why;  /* a line for each of them, the newest first; else "" */
  const char* kept; /* a line for each name whose bytes other ranks had saved; else "" */
} sluice_restored;
#define SLUICE_RESTORED_INIT \
  { sizeof(sluice_restored), 0, 0, 0, 0, NULL, NULL }

/* What sluice_checkpoint_save() did. The text is the handle's, until its next save. */
typedef struct sluice_saved {
  size_t size;     /* set by SLUICE_SAVED_INIT */
  int64_t number;  /* of the checkpoint; 0: it could not be written */
  double seconds;  /* in the call, on the slowest rank */
  const char* why; /* it could not; else "" */
} sluice_saved;
#define SLUICE_SAVED_INIT \
  { sizeof(sluice_saved), 0, 0, NULL }

/* options: NULL for the defaults. Collective over comm, which is duplicated. */
SLUICE_API int sluice_checkpoint_open_comm(sluice_comm comm, const char* path,
                                           const sluice_checkpoint_options* options,
                                           sluice_checkpoint** checkpoint);
#ifndef SLUICE_NO_MPI_H
static inline int sluice_checkpoint_open(MPI_Comm comm, const char* path,
                                         const sluice_checkpoint_options* options,
                                         sluice_checkpoint** checkpoint) {
  return sluice_checkpoint_open_comm(sluice_comm_of(comm), path, options, checkpoint);
}
#endif
/* The same for the integer handle of Fortran, and for this process alone, without MPI. */
SLUICE_API int sluice_checkpoint_open_f(int comm, const char* path,
                                        const sluice_checkpoint_options* options,
                                        sluice_checkpoint** checkpoint);
SLUICE_API int sluice_checkpoint_open_serial(const char* path,
                                             const sluice_checkpoint_options* options,
                                             sluice_checkpoint** checkpoint);

/* -- what the state is: same, but for pointers and places, which are a rank's own. The memory stays
 * the caller's, and must be there until it is registered anew or the checkpoint is closed. ------
 */

/* This rank's part of an array of `rank` dimensions. start, count: NULL: all of it. */
SLUICE_API int sluice_checkpoint_array(sluice_checkpoint* checkpoint, const char* name,
                                       sluice_type type, void* data, int rank, const int64_t* shape,
                                       const int64_t* start, const int64_t* count);
/* The same with all that a selection says. stride_bytes: of a part of an array with ghost cells;
 * others are SLUICE_ERROR_UNSUPPORTED. */
SLUICE_API int sluice_checkpoint_array_selection(sluice_checkpoint* checkpoint, const char* name,
                                                 sluice_type type, void* data, int rank,
                                                 const int64_t* shape,
                                                 const sluice_selection* selection);
/* Rows by global index; the ids are copied. */
SLUICE_API int sluice_checkpoint_rows(sluice_checkpoint* checkpoint, const char* name,
                                      sluice_type type, void* data, int rank, const int64_t* shape,
                                      int64_t rows, const int64_t* ids);
/* One value that is alike on every rank. */
SLUICE_API int sluice_checkpoint_value(sluice_checkpoint* checkpoint, const char* name,
                                       sluice_type type, void* value);
/* A text, alike on every rank, that ends in a NUL or fills its `capacity` bytes. */
SLUICE_API int sluice_checkpoint_text(sluice_checkpoint* checkpoint, const char* name, char* text,
                                      int64_t capacity);
/* Bytes of this rank, as many on every rank. keep_on_other_ranks: 1: they stay as they are where
 * another number of ranks restores them; 0: that is SLUICE_ERROR_UNSUPPORTED. */
SLUICE_API int sluice_checkpoint_bytes(sluice_checkpoint* checkpoint, const char* name, void* data,
                                       int64_t bytes, int32_t keep_on_other_ranks);

/* -- saving and restoring ---------------------------------------------------------------------- */

/* restored, saved: may be NULL. Collective. */
SLUICE_API int sluice_checkpoint_restore(sluice_checkpoint* checkpoint, sluice_restored* restored);
SLUICE_API int sluice_checkpoint_save(sluice_checkpoint* checkpoint, double time,
                                      sluice_saved* saved);
/* *due: is a checkpoint due? The same on every rank. Once a step. Collective. */
SLUICE_API int sluice_checkpoint_due(sluice_checkpoint* checkpoint, int32_t* due);
/* *ending: did the last sluice_checkpoint_due() find that the job is about to end? Local. */
SLUICE_API int sluice_checkpoint_ending(sluice_checkpoint* checkpoint, int32_t* ending);
/* Strategy forward: as sluice_drain(), but collective. */
SLUICE_API int sluice_checkpoint_drain(sluice_checkpoint* checkpoint, double seconds, int32_t* all);
/* Collective. The handle stays until sluice_checkpoint_free(). */
SLUICE_API int sluice_checkpoint_close(sluice_checkpoint* checkpoint);
/* Gives the handle back; NULL is fine. What was saved stays. */
SLUICE_API void sluice_checkpoint_free(sluice_checkpoint* checkpoint);

#ifdef __cplusplus
}
#endif

#endif
