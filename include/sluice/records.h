/** @file
 * Records for C: what each rank writes value by value, as one stream for each rank, read back by
 * the same or another number of ranks.
 *
 *     sluice_records *out;
 *     sluice_records_open(comm, "traj.rec", "w", "", &out);
 *     sluice_part *mine = sluice_records_part(out, 0);
 *     for (...) {
 *       for (i = 0; i < n; ++i) {
 *         sluice_part_write(mine, SLUICE_INT32, &id[i], 1);
 *         sluice_part_write(mine, SLUICE_FLOAT64, x[i], 3);
 *       }
 *       sluice_records_commit(out, NULL);
 *     }
 *     sluice_records_close(out);
 *     sluice_records_free(out);
 *
 * A record group has one part for each writing rank, of any length. Where M ranks read what P ranks
 * wrote, rank r gets the parts r*P/M to (r+1)*P/M - 1, one after the other.
 *
 * The conventions of sluice.h apply, with one difference: messages of failures are those of the
 * thread, sluice_last_error(NULL).
 */
#ifndef SLUICE_RECORDS_H
#define SLUICE_RECORDS_H

#include "sluice/sluice.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup c_records Records
 * @{ */

/** An open file of records. */
typedef struct sluice_records sluice_records;
/** One stream of this process; it belongs to its sluice_records. */
typedef struct sluice_part sluice_part;

/** Types of values beyond sluice_type, which Fortran's compilers have. Little-endian; the 10 bytes
 * of the x87 are padded to 16. */
enum {
  SLUICE_INT128 = 64,     /**< Integer of 16 bytes. */
  SLUICE_FLOAT80 = 65,    /**< Extended precision of the x87. */
  SLUICE_FLOAT128 = 66,   /**< Quadruple precision. */
  SLUICE_COMPLEX160 = 67, /**< Two of SLUICE_FLOAT80. */
  SLUICE_COMPLEX256 = 68  /**< Two of SLUICE_FLOAT128. */
};

/** Opens a file of records.
 *
 * Collective over `comm`. Programs with an MPI_Comm call sluice_records_open().
 * @param comm     the ranks that use the file; it is duplicated
 * @param path     the file, the same on every rank
 * @param mode     as for sluice_open(); "a" appends record groups
 * @param options  as for sluice_open(), but `format` is records and `check` is off
 * @param records  receives the handle, to be given to sluice_records_close() and
 *                 sluice_records_free(); NULL on failure
 * @return a code of sluice_open_comm(), or a listed code
 * @retval SLUICE_ERROR_FORMAT       the file holds no records
 * @retval SLUICE_ERROR_UNSUPPORTED  a strategy that writes several files */
SLUICE_API int sluice_records_open_comm(sluice_comm comm, const char* path, const char* mode,
                                        const char* options, sluice_records** records);
#ifndef SLUICE_NO_MPI_H
/** sluice_records_open_comm() for a communicator of the program's own MPI.
 *
 * Collective over `comm`.
 * @param comm     the ranks that use the file; it is duplicated
 * @param path     as for sluice_records_open_comm()
 * @param mode     as for sluice_records_open_comm()
 * @param options  as for sluice_records_open_comm()
 * @param records  as for sluice_records_open_comm()
 * @return as sluice_records_open_comm() */
static inline int sluice_records_open(MPI_Comm comm, const char* path, const char* mode,
                                      const char* options, sluice_records** records) {
  return sluice_records_open_comm(sluice_comm_of(comm), path, mode, options, records);
}
#endif
/** sluice_records_open_comm() for the integer handle of Fortran.
 *
 * Collective over `comm`.
 * @param comm     MPI_Comm_c2f, or MPI_VAL of mpi_f08
 * @param path     as for sluice_records_open_comm()
 * @param mode     as for sluice_records_open_comm()
 * @param options  as for sluice_records_open_comm()
 * @param records  as for sluice_records_open_comm()
 * @return as sluice_records_open_comm() */
SLUICE_API int sluice_records_open_f(int comm, const char* path, const char* mode,
                                     const char* options, sluice_records** records);
/** Opens a file for this process alone, which stands for `parts` ranks, without MPI.
 *
 * Local.
 * @param path     as for sluice_records_open_comm()
 * @param mode     as for sluice_records_open_comm()
 * @param options  as for sluice_records_open_comm()
 * @param parts    number of streams, at least 1
 * @param records  as for sluice_records_open_comm()
 * @return as sluice_records_open_comm() */
SLUICE_API int sluice_records_open_parts(const char* path, const char* mode, const char* options,
                                         int parts, sluice_records** records);
/** The number of streams of this process.
 *
 * Local.
 * @param records  an open file
 * @return 1, or what sluice_records_open_parts() got */
SLUICE_API int sluice_records_parts(const sluice_records* records);
/** One stream of this process.
 *
 * Local.
 * @param records  an open file
 * @param part     its number from 0
 * @return the stream, the file's; NULL where there is none */
SLUICE_API sluice_part* sluice_records_part(sluice_records* records, int part);
/** The number of record groups in the file.
 *
 * Local.
 * @param records  an open file
 * @param groups   receives the number
 * @return SLUICE_OK */
SLUICE_API int sluice_records_groups(sluice_records* records, int64_t* groups);

/** Sets a text about the file, which the next commit writes.
 *
 * Alike.
 * @param records  a file opened for writing
 * @param name     name of the text, none that begins with `sluice_` (but `sluice_template`: see
 *                 docs/formats/records.md)
 * @param text     UTF-8, ended by NUL
 * @retval SLUICE_OK                      success
 * @retval SLUICE_ERROR_INVALID_ARGUMENT  a name of the library */
SLUICE_API int sluice_records_set_text(sluice_records* records, const char* name, const char* text);

/** Writes dense values: copies them into memory, without I/O.
 *
 * Local, and made for one call for each value.
 * @param part    a stream of a file opened for writing
 * @param type    type of the values
 * @param values  `count` values; copied
 * @param count   number of values
 * @retval SLUICE_OK                 success
 * @retval SLUICE_ERROR_OVER_BUDGET  there is no memory */
SLUICE_API int sluice_part_write(sluice_part* part, sluice_type type, const void* values,
                                 int64_t count);
/** Appends what all ranks have written since the last commit as one record group.
 *
 * Collective. On failure the file holds the groups before, and what was written for this one is
 * dropped.
 * @param records  a file opened for writing
 * @param durable  NULL, or receives 1 where the group survives kill -9 and a power cut already,
 * else
 *                 0
 * @return as sluice_end_step() */
SLUICE_API int sluice_records_commit(sluice_records* records, int32_t* durable);
/** Waits until every group that was committed is on disk.
 *
 * Local; between nodes every rank calls it. For strategy `forward`: a checkpoint that counts the
 * groups may then be saved.
 * @param records  a file opened for writing
 * @param seconds  the longest wait
 * @param all      receives 1 where all groups are on disk, else 0
 * @return SLUICE_OK, or the failure of a group in flight */
SLUICE_API int sluice_records_drain(sluice_records* records, double seconds, int32_t* all);

/** Reads a record group into memory, of it the parts of this rank.
 *
 * Collective.
 * @param records  a file opened for reading
 * @param group    number of the group from 0; -1: the next one
 * @retval SLUICE_OK                   success
 * @retval SLUICE_ERROR_OUT_OF_BOUNDS  there is no such group
 * @retval SLUICE_ERROR_DAMAGED        bytes do not match their checksum */
SLUICE_API int sluice_records_fetch(sluice_records* records, int64_t group);
/** Copies the next values of the group out.
 *
 * Local.
 * @param part    a stream of a file opened for reading
 * @param type    type in which the values were written
 * @param values  room for `count` values
 * @param count   number of values
 * @retval SLUICE_OK                   success
 * @retval SLUICE_ERROR_TYPE_MISMATCH  the next values have another type; the message names both
 * @retval SLUICE_ERROR_OUT_OF_BOUNDS  there are no more */
SLUICE_API int sluice_part_read(sluice_part* part, sluice_type type, void* values, int64_t count);
/** Whether everything of the group has been read.
 *
 * Local.
 * @param part  a stream of a file opened for reading
 * @param yes   receives 1 or 0
 * @return SLUICE_OK */
SLUICE_API int sluice_part_at_end(sluice_part* part, int32_t* yes);

/** Makes the next commit fail for a reason that a binding has found, such as a value that it cannot
 * write.
 *
 * Local. As for every failed commit, what was written for the record group is dropped.
 * @param part  a stream of a file opened for writing
 * @param code  SLUICE_ERROR_...
 * @param why   the reason, for the message on every rank
 * @retval SLUICE_OK                 success
 * @retval SLUICE_ERROR_WRONG_STATE  the file is read, or closed */
SLUICE_API int sluice_part_refuse(sluice_part* part, int code, const char* why);

/** Sets from which number on messages count record groups.
 *
 * Local. For bindings. Arguments always count from 0.
 * @param records  an open file
 * @param first    0 (as at the start), or 1 for languages that count so: there 0 is asked for by
 * -2, -1 by -3, as -1 is the next one
 * @return SLUICE_OK */
SLUICE_API int sluice_records_count_from(sluice_records* records, int32_t first);

/** Closes the file. What was written since the last commit is dropped.
 *
 * Collective.
 * @param records  an open file
 * @retval SLUICE_OK                 success
 * @retval SLUICE_ERROR_WRONG_STATE  it is closed already
 * @retval SLUICE_ERROR_IO           the storage failed */
SLUICE_API int sluice_records_close(sluice_records* records);
/** Frees a handle. If the file is still open, what was written since the last commit is dropped.
 *
 * Local.
 * @param records  a handle; NULL is fine */
SLUICE_API void sluice_records_free(sluice_records* records);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
