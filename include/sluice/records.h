/* Records for C: what each rank writes value by value, as one stream a rank, found again by as many
 * or by other ranks. See records.hpp for what a file holds; the conventions of sluice.h hold here,
 * but messages of failures are those of the thread: sluice_last_error(NULL).
 *
 *   sluice_records *out;
 *   sluice_records_open(comm, "traj.rec", "w", "", &out);
 *   sluice_part *mine = sluice_records_part(out, 0);
 *   for (...) {
 *     for (i = 0; i < n; ++i) {
 *       sluice_part_write(mine, SLUICE_INT32, &id[i], 1);
 *       sluice_part_write(mine, SLUICE_FLOAT64, x[i], 3);
 *     }
 *     sluice_records_commit(out, NULL);
 *   }
 *   sluice_records_close(out);
 *   sluice_records_free(out);
 */
#ifndef SLUICE_RECORDS_H
#define SLUICE_RECORDS_H

#include "sluice/sluice.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_records sluice_records;
/* One stream; belongs to its sluice_records. */
typedef struct sluice_part sluice_part;

/* Types of values beyond sluice_type: what Fortran's compilers have. Little-endian; the 10 bytes of
 * the x87 are padded to 16. */
enum {
  SLUICE_INT128 = 64,
  SLUICE_FLOAT80 = 65,
  SLUICE_FLOAT128 = 66,
  SLUICE_COMPLEX160 = 67,
  SLUICE_COMPLEX256 = 68
};

/* mode, options, records: as in sluice_open(). "a" appends record groups. */
/* Collective over comm, which is duplicated. */
SLUICE_API int sluice_records_open_comm(sluice_comm comm, const char* path, const char* mode,
                                        const char* options, sluice_records** records);
#ifndef SLUICE_NO_MPI_H
static inline int sluice_records_open(MPI_Comm comm, const char* path, const char* mode,
                                      const char* options, sluice_records** records) {
  return sluice_records_open_comm(sluice_comm_of(comm), path, mode, options, records);
}
#endif
SLUICE_API int sluice_records_open_f(int comm, const char* path, const char* mode,
                                     const char* options, sluice_records** records);
/* This process alone, in place of `parts` ranks, without MPI. */
SLUICE_API int sluice_records_open_parts(const char* path, const char* mode, const char* options,
                                         int parts, sluice_records** records);
/* Streams of this process: 1, or the number given; and stream `part`, NULL where there is none. */
SLUICE_API int sluice_records_parts(const sluice_records* records);
SLUICE_API sluice_part* sluice_records_part(sluice_records* records, int part);
/* Record groups that are in the file. */
SLUICE_API int sluice_records_groups(sluice_records* records, int64_t* groups);

/* A text about the file, alike on every rank; it is there after the next commit. `name` is none
 * that begins with sluice_, but sluice_template: docs/formats/records.md. */
SLUICE_API int sluice_records_set_text(sluice_records* records, const char* name, const char* text);

/* Copies `count` dense values into memory; no I/O. Local, and made for a call a value. */
SLUICE_API int sluice_part_write(sluice_part* part, sluice_type type, const void* values,
                                 int64_t count);
/* Appends what all ranks have written as one record group. Collective. durable: NULL, or whether
 * the group survives kill -9 and a power cut already. */
SLUICE_API int sluice_records_commit(sluice_records* records, int32_t* durable);

/* Brings a record group into memory, this rank's parts of it; group -1: the next one.
 * SLUICE_ERROR_OUT_OF_BOUNDS where there is none. Collective. */
SLUICE_API int sluice_records_fetch(sluice_records* records, int64_t group);
/* Copies the next values out. SLUICE_ERROR_TYPE_MISMATCH, naming both types, where the next ones
 * are of another type, SLUICE_ERROR_OUT_OF_BOUNDS where there are no more. Local. */
SLUICE_API int sluice_part_read(sluice_part* part, sluice_type type, void* values, int64_t count);
/* *yes: has everything of the group been read? Local. */
SLUICE_API int sluice_part_at_end(sluice_part* part, int32_t* yes);

/* What was written since the last commit is dropped. Collective. */
SLUICE_API int sluice_records_close(sluice_records* records);
/* Gives the handle back; NULL is fine. Of one that is open nothing more is committed. */
SLUICE_API void sluice_records_free(sluice_records* records);

#ifdef __cplusplus
}
#endif

#endif
