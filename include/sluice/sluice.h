/** @file
 * Sluice for C: parallel arrays of an MPI simulation in plain HDF5, netCDF-4, Zarr and VTKHDF
 * files. C99 and later, and C++.
 *
 *     sluice_file *out;
 *     sluice_variable spins;
 *     int64_t shape[2] = {atoms, 3}, start[2] = {first, 0}, count[2] = {n, 3};
 *     sluice_variable_options options = SLUICE_VARIABLE_OPTIONS_INIT;
 *     options.steps = 1;
 *     sluice_open(comm, "spins.h5", "w", "strategy = \"collective\"", &out);
 *     sluice_define(out, "spins", SLUICE_FLOAT64, 2, shape, &options, &spins);
 *     for (...) {
 *       sluice_begin_step(out, t);
 *       sluice_put(out, spins, SLUICE_FLOAT64, mine, 2, start, count);
 *       sluice_end_step(out, NULL);                          // `mine` is free again
 *     }
 *     sluice_close(out);
 *     sluice_free(out);
 *
 * **Errors.** Every function that can fail returns SLUICE_OK (0) or a code SLUICE_ERROR_..., whose
 * numbers never change. No function throws or exits. The message, one line, is kept on the handle
 * until the next call on it fails: sluice_last_error(file). The thread keeps the message of its
 * last failed call, whatever the handle: sluice_last_error(NULL). That is the only place if there
 * is no handle (a failed open, a NULL or freed handle). Outputs are written only by calls that
 * return SLUICE_OK. A failure of one rank in a collective call is returned on every rank, with the
 * same message, which names it. If a local call on a file that is being written fails, within a
 * step or outside, the next commit (sluice_end_step(), sluice_flush() or sluice_close()) fails on
 * every rank, once. Besides the codes that are listed with a function:
 * - any function may return SLUICE_ERROR_WRONG_STATE (the file is closed, or the handle freed),
 *   SLUICE_ERROR_INVALID_ARGUMENT (NULL, a number that no variable of the file has) and
 *   SLUICE_ERROR_INTERNAL;
 * - any collective function may return SLUICE_ERROR_DIVERGENT (the ranks do not make the same
 * call), SLUICE_ERROR_TIMEOUT (a rank did not come within the option `timeout_s`),
 * SLUICE_ERROR_MPI, and the failures of other ranks.
 *
 * **Ownership.** A handle belongs to the caller until sluice_free(). Strings and arrays given to
 * the library are copied, except the data of puts: it must stay unchanged until sluice_end_step()
 * (outside a step: sluice_flush() or sluice_close()) has returned, whether that fails or not.
 * Strings that the library hands out belong to it: those of a file live until sluice_refresh() or
 * sluice_free(), messages until the next failure, others for ever.
 *
 * **Threads.** A file, and everything got from it, is used by one thread at a time. Different files
 * may be used by different threads where MPI was initialised with MPI_THREAD_MULTIPLE, or where
 * they were opened without communicator.
 *
 * **Collective** functions are called by every rank of the file's communicator, in the same order.
 * **Alike** means that every rank makes the same call; nothing is exchanged until the next
 * collective call, which compares. Every other function is **local**. The values of attributes
 * (units and descriptions, too) and the times of steps are not compared, so that a rank's clock may
 * be in them: those of rank 0 are stored.
 *
 * **Units.** Sizes and indices count elements from 0, never bytes unless the name ends in `_bytes`.
 * Dimensions are in C order, slowest first, without the step. Times of steps are in the
 * simulation's unit.
 *
 * **Versions.** Within one major version functions and numbers are only added. Structs begin with
 * their size, which SLUICE_..._INIT sets, so that a program works with a library whose structs have
 * more fields. Where the library's have fewer, a field that it does not know must be 0:
 * SLUICE_ERROR_UNSUPPORTED otherwise.
 */
#ifndef SLUICE_SLUICE_H
#define SLUICE_SLUICE_H

#include <stddef.h>
#include <stdint.h>

/* Functions with an MPI_Comm are inline: they hand the communicator of whatever MPI the program is
 * compiled with to a library that is linked to none. Programs without MPI define SLUICE_NO_MPI_H
 * and have sluice_open_serial(), sluice_open_f() and sluice_open_comm(). */
#include "sluice/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup c_numbers Codes and types
 * Numbers that never change.
 * @{ */

/** Codes that functions return: why a call failed. */
enum {
  SLUICE_OK = 0, /**< No failure. */
  /* what the caller asked for */
  SLUICE_ERROR_INVALID_ARGUMENT = 10, /**< A value outside its documented range. */
  SLUICE_ERROR_OUT_OF_BOUNDS = 11,    /**< A block or selection outside the variable's shape. */
  SLUICE_ERROR_OVERLAP = 12,          /**< Two blocks cover the same element. */
  SLUICE_ERROR_HOLE = 13,          /**< Elements of a variable that is not partial are missing. */
  SLUICE_ERROR_DUPLICATE_ROW = 14, /**< A row id was given twice. */
  SLUICE_ERROR_MISSING_ROW = 15,   /**< No rank gave a row id. */
  SLUICE_ERROR_TYPE_MISMATCH = 16, /**< No conversion between memory type and file type. */
  SLUICE_ERROR_OVERFLOW = 17,      /**< A value does not fit the narrower type or the buffer. */
  SLUICE_ERROR_BAD_NAME = 18,      /**< A name is empty, absolute, or has ".." in it. */
  SLUICE_ERROR_WRONG_STATE = 19,   /**< A closed handle, a put outside a step, a second close. */
  /* what was found in the file system */
  SLUICE_ERROR_NOT_FOUND = 20,       /**< There is no such file, variable or attribute. */
  SLUICE_ERROR_EXISTS = 21,          /**< The file, or another variable of that name, exists. */
  SLUICE_ERROR_PERMISSION = 22,      /**< The operating system denies access. */
  SLUICE_ERROR_IO = 23,              /**< The operating system refused; the message says why. */
  SLUICE_ERROR_NO_SPACE = 24,        /**< The disk or the quota is full. */
  SLUICE_ERROR_TRUNCATED = 25,       /**< The file is shorter than its metadata says. */
  SLUICE_ERROR_FORMAT = 26,          /**< The file is not of the format that it should be. */
  SLUICE_ERROR_VERSION = 27,         /**< Written by a newer major version of the format. */
  SLUICE_ERROR_DAMAGED = 28,         /**< A checksum does not match. */
  SLUICE_ERROR_CHANGED_OUTSIDE = 29, /**< Another program changed the file. */
  SLUICE_ERROR_UNSUPPORTED = 30,     /**< Format, file system or build cannot do it. */
  SLUICE_ERROR_LOCKED = 31,          /**< Another process writes the file. */
  /* what happened between ranks */
  SLUICE_ERROR_TIMEOUT = 40,     /**< A rank did not come in time. */
  SLUICE_ERROR_DIVERGENT = 41,   /**< Ranks called a collective with different arguments. */
  SLUICE_ERROR_OVER_BUDGET = 42, /**< What has to be held at once exceeds the budget. */
  SLUICE_ERROR_MPI = 43,         /**< MPI failed, or the process has no MPI that fits. */
  SLUICE_ERROR_INTERNAL = 50     /**< A broken invariant of the library; please report it. */
};

/** An element type: SLUICE_INT8 to SLUICE_BOOL, or SLUICE_STRING(n). */
typedef int32_t sluice_type;
/** Element types, and SLUICE_KIND_STRING, of which SLUICE_STRING() makes types. */
enum {
  SLUICE_INT8 = 1,         /**< int8_t. */
  SLUICE_INT16 = 2,        /**< int16_t. */
  SLUICE_INT32 = 3,        /**< int32_t. */
  SLUICE_INT64 = 4,        /**< int64_t. */
  SLUICE_UINT8 = 5,        /**< uint8_t. */
  SLUICE_UINT16 = 6,       /**< uint16_t. */
  SLUICE_UINT32 = 7,       /**< uint32_t. */
  SLUICE_UINT64 = 8,       /**< uint64_t. */
  SLUICE_FLOAT32 = 9,      /**< float. */
  SLUICE_FLOAT64 = 10,     /**< double. */
  SLUICE_COMPLEX64 = 11,   /**< Two float. */
  SLUICE_COMPLEX128 = 12,  /**< Two double. */
  SLUICE_BOOL = 13,        /**< One byte, 0 or 1; in the file the boolean that h5py uses. */
  SLUICE_KIND_STRING = 14, /**< No type by itself. */
  SLUICE_FLOAT16 = 15      /**< IEEE 754 binary16. */
};
/** The type of a string of at most `bytes` bytes: UTF-8, padded with NUL. */
#define SLUICE_STRING(bytes) ((sluice_type)(SLUICE_KIND_STRING + 256 * (bytes)))
/** The longest string type. */
#define SLUICE_STRING_BYTES_MAX 8388607

/** Most dimensions of a variable, without the step; a variable with steps has one less. */
#define SLUICE_RANK_MAX 8
/** As count of an attribute: one value, not a list. */
#define SLUICE_SCALAR (-1)
/** As step: the newest. */
#define SLUICE_LAST_STEP (-1)

/** An open file. */
typedef struct sluice_file sluice_file;
/** The receipt of a commit. */
typedef struct sluice_ticket sluice_ticket;
/** A variable of one file: its number, from 0 in order of definition. Reading, that is the order
 * which the file keeps: in HDF5 and netCDF-4 that of definition within each group, elsewhere it may
 * be by name; sluice_find() gives the number of a name. A number does not tell of which file it is:
 * that of another file's variable means the one of this file that has it. */
typedef int32_t sluice_variable;

/** @} */

/** @defgroup c_library Library, messages and errors
 * @{ */

/** The version of the library at run time.
 *
 * Local.
 * @return "1.2.3"; static */
SLUICE_API const char* sluice_version(void);
/** Which MPI the library calls: the one that this process has loaded.
 *
 * Local. Works before MPI_Init.
 * @return what MPI_Get_library_version of that MPI says; "none" where there is none; static */
SLUICE_API const char* sluice_mpi_library(void);
/** Takes one message of the library.
 * @param text  one line without its end; valid during the call
 * @param user  what sluice_set_message_handler() got */
typedef void (*sluice_message_handler)(const char* text, void* user);
/** Sets where messages go (option `log`, SLUICE_EXPLAIN). One for the whole process.
 *
 * Local. The handler is called on rank 0 of a file, by the thread that uses the file, inside calls.
 * @param handler  the function; NULL: stderr, as at the start
 * @param user     given to the handler; stays the caller's */
SLUICE_API void sluice_set_message_handler(sluice_message_handler handler, void* user);
/** The name of a code.
 *
 * Local.
 * @param code  SLUICE_OK or SLUICE_ERROR_...
 * @return "out_of_bounds" for SLUICE_ERROR_OUT_OF_BOUNDS; "unknown" for other numbers; static */
SLUICE_API const char* sluice_code_name(int code);
/** The name of a type as numpy has it.
 *
 * Local.
 * @param type  an element type
 * @return "float64", "string[16]"; "unknown" for what is no type; static */
SLUICE_API const char* sluice_type_name(sluice_type type);
/** Size of one element in memory.
 *
 * Local.
 * @param type  an element type
 * @return bytes; 0 for what is no type */
SLUICE_API size_t sluice_type_bytes(sluice_type type);

/** The message of the last failure.
 *
 * Local.
 * @param file  a handle; NULL: the last failure of this thread on any handle
 * @return one line; "" where nothing failed yet; the library's, until the next failure */
SLUICE_API const char* sluice_last_error(const sluice_file* file);
/** The code of the last failure.
 *
 * Local.
 * @param file  as for sluice_last_error()
 * @return SLUICE_ERROR_...; SLUICE_OK where nothing failed yet */
SLUICE_API int sluice_last_error_code(const sluice_file* file);
/** The rank on which the last failure occurred first.
 *
 * Local.
 * @param file  as for sluice_last_error()
 * @return the rank; -1 where it is not known */
SLUICE_API int sluice_last_error_rank(const sluice_file* file);

/** @} */

/** @defgroup c_input Input files
 * A text or other small file that every rank needs: one rank reads it, all get it.
 * @{ */

/** Reads a file on one rank and gives its bytes to all.
 *
 * Collective over `comm`. Programs with an MPI_Comm call sluice_read_text().
 * @param comm   the ranks that get the bytes
 * @param path   the file, the same on every rank
 * @param text   receives all bytes and a NUL behind them, to be freed by sluice_free_text(); NULL
 * on failure
 * @param bytes  receives their number without that NUL (the file may hold others); may be NULL
 * @retval SLUICE_OK                success
 * @retval SLUICE_ERROR_NOT_FOUND   there is no such file
 * @retval SLUICE_ERROR_PERMISSION  it may not be read
 * @retval SLUICE_ERROR_IO          it cannot be read */
SLUICE_API int sluice_read_text_comm(sluice_comm comm, const char* path, char** text,
                                     int64_t* bytes);
/** sluice_read_text_comm() for the integer handle of Fortran.
 *
 * Collective over `comm`.
 * @param comm   MPI_Comm_c2f, or MPI_VAL of mpi_f08
 * @param path   as for sluice_read_text_comm()
 * @param text   as for sluice_read_text_comm()
 * @param bytes  as for sluice_read_text_comm()
 * @return as sluice_read_text_comm() */
SLUICE_API int sluice_read_text_f(int comm, const char* path, char** text, int64_t* bytes);
/** sluice_read_text_comm() for this process alone, without MPI.
 *
 * Local.
 * @param path   as for sluice_read_text_comm()
 * @param text   as for sluice_read_text_comm()
 * @param bytes  as for sluice_read_text_comm()
 * @return as sluice_read_text_comm() */
SLUICE_API int sluice_read_text_serial(const char* path, char** text, int64_t* bytes);
/** Frees a text that sluice_read_text() gave.
 *
 * Local.
 * @param text  the text; NULL is fine */
SLUICE_API void sluice_free_text(char* text);

/** @} */

/** @defgroup c_open Opening and closing
 * @{ */

/** Opens a file.
 *
 * Collective over `comm`. Programs with an MPI_Comm call sluice_open().
 * @param comm     the ranks that use the file, an intracommunicator; it is duplicated
 * @param path     the file, the same on every rank
 * @param mode     "r" reads; "w" writes under a temporary name and replaces an old file at the
 * first commit; "x" as "w", but an error where the file is there; "a" adds steps and variables to a
 * file that is there
 * @param options  lines of TOML, such as "strategy = \"collective\"\nwriters = 4", with the names
 * of docs/settings.md; NULL or "": the defaults
 * @param file     receives the handle, to be given to sluice_close() and sluice_free(); NULL on
 *                 failure, whose message is sluice_last_error(NULL)
 * @retval SLUICE_OK                      success
 * @retval SLUICE_ERROR_NOT_FOUND         there is no such file ("r", "a")
 * @retval SLUICE_ERROR_EXISTS            there is a file ("x")
 * @retval SLUICE_ERROR_PERMISSION        the file or its folder may not be used
 * @retval SLUICE_ERROR_LOCKED            another process writes the file
 * @retval SLUICE_ERROR_FORMAT            the file is not of a format that is known
 * @retval SLUICE_ERROR_VERSION           a newer version of the library wrote it
 * @retval SLUICE_ERROR_TRUNCATED         the file is shorter than its metadata says
 * @retval SLUICE_ERROR_DAMAGED           its metadata does not match its checksums
 * @retval SLUICE_ERROR_BAD_NAME          `path` is empty
 * @retval SLUICE_ERROR_INVALID_ARGUMENT  an option is not known, or `comm` is MPI_COMM_NULL
 * @retval SLUICE_ERROR_UNSUPPORTED       the format cannot do what an option asks
 * @retval SLUICE_ERROR_MPI               the process has no MPI that fits; the message says what to
 *                                        do */
SLUICE_API int sluice_open_comm(sluice_comm comm, const char* path, const char* mode,
                                const char* options, sluice_file** file);
/** sluice_open_comm() for the integer handle of Fortran.
 *
 * Collective over `comm`.
 * @param comm     MPI_Comm_c2f, or MPI_VAL of mpi_f08
 * @param path     as for sluice_open_comm()
 * @param mode     as for sluice_open_comm()
 * @param options  as for sluice_open_comm()
 * @param file     as for sluice_open_comm()
 * @return as sluice_open_comm() */
SLUICE_API int sluice_open_f(int comm, const char* path, const char* mode, const char* options,
                             sluice_file** file);
/** sluice_open_comm() for this process alone, without MPI.
 *
 * Local. MPI is neither used nor initialised (except with storage = "mpiio", which initialises it
 * where the program did not).
 * @param path     as for sluice_open_comm()
 * @param mode     as for sluice_open_comm()
 * @param options  as for sluice_open_comm()
 * @param file     as for sluice_open_comm()
 * @return as sluice_open_comm() */
SLUICE_API int sluice_open_serial(const char* path, const char* mode, const char* options,
                                  sluice_file** file);
/** Commits what is not committed, and closes the file.
 *
 * Collective. A close that fails closes too, except inside a step. The handle keeps its messages
 * until sluice_free().
 * @param file  an open file
 * @return a code of sluice_end_step(), or a listed code
 * @retval SLUICE_ERROR_WRONG_STATE  inside a step, or the file is closed already */
SLUICE_API int sluice_close(sluice_file* file);
/** Frees a handle.
 *
 * Local. If the file is still open, everything since its last commit is dropped, and nothing is
 * sent to other ranks, unless sluice_free_because() has said why. A step that has not ended is then
 * named in a line on stderr, by rank 0 and if the option `log` is not off. A call on a freed handle
 * is SLUICE_ERROR_WRONG_STATE until another open reuses its place, which happens only after some
 * dozens more were freed.
 * @param file  a handle; NULL is fine */
SLUICE_API void sluice_free(sluice_file* file);

/** @} */

/** @defgroup c_describe Describing what is written
 * @{ */

/** What sluice_define() takes beside name, type and shape. */
typedef struct sluice_variable_options {
  size_t size;                   /**< Set by SLUICE_VARIABLE_OPTIONS_INIT. */
  int32_t steps;                 /**< 1: a value of the shape for every step. Default: 0. */
  int32_t partial;               /**< 1: elements may be left out; they read as `fill`. */
  const void* fill;              /**< One element (_FillValue), partial or not. NULL: zero. */
  const char* unit;              /**< Unit, stored as attribute "units". NULL: none. */
  const char* description;       /**< Words, stored as attribute "long_name". NULL: none. */
  const char* const* dimensions; /**< A name for each dimension, without the step. NULL: none. */
  const int64_t* chunk; /**< Tile of the file in elements, a number for each dimension. NULL: chosen
                             from the first step. Set it for a known pattern of reading. */
  int32_t varying;      /**< 1: each step has its own number of rows, see sluice_resize() and
                             sluice_put_joined(). */
  sluice_type fill_type; /**< Type of *fill, converted where no value is lost. 0: the variable's. */
  const char* compress;  /**< "deflate:6", "zstd:3+noshuffle", "round:10+zstd:3", "digits:4+zstd:3",
                              a plugin of HDF5 such as "lz4", "none": docs/compression.md. NULL: as
                              the file's option `compress` says. */
} sluice_variable_options;
/** Defaults of sluice_variable_options. */
#define SLUICE_VARIABLE_OPTIONS_INIT \
  { sizeof(sluice_variable_options), 0, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL }

/** Defines a variable.
 *
 * Alike. The same definition again gives the same variable. What it leaves out (unit, description,
 * dimensions, chunk, compress) is then as before. A variable of an appended file keeps its unit,
 * description, chunk and compress, whatever is given; how it rounds is compared.
 * @param file      a file opened for writing
 * @param name      name in the file; "/" makes groups
 * @param type      type in the file
 * @param rank      number of dimensions without the step, 0 to SLUICE_RANK_MAX, with `steps` one
 *                  less; 0: a scalar
 * @param shape     `rank` numbers of elements
 * @param options   NULL: the defaults
 * @param variable  receives the variable
 * @retval SLUICE_OK                      success
 * @retval SLUICE_ERROR_EXISTS            it is defined with another type, shape or option
 * @retval SLUICE_ERROR_BAD_NAME          the name or that of a dimension
 * @retval SLUICE_ERROR_INVALID_ARGUMENT  type, shape, chunk or fill
 * @retval SLUICE_ERROR_UNSUPPORTED       the format cannot store it */
SLUICE_API int sluice_define(sluice_file* file, const char* name, sluice_type type, int rank,
                             const int64_t* shape, const sluice_variable_options* options,
                             sluice_variable* variable);

/** Sets an attribute of numbers, bools or fixed-length strings, which the next commit writes.
 *
 * Alike. Integers keep their type, but uint32 and uint64 become int64.
 * @param file    a file opened for writing
 * @param owner   "": the file; a group; a variable; "time": the times of the steps
 * @param name    name of the attribute
 * @param type    type of the values: any but complex
 * @param count   number of values, or SLUICE_SCALAR; bools: SLUICE_SCALAR
 * @param values  the values, of which rank 0's are stored; strings of SLUICE_STRING(n) have n bytes
 *                each, padded with NUL
 * @retval SLUICE_OK                 success
 * @retval SLUICE_ERROR_BAD_NAME     the name or the owner
 * @retval SLUICE_ERROR_OVERFLOW     an integer exceeds 64 bits
 * @retval SLUICE_ERROR_UNSUPPORTED  the type, or the format stores no such attribute */
SLUICE_API int sluice_set_attribute(sluice_file* file, const char* owner, const char* name,
                                    sluice_type type, int64_t count, const void* values);
/** Sets an attribute of one string.
 *
 * Alike.
 * @param file   a file opened for writing
 * @param owner  as for sluice_set_attribute()
 * @param name   name of the attribute
 * @param text   UTF-8, ended by NUL
 * @return as sluice_set_attribute() */
SLUICE_API int sluice_set_text(sluice_file* file, const char* owner, const char* name,
                               const char* text);
/** Sets an attribute of a list of strings.
 *
 * Alike.
 * @param file   a file opened for writing
 * @param owner  as for sluice_set_attribute()
 * @param name   name of the attribute
 * @param count  number of strings
 * @param texts  the strings, UTF-8, each ended by NUL
 * @return as sluice_set_attribute() */
SLUICE_API int sluice_set_texts(sluice_file* file, const char* owner, const char* name,
                                int64_t count, const char* const* texts);

/** @} */

/** @defgroup c_write Writing
 * @{ */

/** Which part of a variable a call means, and where it lies in memory. Each array has `rank`
 * numbers. */
typedef struct sluice_selection {
  size_t size;                 /**< Set by SLUICE_SELECTION_INIT. */
  const int64_t* start;        /**< First element of the part. NULL: zeros. */
  const int64_t* count;        /**< Elements of the part; 0: none. NULL: up to the shape's end. */
  const int64_t* memory_shape; /**< The whole array in memory, with ghost cells. NULL: count. */
  const int64_t* memory_start; /**< Where the part begins in that array. NULL: zeros. */
  const int64_t* stride_bytes; /**< For memory that is not dense: bytes from one element to the next
                                    in each dimension, may be negative. `data` is then the part's
                                    first element; memory_shape and memory_start must be NULL. Such
                                    data is copied at once, within the budget. NULL: dense. */
  int32_t allow_overflow;      /**< 1: a narrowing conversion may lose values. Default: 0. */
} sluice_selection;
/** Defaults of sluice_selection: the whole variable. */
#define SLUICE_SELECTION_INIT \
  { sizeof(sluice_selection), NULL, NULL, NULL, NULL, NULL, 0 }

/** Begins a step.
 *
 * Local. Only one step is open at a time; end it with sluice_end_step().
 * @param file  a file opened for writing
 * @param time  time of the step, of which rank 0's is stored; NaN: none
 * @retval SLUICE_OK                 success
 * @retval SLUICE_ERROR_WRONG_STATE  the step before has not ended
 * @retval SLUICE_ERROR_UNSUPPORTED  the format stores no times */
SLUICE_API int sluice_begin_step(sluice_file* file, double time);
/** Writes and commits the step.
 *
 * Collective. On failure the file holds the steps before this one, and the next step may be tried.
 * Data that was put may change afterwards. With strategy `forward` the call returns when the data
 * is copied or sent; later failures of it are returned by sluice_ticket_wait() and by the next
 * collective call.
 * @param file    a file inside a step
 * @param ticket  NULL, or receives the receipt, to be freed by sluice_ticket_free()
 * @return the failure of a put of this step on any rank, or a listed code
 * @retval SLUICE_OK                   success
 * @retval SLUICE_ERROR_WRONG_STATE    there is no step, or a rank abandoned it
 * @retval SLUICE_ERROR_OVERLAP        two blocks cover an element; the message names both ranks
 * @retval SLUICE_ERROR_HOLE           elements were not put
 * @retval SLUICE_ERROR_DUPLICATE_ROW  a row was put twice
 * @retval SLUICE_ERROR_MISSING_ROW    a row was not put
 * @retval SLUICE_ERROR_NO_SPACE       the disk or the quota is full
 * @retval SLUICE_ERROR_IO             the storage failed */
SLUICE_API int sluice_end_step(sluice_file* file, sluice_ticket** ticket);
/** Ends the step without committing it, on a rank that cannot go on.
 *
 * Collective with the other ranks' sluice_end_step(), which fails with `why`; the file holds the
 * steps before. Outside a step it takes the place of sluice_flush() or sluice_close() likewise.
 * What was put before the step, to variables without steps, is kept for the next commit.
 * @param file  a file opened for writing
 * @param why   the reason, for the message; NULL: none
 * @retval SLUICE_OK                 the step was abandoned
 * @retval SLUICE_ERROR_WRONG_STATE  so it was, and what was put before it is lost: put it again */
SLUICE_API int sluice_abandon_step(sluice_file* file, const char* why);

/** Sets how many rows (elements of the first dimension) a varying variable has in this step.
 *
 * Alike; before the first put of it. Without the call the step has as many rows as the shape.
 * @param file      a file inside a step
 * @param variable  a variable with sluice_variable_options::varying
 * @param rows      number of rows, 0 too
 * @retval SLUICE_OK                      success
 * @retval SLUICE_ERROR_OUT_OF_BOUNDS     more rows than the shape
 * @retval SLUICE_ERROR_INVALID_ARGUMENT  the variable is not varying
 * @retval SLUICE_ERROR_WRONG_STATE       outside a step, or after a put */
SLUICE_API int sluice_resize(sluice_file* file, sluice_variable variable, int64_t rows);

/** Puts this rank's part of a variable, from dense row-major memory.
 *
 * Local; any number of times, parts without elements too, or never. A variable with steps is put
 * inside a step, a fixed one anywhere. Small parts that follow one another are copied and joined,
 * so that single elements are cheap.
 * @param file      a file opened for writing
 * @param variable  a variable of the file
 * @param type      type of `data`; converted to the variable's
 * @param data      `count` elements; must not change before the commit
 * @param rank      number of dimensions of the variable
 * @param start     first element of the part, `rank` numbers; NULL: zeros
 * @param count     elements of the part, `rank` numbers; NULL: up to the shape's end
 * @retval SLUICE_OK                      success
 * @retval SLUICE_ERROR_OUT_OF_BOUNDS     the part exceeds the shape
 * @retval SLUICE_ERROR_TYPE_MISMATCH     `type` cannot be converted
 * @retval SLUICE_ERROR_OVERFLOW          a value does not fit; at the latest from the commit
 * @retval SLUICE_ERROR_OVER_BUDGET       a part that must be copied exceeds the budget
 * @retval SLUICE_ERROR_INVALID_ARGUMENT  another number of dimensions
 * @retval SLUICE_ERROR_WRONG_STATE       a variable with steps outside a step */
SLUICE_API int sluice_put(sluice_file* file, sluice_variable variable, sluice_type type,
                          const void* data, int rank, const int64_t* start, const int64_t* count);
/** sluice_put() with all that a selection says: ghost cells, strides, narrowing.
 *
 * Local.
 * @param file       as for sluice_put()
 * @param variable   as for sluice_put()
 * @param type       as for sluice_put()
 * @param data       as for sluice_put()
 * @param rank       as for sluice_put()
 * @param selection  the part; NULL: the whole variable
 * @return as sluice_put() */
SLUICE_API int sluice_put_selection(sluice_file* file, sluice_variable variable, sluice_type type,
                                    const void* data, int rank, const sluice_selection* selection);
/** Puts one element, which is copied.
 *
 * Local. Elements that follow one another are joined: ten million calls are cheap.
 * @param file      as for sluice_put()
 * @param variable  as for sluice_put()
 * @param type      type of `value`
 * @param value     the element; copied
 * @param rank      number of dimensions of the variable
 * @param at        place of the element, `rank` indices
 * @return as sluice_put() */
SLUICE_API int sluice_put_value(sluice_file* file, sluice_variable variable, sluice_type type,
                                const void* value, int rank, const int64_t* at);
/** Puts rows by global index: row i of `data` becomes row ids[i].
 *
 * Local. Rows may come from any rank in any order, each exactly once, unless the variable is
 * partial.
 * @param file      as for sluice_put()
 * @param variable  a variable with at least one dimension
 * @param type      type of `data`
 * @param data      `rows` rows, row-major, each of all dimensions but the first; must not change
 *                  before the commit
 * @param rows      number of rows, 0 too
 * @param ids       `rows` indices; must not change before the commit
 * @return as sluice_put(); a row that is out of bounds, missing or doubled is an error of the
 * commit
 */
SLUICE_API int sluice_put_rows(sluice_file* file, sluice_variable variable, sluice_type type,
                               const void* data, int64_t rows, const int64_t* ids);
/** Puts this rank's rows of a varying variable behind those of the ranks before it.
 *
 * Local. For sizes that nobody knows beforehand: the step has as many rows as all ranks put
 * together. Where a rank's rows begin is found in sluice_end_step(), without a further collective
 * call. A rank without rows need not call it, unless no rank has any: then one must, with 0 rows.
 * Rows of several calls follow one another.
 * @param file      a file inside a step
 * @param variable  a variable with sluice_variable_options::varying, of which sluice_resize() and
 *                  sluice_put() are not called in this step
 * @param type      type of `data`; converted to the variable's
 * @param data      `rows` rows, row-major, each of all dimensions but the first; must not change
 *                  before the commit
 * @param rows      number of rows, 0 too
 * @retval SLUICE_OK                      success
 * @retval SLUICE_ERROR_TYPE_MISMATCH     `type` cannot be stored as the variable's type
 * @retval SLUICE_ERROR_INVALID_ARGUMENT  the variable is not varying
 * @retval SLUICE_ERROR_WRONG_STATE       outside a step, or after sluice_resize() or sluice_put()
 * @retval SLUICE_ERROR_OUT_OF_BOUNDS     more rows than the shape; also from the commit, where the
 *                                        ranks together have more */
SLUICE_API int sluice_put_joined(sluice_file* file, sluice_variable variable, sluice_type type,
                                 const void* data, int64_t rows);
/** Commits what was defined and put outside steps.
 *
 * Collective.
 * @param file    a file opened for writing, outside a step
 * @param ticket  as for sluice_end_step()
 * @return a code of sluice_end_step(), or a listed code
 * @retval SLUICE_ERROR_WRONG_STATE  inside a step */
SLUICE_API int sluice_flush(sluice_file* file, sluice_ticket** ticket);

/** Moves on what is on its way between nodes, without waiting.
 *
 * Local and cheap. For strategy `forward`; with others it does nothing. Not for signal handlers.
 * @param file  a file opened for writing
 * @return SLUICE_OK */
SLUICE_API int sluice_poll(sluice_file* file);
/** Waits until every step that has ended is on disk.
 *
 * Local; between nodes every rank calls it. For a job that is about to be killed: steps that are on
 * disk survive, later ones are lost. Not for signal handlers.
 * @param file     a file opened for writing
 * @param seconds  the longest wait
 * @param all      receives 1 where all steps are on disk, else 0
 * @return SLUICE_OK, or the failure of a step in flight */
SLUICE_API int sluice_drain(sluice_file* file, double seconds, int32_t* all);

/** The number of the step of a receipt.
 *
 * Local. A ticket may be asked after its file is closed.
 * @param ticket  a receipt
 * @param step    receives the number
 * @return SLUICE_OK */
SLUICE_API int sluice_ticket_step(const sluice_ticket* ticket, int64_t* step);
/** Whether a step survives kill -9, the loss of a node and a power cut.
 *
 * Local.
 * @param ticket   a receipt
 * @param durable  receives 1 or 0
 * @return SLUICE_OK */
SLUICE_API int sluice_ticket_durable(const sluice_ticket* ticket, int32_t* durable);
/** Whether a step was left out (option on_error = "skip_step").
 *
 * Local.
 * @param ticket   a receipt
 * @param skipped  receives 1 or 0
 * @return SLUICE_OK */
SLUICE_API int sluice_ticket_skipped(const sluice_ticket* ticket, int32_t* skipped);
/** Waits until sluice_ticket_durable() will not change any more.
 *
 * Local; between nodes the other ranks must call into the library meanwhile: sluice_poll().
 * @param ticket  a receipt
 * @return the failure of the step in flight, or a listed code
 * @retval SLUICE_OK             success
 * @retval SLUICE_ERROR_TIMEOUT  after the option `timeout_s` */
SLUICE_API int sluice_ticket_wait(const sluice_ticket* ticket);
/** Frees a receipt.
 *
 * Local.
 * @param ticket  a receipt; NULL is fine */
SLUICE_API void sluice_ticket_free(sluice_ticket* ticket);

/** @} */

/** @defgroup c_contents What is in a file
 * Of files that are written and of files that are read, unless it says "reading only".
 * @{ */

/** The properties of a variable, from sluice_info(). */
typedef struct sluice_variable_info {
  size_t size;                             /**< Set by SLUICE_VARIABLE_INFO_INIT. */
  const char* name;                        /**< Name; the file's. */
  sluice_type type;                        /**< Type in the file. */
  int32_t rank;                            /**< Numbers in `shape`. */
  int32_t steps;                           /**< 1: a value for every step. */
  int32_t partial;                         /**< 1: elements may be left out. */
  const void* fill;                        /**< One element of the type; the file's. NULL: zero. */
  int64_t shape[SLUICE_RANK_MAX];          /**< Without the step; of a varying variable the most. */
  int32_t varying;                         /**< 1: each step has its own number of rows. */
  const char* dimensions[SLUICE_RANK_MAX]; /**< Names, without the step; the file's. NULL: none. */
} sluice_variable_info;
/** Defaults of sluice_variable_info. */
#define SLUICE_VARIABLE_INFO_INIT                                          \
  {                                                                        \
    sizeof(sluice_variable_info), NULL, 0, 0, 0, 0, NULL, {0}, 0, { NULL } \
  }

/** The number of variables.
 *
 * Local. Variables are numbered 0 to count - 1.
 * @param file   an open file
 * @param count  receives the number
 * @return SLUICE_OK */
SLUICE_API int sluice_variable_count(sluice_file* file, int32_t* count);
/** Finds a variable by name.
 *
 * Local.
 * @param file      an open file
 * @param name      name of the variable
 * @param variable  receives the variable
 * @retval SLUICE_OK               success
 * @retval SLUICE_ERROR_NOT_FOUND  the message names the variables that there are */
SLUICE_API int sluice_find(sluice_file* file, const char* name, sluice_variable* variable);
/** Tells what is known of a variable.
 *
 * Local.
 * @param file      an open file
 * @param variable  a variable of the file
 * @param info      SLUICE_VARIABLE_INFO_INIT before the call; filled
 * @return SLUICE_OK */
SLUICE_API int sluice_info(sluice_file* file, sluice_variable variable, sluice_variable_info* info);
/** The shape of one step of a variable.
 *
 * Local; reading only. It differs from that of sluice_info() only for varying variables, which may
 * have fewer rows.
 * @param file      a file opened for reading
 * @param variable  a variable of the file
 * @param step      a step, or SLUICE_LAST_STEP
 * @param rank      numbers in `shape`, from sluice_info()
 * @param shape     receives `rank` numbers, without the step
 * @retval SLUICE_OK                      success
 * @retval SLUICE_ERROR_OUT_OF_BOUNDS     there is no such step
 * @retval SLUICE_ERROR_INVALID_ARGUMENT  another rank */
SLUICE_API int sluice_shape(sluice_file* file, sluice_variable variable, int64_t step, int rank,
                            int64_t* shape);
/** The number of committed steps.
 *
 * Local.
 * @param file   an open file
 * @param steps  receives the number
 * @return SLUICE_OK */
SLUICE_API int sluice_steps(sluice_file* file, int64_t* steps);
/** The time of a step.
 *
 * Local; reading only.
 * @param file  a file opened for reading
 * @param step  a step, or SLUICE_LAST_STEP
 * @param time  receives what sluice_begin_step() got; NaN where that was none
 * @retval SLUICE_OK                   success
 * @retval SLUICE_ERROR_OUT_OF_BOUNDS  there is no such step */
SLUICE_API int sluice_time(sluice_file* file, int64_t step, double* time);
/** Whether an open handle reads or writes.
 *
 * Local.
 * @param file     an open file
 * @param reading  receives 1 where it reads, 0 where it writes
 * @return SLUICE_OK */
SLUICE_API int sluice_is_reading(sluice_file* file, int32_t* reading);

/** The number of attributes of an owner.
 *
 * Local; reading only.
 * @param file   a file opened for reading
 * @param owner  "": the file; a group; a variable; "time": the times of the steps
 * @param count  receives the number
 * @return SLUICE_OK */
SLUICE_API int sluice_attribute_count(sluice_file* file, const char* owner, int64_t* count);
/** The name of an attribute.
 *
 * Local; reading only.
 * @param file   a file opened for reading
 * @param owner  as for sluice_attribute_count()
 * @param index  0 to count - 1, in the file's order
 * @param name   receives the name; the file's
 * @retval SLUICE_OK                   success
 * @retval SLUICE_ERROR_OUT_OF_BOUNDS  there are fewer */
SLUICE_API int sluice_attribute_name(sluice_file* file, const char* owner, int64_t index,
                                     const char** name);
/** Whether an owner has an attribute.
 *
 * Local; reading only.
 * @param file   a file opened for reading
 * @param owner  as for sluice_attribute_count()
 * @param name   name of the attribute
 * @param has    receives 1 or 0
 * @return SLUICE_OK */
SLUICE_API int sluice_has_attribute(sluice_file* file, const char* owner, const char* name,
                                    int32_t* has);
/** The type and number of values of an attribute.
 *
 * Local; reading only.
 * @param file   a file opened for reading
 * @param owner  as for sluice_attribute_count()
 * @param name   name of the attribute
 * @param type   receives the type; of strings SLUICE_STRING(n), 1 <= n <= SLUICE_STRING_BYTES_MAX
 * @param count  receives the number of values, SLUICE_SCALAR for one value
 * @retval SLUICE_OK               success
 * @retval SLUICE_ERROR_NOT_FOUND  there is no such attribute */
SLUICE_API int sluice_attribute_info(sluice_file* file, const char* owner, const char* name,
                                     sluice_type* type, int64_t* count);
/** Reads the values of an attribute.
 *
 * Local; reading only. Numbers are converted; strings are padded with NUL to the n bytes of
 * SLUICE_STRING(n).
 * @param file      a file opened for reading
 * @param owner     as for sluice_attribute_count()
 * @param name      name of the attribute
 * @param type      type of `values`
 * @param capacity  number of values that `values` has room for
 * @param values    receives the values
 * @retval SLUICE_OK                   success
 * @retval SLUICE_ERROR_NOT_FOUND      there is no such attribute
 * @retval SLUICE_ERROR_OVERFLOW       more values than room, or one does not fit `type`
 * @retval SLUICE_ERROR_TYPE_MISMATCH  a number for a string, or a string for a number */
SLUICE_API int sluice_get_attribute(sluice_file* file, const char* owner, const char* name,
                                    sluice_type type, int64_t capacity, void* values);
/** Reads one string of an attribute, of any length.
 *
 * Local; reading only.
 * @param file   a file opened for reading
 * @param owner  as for sluice_attribute_count()
 * @param name   name of the attribute
 * @param index  which of a list; 0 for one string
 * @param text   receives the string; the file's
 * @retval SLUICE_OK                   success
 * @retval SLUICE_ERROR_NOT_FOUND      there is no such attribute
 * @retval SLUICE_ERROR_TYPE_MISMATCH  it is no string
 * @retval SLUICE_ERROR_OUT_OF_BOUNDS  the list is shorter */
SLUICE_API int sluice_get_text(sluice_file* file, const char* owner, const char* name,
                               int64_t index, const char** text);

/** @} */

/** @defgroup c_read Reading
 * @{ */

/** Reads a part of one step into dense row-major memory.
 *
 * Collective; each rank reads its own part, which may have no elements.
 * @param file      a file opened for reading
 * @param variable  a variable of the file, the same on every rank
 * @param type      type of `data`; values are converted
 * @param data      room for `count` elements
 * @param rank      number of dimensions of the variable
 * @param start     first element of the part, `rank` numbers; NULL: zeros
 * @param count     elements of the part, `rank` numbers; NULL: up to the shape's end
 * @param step      the step, the same on every rank, or SLUICE_LAST_STEP; ignored for fixed
 * variables
 * @retval SLUICE_OK                      success
 * @retval SLUICE_ERROR_OUT_OF_BOUNDS     the part exceeds the shape, or there is no such step
 * @retval SLUICE_ERROR_TYPE_MISMATCH     values cannot be converted to `type`
 * @retval SLUICE_ERROR_OVERFLOW          a value does not fit `type`
 * @retval SLUICE_ERROR_DAMAGED           bytes do not match their checksum
 * @retval SLUICE_ERROR_CHANGED_OUTSIDE   another program changed them
 * @retval SLUICE_ERROR_TRUNCATED         the file ends before them
 * @retval SLUICE_ERROR_UNSUPPORTED       they are compressed in a way that is not known
 * @retval SLUICE_ERROR_IO                the storage failed */
SLUICE_API int sluice_get(sluice_file* file, sluice_variable variable, sluice_type type, void* data,
                          int rank, const int64_t* start, const int64_t* count, int64_t step);
/** sluice_get() with all that a selection says: ghost cells, strides, narrowing.
 *
 * Collective.
 * @param file       as for sluice_get()
 * @param variable   as for sluice_get()
 * @param type       as for sluice_get()
 * @param data       as for sluice_get()
 * @param rank       as for sluice_get()
 * @param selection  the part; NULL: the whole variable
 * @param step       as for sluice_get()
 * @return as sluice_get() */
SLUICE_API int sluice_get_selection(sluice_file* file, sluice_variable variable, sluice_type type,
                                    void* data, int rank, const sluice_selection* selection,
                                    int64_t step);
/** Notes a get for sluice_perform_gets().
 *
 * Local. An error here makes sluice_perform_gets() fail on every rank.
 * @param file       as for sluice_get_selection()
 * @param variable   as for sluice_get_selection()
 * @param type       as for sluice_get_selection()
 * @param data       room for the part; it must live until then, and holds nothing before
 * @param rank       as for sluice_get_selection()
 * @param selection  as for sluice_get_selection(), without stride_bytes
 * @param step       as for sluice_get_selection()
 * @return as sluice_get() */
SLUICE_API int sluice_defer_get(sluice_file* file, sluice_variable variable, sluice_type type,
                                void* data, int rank, const sluice_selection* selection,
                                int64_t step);
/** Reads all parts that sluice_defer_get() noted.
 *
 * Collective. The ranks wait for each other as often as in one sluice_get(), so reading several
 * variables together is faster. Every rank must have deferred the same variables and steps in the
 * same order, each its own parts.
 * @param file  a file opened for reading
 * @return a code of sluice_get(), or a listed code
 * @retval SLUICE_ERROR_DIVERGENT  the ranks have deferred different variables or steps */
SLUICE_API int sluice_perform_gets(sluice_file* file);
/** Reads rows by global index.
 *
 * Collective; each rank reads its own rows.
 * @param file      a file opened for reading
 * @param variable  a variable with at least one dimension, the same on every rank
 * @param type      type of `data`
 * @param data      room for `rows` rows, row-major
 * @param rows      number of rows, 0 too
 * @param ids       `rows` indices in any order, repeats allowed; not kept
 * @param step      as for sluice_get()
 * @return as sluice_get() */
SLUICE_API int sluice_get_rows(sluice_file* file, sluice_variable variable, sluice_type type,
                               void* data, int64_t rows, const int64_t* ids, int64_t step);
/** Looks again at a file that another program is writing: newer steps, variables and attributes
 * become visible.
 *
 * Collective. Variables keep their numbers. On failure the old state stays.
 * @param file  a file opened for reading
 * @return a code of sluice_open(), or a listed code
 * @retval SLUICE_ERROR_CHANGED_OUTSIDE  a variable is gone, or is another one */
SLUICE_API int sluice_refresh(sluice_file* file);
/** The newest step of which every value can be read and matches its checksum.
 *
 * Collective. For programs that continue from it: the option `restart_after`. Checksums are checked
 * whatever the option `checksum` says. The call reads one step, and earlier ones only where that is
 * damaged.
 * @param file  a file opened for reading
 * @param step  receives the step; -1 where no step is good
 * @return SLUICE_OK, or as sluice_open() */
SLUICE_API int sluice_latest_good(sluice_file* file, int64_t* step);

/** @} */

/** @defgroup c_bindings For bindings of other languages
 * @{ */

/** Makes the next call fail for a reason that the binding has found.
 *
 * Local. The next call on the handle that defines, sets, puts or gets fails with that code and
 * reason instead of what it would have done: a put makes its step fail, a collective get fails on
 * every rank.
 * @param file  an open file
 * @param code  SLUICE_ERROR_...
 * @param why   the reason, for the message
 * @return SLUICE_OK */
SLUICE_API int sluice_refuse(sluice_file* file, int code, const char* why);
/** Sets from which number on messages count steps, rows and elements.
 *
 * Local. Arguments always count from 0.
 * @param file   an open file
 * @param first  0 (as at the start), or 1 for languages that count so: there step 0 is asked for by
 *               -2, step -1 by -3, as -1 is SLUICE_LAST_STEP; and the dimension that varies fastest
 *               is the first
 * @return SLUICE_OK */
SLUICE_API int sluice_count_from(sluice_file* file, int32_t first);
/** Whether the file still needs memory that was put. Local.
 *
 * For bindings that copy what is put, or keep it alive. A commit needs it no more, also where it
 * fails. A call that is refused before it commits still does: sluice_end_step() outside a step,
 * sluice_flush() or sluice_close() inside one. After a timeout MPI may still send from memory that
 * was put, or receive into memory of a get: until MPI_Finalize, whatever the file does.
 * @param file  a handle that was not freed
 * @return 1, or 2 if MPI may use the memory of the last commit, or of a get, until MPI_Finalize: do
 *         not free it; else 0 */
SLUICE_API int32_t sluice_holds_memory(const sluice_file* file);
/** Whether the last call failed on every rank, or other ranks cannot be reached. Local.
 *
 * For bindings that give up a file while an exception unwinds. Where it is 0, other ranks may be
 * waiting for this one in a commit: call sluice_free_because() before sluice_free().
 * @param file  an open file
 * @return 1, or 0 (also for a closed file) */
SLUICE_API int32_t sluice_failed_together(const sluice_file* file);
/** Says why a handle will be freed before it is closed.
 *
 * Local. For bindings that give up a handle while an exception of this rank unwinds. Freeing it, on
 * this thread, then tells the other ranks: collective calls that this rank has not made fail with
 * that reason, also where others wait in them already. Files that are read are freed as without it.
 * @param handle  what sluice_free(), sluice_checkpoint_free(), sluice_records_free() or
 *                sluice_session_file_free() gets next
 * @param why     the reason, for the message
 * @return SLUICE_OK */
SLUICE_API int sluice_free_because(const void* handle, const char* why);

/** @} */

/** @defgroup c_sessions Sessions
 * A file of plain bytes that any rank writes or reads at any time.
 *
 * A session is a range of the file, started by one rank (its home) without the others. Whoever has
 * the sluice_session, a plain value that may be sent to any rank, writes parts of it in any order;
 * every byte is written once. Tile t of the file belongs to writer t modulo writers.
 *
 * Messages of failures are those of the thread: sluice_last_error(NULL). Callbacks come inside
 * sluice_session_file_poll(), sluice_session_wait(), sluice_session_file_wait_for_reads() and the
 * closes, from the thread that opened the file.
 * @{ */

/** An open file of sessions. */
typedef struct sluice_session_file sluice_session_file;
/** A session: a plain value that may be sent to any rank. */
typedef struct sluice_session {
  int32_t home;    /**< The rank that started it. */
  uint32_t number; /**< Its number on that rank. */
  int64_t offset;  /**< Its first byte in the file. */
  int64_t bytes;   /**< Its length in bytes. */
} sluice_session;
/** Called when something is done.
 * @param code     SLUICE_OK, or why it failed
 * @param message  of the failure, valid during the call; "" for SLUICE_OK
 * @param user     what was given with the function */
typedef void (*sluice_done)(int code, const char* message, void* user);
/** What sluice_session_start() takes beside the range. */
typedef struct sluice_session_options {
  size_t size;               /**< Set by SLUICE_SESSION_OPTIONS_INIT. */
  void (*ready)(void* user); /**< Reading: its beginning is in the readers' memory. NULL: none. */
  sluice_done complete;      /**< Once: every byte is on disk, or why not. NULL: none. */
  void* user;                /**< Given to both; stays the caller's. */
  const void* after;         /**< Bytes that are written when all others are on disk; copied. */
  int64_t after_bytes;       /**< Their number. */
  int64_t after_offset;      /**< Their place in the file. */
} sluice_session_options;
/** Defaults of sluice_session_options. */
#define SLUICE_SESSION_OPTIONS_INIT \
  { sizeof(sluice_session_options), NULL, NULL, NULL, NULL, 0, 0 }

/** Opens a file of sessions.
 *
 * Collective over `comm`. Programs with an MPI_Comm call sluice_session_file_open().
 * @param comm     the ranks that use the file; it is duplicated
 * @param path     the file, the same on every rank
 * @param mode     "r" reads; "w" cuts off what was there; "x" as "w", but an error where there is a
 *                 file; "a" keeps what is there
 * @param options  as for sluice_open(): writers, first_writer, writer_spacing, writer_map, readers,
 *                 tile_bytes, stripe_bytes, coalesce, storage (not mpiio), budget_bytes,
 * durability, timeout_s; others are ignored
 * @param file     receives the handle, to be given to sluice_session_file_close() and
 *                 sluice_session_file_free(); NULL on failure
 * @retval SLUICE_OK                 success
 * @retval SLUICE_ERROR_NOT_FOUND    there is no such file ("r", "a")
 * @retval SLUICE_ERROR_EXISTS       there is a file ("x")
 * @retval SLUICE_ERROR_PERMISSION   it may not be opened
 * @retval SLUICE_ERROR_LOCKED       another process writes it
 * @retval SLUICE_ERROR_UNSUPPORTED  storage = "mpiio" */
SLUICE_API int sluice_session_file_open_comm(sluice_comm comm, const char* path, const char* mode,
                                             const char* options, sluice_session_file** file);
/** sluice_session_file_open_comm() for the integer handle of Fortran.
 *
 * Collective over `comm`.
 * @param comm     MPI_Comm_c2f, or MPI_VAL of mpi_f08
 * @param path     as for sluice_session_file_open_comm()
 * @param mode     as for sluice_session_file_open_comm()
 * @param options  as for sluice_session_file_open_comm()
 * @param file     as for sluice_session_file_open_comm()
 * @return as sluice_session_file_open_comm() */
SLUICE_API int sluice_session_file_open_f(int comm, const char* path, const char* mode,
                                          const char* options, sluice_session_file** file);
/** sluice_session_file_open_comm() for this process alone, without MPI.
 *
 * Local.
 * @param path     as for sluice_session_file_open_comm()
 * @param mode     as for sluice_session_file_open_comm()
 * @param options  as for sluice_session_file_open_comm()
 * @param file     as for sluice_session_file_open_comm()
 * @return as sluice_session_file_open_comm() */
SLUICE_API int sluice_session_file_open_serial(const char* path, const char* mode,
                                               const char* options, sluice_session_file** file);
/** Starts a session.
 *
 * Local; this rank becomes its home.
 * @param file     an open file of sessions
 * @param offset   first byte in the file
 * @param bytes    length in bytes, 0 too
 * @param options  what is called, and bytes that come last; NULL: none
 * @param session  receives the session
 * @retval SLUICE_OK                   success
 * @retval SLUICE_ERROR_OUT_OF_BOUNDS  beyond the largest file */
SLUICE_API int sluice_session_start(sluice_session_file* file, int64_t offset, int64_t bytes,
                                    const sluice_session_options* options, sluice_session* session);
/** Writes bytes of a session.
 *
 * Local; it waits only where the budget is used up. Any thread may call it while the one that
 * opened the file polls. Bytes that are written twice, or never, make the session fail.
 * @param file     a file opened for writing
 * @param session  a session of the file
 * @param data     `bytes` bytes; copied
 * @param bytes    number of bytes, 0 too
 * @param offset   place in the file, inside the session
 * @retval SLUICE_OK                   success
 * @retval SLUICE_ERROR_OUT_OF_BOUNDS  not inside the session
 * @retval SLUICE_ERROR_TIMEOUT        the budget had no room within the option `timeout_s` */
SLUICE_API int sluice_session_write(sluice_session_file* file, const sluice_session* session,
                                    const void* data, int64_t bytes, int64_t offset);
/** Reads bytes of a session.
 *
 * Local.
 * @param file     a file opened for reading
 * @param session  a session of the file
 * @param data     room for `bytes` bytes; it must stay until `done` is called
 * @param bytes    number of bytes, 0 too
 * @param offset   place in the file, inside the session
 * @param done     called when the bytes are there, or with the failure (SLUICE_ERROR_TRUNCATED
 * where the file ends before); NULL: sluice_session_file_wait_for_reads() returns the failure
 * @param user     given to `done`
 * @retval SLUICE_OK                   success
 * @retval SLUICE_ERROR_OUT_OF_BOUNDS  not inside the session */
SLUICE_API int sluice_session_read(sluice_session_file* file, const sluice_session* session,
                                   void* data, int64_t bytes, int64_t offset, sluice_done done,
                                   void* user);
/** Frees the readers' memory of a session that is read.
 *
 * Local, on its home.
 * @param file     a file opened for reading
 * @param session  a session that this rank started
 * @return SLUICE_OK */
SLUICE_API int sluice_session_end(sluice_session_file* file, const sluice_session* session);
/** Waits until a session is complete (reading: ready).
 *
 * Local, on its home. The other ranks must poll, or wait themselves, meanwhile.
 * @param file     an open file of sessions
 * @param session  a session that this rank started
 * @return the session's failure, or a listed code
 * @retval SLUICE_OK                 success
 * @retval SLUICE_ERROR_WRONG_STATE  another rank is its home
 * @retval SLUICE_ERROR_TIMEOUT      after the option `timeout_s` without progress */
SLUICE_API int sluice_session_wait(sluice_session_file* file, const sluice_session* session);
/** Waits until a session to which nobody writes any more is complete.
 *
 * Collective. A failure is the same on every rank.
 * @param file     a file opened for writing
 * @param session  a session of the file, the same on every rank
 * @retval SLUICE_OK              success
 * @retval SLUICE_ERROR_HOLE      bytes are missing
 * @retval SLUICE_ERROR_OVERLAP   bytes were written twice
 * @retval SLUICE_ERROR_NO_SPACE  the disk or the quota is full
 * @retval SLUICE_ERROR_IO        the storage failed */
SLUICE_API int sluice_session_close(sluice_session_file* file, const sluice_session* session);
/** Moves on what can be moved without waiting, and calls back.
 *
 * Local. Bytes travel between ranks only inside calls of the library: call it now and then.
 * @param file  an open file of sessions
 * @return SLUICE_OK */
SLUICE_API int sluice_session_file_poll(sluice_session_file* file);
/** Waits until every read of this rank is answered.
 *
 * Local. The readers must poll meanwhile.
 * @param file  a file opened for reading
 * @return the first failure of a read that had no `done`, or a listed code
 * @retval SLUICE_OK             success
 * @retval SLUICE_ERROR_TIMEOUT  after the option `timeout_s` without progress */
SLUICE_API int sluice_session_file_wait_for_reads(sluice_session_file* file);
/** Closes every session, and the file.
 *
 * Collective.
 * @param file  an open file of sessions
 * @return SLUICE_OK, or the failure of any session, the same on every rank */
SLUICE_API int sluice_session_file_close(sluice_session_file* file);
/** Frees a handle, which must not be used any more.
 *
 * Local. If the file was not closed, bytes that are not on disk are lost.
 * @param file  a handle; NULL is fine */
SLUICE_API void sluice_session_file_free(sluice_session_file* file);

/** @} */

#ifndef SLUICE_NO_MPI_H
/** sluice_read_text_comm() for a communicator of the program's own MPI.
 *
 * Collective over `comm`.
 * @ingroup c_input
 * @param comm   the ranks that get the bytes
 * @param path   as for sluice_read_text_comm()
 * @param text   as for sluice_read_text_comm()
 * @param bytes  as for sluice_read_text_comm()
 * @return as sluice_read_text_comm() */
static inline int sluice_read_text(MPI_Comm comm, const char* path, char** text, int64_t* bytes) {
  return sluice_read_text_comm(sluice_comm_of(comm), path, text, bytes);
}
/** sluice_open_comm() for a communicator of the program's own MPI.
 *
 * Collective over `comm`.
 * @ingroup c_open
 * @param comm     the ranks that use the file; it is duplicated
 * @param path     as for sluice_open_comm()
 * @param mode     as for sluice_open_comm()
 * @param options  as for sluice_open_comm()
 * @param file     as for sluice_open_comm()
 * @return as sluice_open_comm() */
static inline int sluice_open(MPI_Comm comm, const char* path, const char* mode,
                              const char* options, sluice_file** file) {
  return sluice_open_comm(sluice_comm_of(comm), path, mode, options, file);
}
/** sluice_session_file_open_comm() for a communicator of the program's own MPI.
 *
 * Collective over `comm`.
 * @ingroup c_sessions
 * @param comm     the ranks that use the file; it is duplicated
 * @param path     as for sluice_session_file_open_comm()
 * @param mode     as for sluice_session_file_open_comm()
 * @param options  as for sluice_session_file_open_comm()
 * @param file     as for sluice_session_file_open_comm()
 * @return as sluice_session_file_open_comm() */
static inline int sluice_session_file_open(MPI_Comm comm, const char* path, const char* mode,
                                           const char* options, sluice_session_file** file) {
  return sluice_session_file_open_comm(sluice_comm_of(comm), path, mode, options, file);
}
#endif

#ifdef __cplusplus
}
#endif
#endif
