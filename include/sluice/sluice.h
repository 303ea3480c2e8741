/* Sluice for C: parallel arrays of an MPI simulation in plain HDF5. C99 and later, and C++.
 *
 *   sluice_file *out;
 *   sluice_variable spins;
 *   int64_t shape[2] = {atoms, 3}, start[2] = {first, 0}, count[2] = {n, 3};
 *   sluice_variable_options options = SLUICE_VARIABLE_OPTIONS_INIT;
 *   options.steps = 1;
 *   sluice_open(comm, "spins.h5", "w", "strategy = \"collective\"", &out);
 *   sluice_define(out, "spins", SLUICE_FLOAT64, 2, shape, &options, &spins);
 *   for (...) {
 *     sluice_begin_step(out, t);
 *     sluice_put(out, spins, SLUICE_FLOAT64, mine, 2, start, count);
 *     sluice_end_step(out, NULL);                          // `mine` is free again
 *   }
 *   sluice_close(out);
 *   sluice_free(out);
 *
 * Conventions
 *
 * Errors. Every function that can fail returns a code: SLUICE_OK (0) or one of SLUICE_ERROR_...,
 * whose numbers never change. The message, one clear line, is kept on the handle until the next
 * call on it fails: sluice_last_error(file). Where there is no handle (a failed open, a NULL or
 * freed handle) it is kept for the thread: sluice_last_error(NULL). What one rank meets inside a
 * collective call, every rank returns, with the same message, which names that rank. A failed
 * local call between begin and end of a step makes the whole step fail, on every rank. No call
 * throws or exits; what is printed the option `log` says. A call that fails writes no outputs.
 *
 * Ownership. A handle belongs to the caller until sluice_free(). Strings and arrays given to the
 * library are copied, except the data of puts: it must stay unchanged until sluice_end_step() (of
 * puts outside steps: sluice_flush() or sluice_close()) has returned, whether it fails or not.
 * Strings that the library hands out belong to it: those of a file live until sluice_refresh() or
 * sluice_free(), messages until the next failure, others for ever.
 *
 * Threads. A file, and everything got from it, is used by one thread at a time. Different files
 * may be used by different threads where MPI was given MPI_THREAD_MULTIPLE (or for files opened
 * without communicator).
 *
 * Collective. "Collective" means that every rank of the file's communicator calls it, in the same
 * order. "Same" means that every rank makes the same call, but nothing is exchanged until the
 * next collective call, which compares. Everything else is local.
 *
 * Units. Sizes and indices count elements, starting at 0, never bytes unless the name ends in
 * _bytes; dimensions are in C order, slowest first, without the step. Times of steps are in
 * whatever unit the simulation has.
 *
 * Versions. Functions and numbers are only ever added within one major version. Structs begin with
 * their size, set by their ..._INIT, so that a program works with a library that knows more (or
 * fewer: then SLUICE_ERROR_UNSUPPORTED, if a field that is not known is set) fields.
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

/* -- numbers that never change ----------------------------------------------------------------- */

enum {
  SLUICE_OK = 0,
  /* what the caller asked for */
  SLUICE_ERROR_INVALID_ARGUMENT = 10, /* a value outside its documented range */
  SLUICE_ERROR_OUT_OF_BOUNDS = 11,    /* a block or selection outside the variable's shape */
  SLUICE_ERROR_OVERLAP = 12,          /* two blocks cover the same element */
  SLUICE_ERROR_HOLE = 13,             /* elements of a variable that is not partial are missing */
  SLUICE_ERROR_DUPLICATE_ROW = 14,    /* a row id given twice */
  SLUICE_ERROR_MISSING_ROW = 15,      /* a row id that nobody gave */
  SLUICE_ERROR_TYPE_MISMATCH = 16,    /* no conversion between memory type and file type */
  SLUICE_ERROR_OVERFLOW = 17,         /* a value does not fit the narrower type, or the buffer */
  SLUICE_ERROR_BAD_NAME = 18,         /* a name with "..", an absolute path, or empty */
  SLUICE_ERROR_WRONG_STATE = 19,      /* closed handle, put outside a step, double close, ... */
  /* what was found in the file system */
  SLUICE_ERROR_NOT_FOUND = 20,
  SLUICE_ERROR_EXISTS = 21,
  SLUICE_ERROR_PERMISSION = 22,
  SLUICE_ERROR_IO = 23,
  SLUICE_ERROR_NO_SPACE = 24,
  SLUICE_ERROR_TRUNCATED = 25,
  SLUICE_ERROR_FORMAT = 26,
  SLUICE_ERROR_VERSION = 27,
  SLUICE_ERROR_DAMAGED = 28, /* a checksum does not match */
  SLUICE_ERROR_CHANGED_OUTSIDE = 29,
  SLUICE_ERROR_UNSUPPORTED = 30,
  SLUICE_ERROR_LOCKED = 31, /* another process writes the file */
  /* what happened between ranks */
  SLUICE_ERROR_TIMEOUT = 40,
  SLUICE_ERROR_DIVERGENT = 41,   /* ranks called a collective with different arguments */
  SLUICE_ERROR_OVER_BUDGET = 42, /* one item alone exceeds the staging budget */
  SLUICE_ERROR_MPI = 43,
  SLUICE_ERROR_INTERNAL = 50 /* a broken invariant of the library itself */
};

/* Element types. Of a string of at most n bytes (UTF-8, padded with NUL): SLUICE_STRING(n). */
typedef int32_t sluice_type;
enum {
  SLUICE_INT8 = 1,
  SLUICE_INT16 = 2,
  SLUICE_INT32 = 3,
  SLUICE_INT64 = 4,
  SLUICE_UINT8 = 5,
  SLUICE_UINT16 = 6,
  SLUICE_UINT32 = 7,
  SLUICE_UINT64 = 8,
  SLUICE_FLOAT32 = 9,
  SLUICE_FLOAT64 = 10,
  SLUICE_COMPLEX64 = 11,  /* two float */
  SLUICE_COMPLEX128 = 12, /* two double */
  SLUICE_BOOL = 13,       /* one byte, 0 or 1; in the file the boolean that h5py uses */
  SLUICE_KIND_STRING = 14,
  SLUICE_FLOAT16 = 15 /* IEEE 754 binary16 */
};
#define SLUICE_STRING(bytes) ((sluice_type)(SLUICE_KIND_STRING + 256 * (bytes)))
#define SLUICE_STRING_BYTES_MAX 8388607

/* Dimensions of a variable, without the step; a variable with steps has one less. */
#define SLUICE_RANK_MAX 8
/* As count of an attribute: one value, not a list. */
#define SLUICE_SCALAR (-1)
/* As step: the newest. */
#define SLUICE_LAST_STEP (-1)

/* An open file, and a receipt of a commit. */
typedef struct sluice_file sluice_file;
typedef struct sluice_ticket sluice_ticket;
/* A variable of one file, numbered from 0 in order of definition. */
typedef int32_t sluice_variable;

/* -- library ----------------------------------------------------------------------------------- */

/* "1.2.3" */
SLUICE_API const char* sluice_version(void);
/* What MPI_Get_library_version says of the MPI that this process has loaded, which is the one that
 * the library calls; "none" where there is none. Works before MPI_Init. Local. */
SLUICE_API const char* sluice_mpi_library(void);
/* Where messages go (option `log`, SLUICE_EXPLAIN), each a line without its end: to `handler`;
 * NULL: to stderr, as at the start. One for the whole process. It is called on rank 0 of a file, by
 * the thread that uses the file, within calls; `text` is valid during the call. Local. */
typedef void (*sluice_message_handler)(const char* text, void* user);
SLUICE_API void sluice_set_message_handler(sluice_message_handler handler, void* user);
/* "out_of_bounds" for SLUICE_ERROR_OUT_OF_BOUNDS; "unknown" for numbers it does not know. */
SLUICE_API const char* sluice_code_name(int code);
/* "float64", "string[16]", as numpy would name it; "unknown". */
SLUICE_API const char* sluice_type_name(sluice_type type);
/* Bytes of one element in memory, 0 for what is no type. */
SLUICE_API size_t sluice_type_bytes(sluice_type type);

/* Message, code and rank (-1: not known) of the last failure on this handle; of NULL: of the last
 * failure in this thread on any handle. "" and SLUICE_OK where nothing failed yet. */
SLUICE_API const char* sluice_last_error(const sluice_file* file);
SLUICE_API int sluice_last_error_code(const sluice_file* file);
SLUICE_API int sluice_last_error_rank(const sluice_file* file);

/* -- input files --------------------------------------------------------------------------------
 *
 * A text or other small file that every rank needs: one rank opens and reads it, all get it.
 * Collective over comm, every rank with the same path.
 * text:  on success all bytes and a NUL behind them, for sluice_free_text(); on failure NULL, and
 *        the message is sluice_last_error(NULL).
 * bytes: their number without that NUL (the file may hold others); may be NULL. */

SLUICE_API int sluice_read_text_comm(sluice_comm comm, const char* path, char** text,
                                     int64_t* bytes);
/* The same for the integer handle of Fortran. */
SLUICE_API int sluice_read_text_f(int comm, const char* path, char** text, int64_t* bytes);
/* For this process alone, without MPI. */
SLUICE_API int sluice_read_text_serial(const char* path, char** text, int64_t* bytes);
SLUICE_API void sluice_free_text(char* text);

/* -- opening and closing ------------------------------------------------------------------------
 *
 * mode:    "r" reads; "w" writes under a temporary name and replaces an old file at the first
 *          commit; "x" as "w", but SLUICE_ERROR_EXISTS where the file is there; "a" adds steps and
 *          variables to a file that is there.
 * options: lines in TOML form, e.g. "strategy = \"collective\"\nwriters = 4"; NULL or "": the
 *          defaults. A name that is not known is SLUICE_ERROR_INVALID_ARGUMENT.
 * file:    on success the handle, to be given to sluice_close() and sluice_free(). On failure NULL;
 *          the message is sluice_last_error(NULL). */

/* Collective over comm (an intracommunicator), which is duplicated. SLUICE_ERROR_MPI where the
 * process has no MPI that fits, in one line that names it and says what to do. */
SLUICE_API int sluice_open_comm(sluice_comm comm, const char* path, const char* mode,
                                const char* options, sluice_file** file);
/* The same for the integer handle of Fortran (MPI_Comm_c2f, or MPI_VAL of mpi_f08). */
SLUICE_API int sluice_open_f(int comm, const char* path, const char* mode, const char* options,
                             sluice_file** file);
/* For this process alone, without MPI: neither uses nor starts it (except storage = "mpiio", which
 * starts it where the program did not). */
SLUICE_API int sluice_open_serial(const char* path, const char* mode, const char* options,
                                  sluice_file** file);
/* Commits what is not committed yet, and closes. Collective. The handle stays, for its messages,
 * until sluice_free(). A second close is SLUICE_ERROR_WRONG_STATE, a failed one closes too. */
SLUICE_API int sluice_close(sluice_file* file);
/* Gives the handle back; NULL is fine. Of a file that is still open everything since the last
 * commit is dropped; nothing is sent to other ranks. Use of a freed handle is
 * SLUICE_ERROR_WRONG_STATE until another open has reused its place. */
SLUICE_API void sluice_free(sluice_file* file);

/* -- describing ---------------------------------------------------------------------------------
 */

typedef struct sluice_variable_options {
  size_t size;                   /* set by SLUICE_VARIABLE_OPTIONS_INIT */
  int32_t steps;                 /* 1: a value of the shape for every step */
  int32_t partial;               /* 1: elements may be left out; they read as `fill` */
  const void* fill;              /* for partial variables: one element; NULL: zero */
  const char* unit;              /* attribute "units"; NULL: none */
  const char* description;       /* attribute "long_name"; NULL: none */
  const char* const* dimensions; /* a name for each dimension, without the step; NULL: none */
  const int64_t* chunk;  /* tile of the file in elements, a number a dimension; NULL: chosen */
  int32_t varying;       /* 1: each step has its own number of rows, see sluice_resize() */
  sluice_type fill_type; /* of *fill; 0: the variable's. Converted where no value is lost */
  const char* compress;  /* "deflate:6", "zstd:3", "none", with "+noshuffle"; NULL: the file's */
} sluice_variable_options;
#define SLUICE_VARIABLE_OPTIONS_INIT \
  { sizeof(sluice_variable_options), 0, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL }

/* A variable of file type `type` and a shape of `rank` (0: a scalar) numbers. "/" in the name makes
 * groups. options: NULL for the defaults. Defining the same again gives the same variable; with
 * another type or shape it is SLUICE_ERROR_EXISTS. Same. */
SLUICE_API int sluice_define(sluice_file* file, const char* name, sluice_type type, int rank,
                             const int64_t* shape, const sluice_variable_options* options,
                             sluice_variable* variable);

/* An attribute of the file (owner ""), of a group, of a variable (owner: its name) or of the times
 * of the steps (owner "time": their "units"): one value (count SLUICE_SCALAR) or a list of `count`.
 * Kinds: every integer up to 64 bits (stored as 32 or 64 bits), float, double, bool (one value),
 * and strings: of SLUICE_STRING(n), each n bytes, padded with NUL or shorter. Same. */
SLUICE_API int sluice_set_attribute(sluice_file* file, const char* owner, const char* name,
                                    sluice_type type, int64_t count, const void* values);
/* One string, or a list of them, each ended by NUL. Same. */
SLUICE_API int sluice_set_text(sluice_file* file, const char* owner, const char* name,
                               const char* text);
SLUICE_API int sluice_set_texts(sluice_file* file, const char* owner, const char* name,
                                int64_t count, const char* const* texts);

/* -- writing ------------------------------------------------------------------------------------
 */

/* Which part of a variable, and where it lies in memory. Each array has `rank` numbers; NULL is the
 * default. */
typedef struct sluice_selection {
  size_t size;                 /* set by SLUICE_SELECTION_INIT */
  const int64_t* start;        /* first element of the part; NULL: zeros */
  const int64_t* count;        /* NULL: up to the end of the shape; 0 in it: nothing */
  const int64_t* memory_shape; /* the whole array in memory (ghost cells); NULL: count */
  const int64_t* memory_start; /* where the part begins in it; NULL: zeros */
  const int64_t* stride_bytes; /* memory that is not dense: from one element to the next, in each
                                  dimension, may be negative; `data` is the part's first element,
                                  memory_shape and memory_start must be NULL. Such data is copied
                                  at once, within the budget. NULL: dense */
  int32_t allow_overflow;      /* 1: a narrowing conversion may lose values */
} sluice_selection;
#define SLUICE_SELECTION_INIT \
  { sizeof(sluice_selection), NULL, NULL, NULL, NULL, NULL, 0 }

/* Between begin and end the step's puts are made. time: NaN where there is none. Local. */
SLUICE_API int sluice_begin_step(sluice_file* file, double time);
/* Writes and commits the step. Collective. On failure the file holds the steps before this one.
 * ticket: NULL, or the receipt, to be given to sluice_ticket_free(). */
SLUICE_API int sluice_end_step(sluice_file* file, sluice_ticket** ticket);
/* Instead of sluice_end_step() where this rank cannot go on with the step: every rank's
 * sluice_end_step() fails with `why` (NULL: "abandoned"), and the file holds the steps before it.
 * Outside a step: the same instead of sluice_flush() or sluice_close(), for what was put there.
 * Collective with the other ranks' end, flush or close. SLUICE_OK where that came about. */
SLUICE_API int sluice_abandon_step(sluice_file* file, const char* why);

/* How many rows (elements of the first dimension) a varying variable has in this step, before
 * anything of it is put; without the call as many as its shape says. Same. */
SLUICE_API int sluice_resize(sluice_file* file, sluice_variable variable, int64_t rows);

/* This rank's part of a variable, from dense row-major memory of `type`: any number of times, also
 * parts without elements, or none at all. rank: of start and count, and of the variable. A variable
 * with steps: inside a step; a fixed one: anywhere. Small parts that follow one another are copied
 * and joined, so that single elements are cheap. */
SLUICE_API int sluice_put(sluice_file* file, sluice_variable variable, sluice_type type,
                          const void* data, int rank, const int64_t* start, const int64_t* count);
/* The same with all that a selection says; NULL: the whole variable. */
SLUICE_API int sluice_put_selection(sluice_file* file, sluice_variable variable, sluice_type type,
                                    const void* data, int rank, const sluice_selection* selection);
/* One element at `at` (`rank` indices). `value` is copied. */
SLUICE_API int sluice_put_value(sluice_file* file, sluice_variable variable, sluice_type type,
                                const void* value, int rank, const int64_t* at);
/* Rows by global index: row i of `data` (row-major, all dimensions but the first) goes to row
 * ids[i]. Rows may come from any rank in any order, each exactly once, unless the variable is
 * partial. ids must stay unchanged as long as the data. */
SLUICE_API int sluice_put_rows(sluice_file* file, sluice_variable variable, sluice_type type,
                               const void* data, int64_t rows, const int64_t* ids);
/* Commits what was put outside steps. Collective. ticket: as in sluice_end_step(). */
SLUICE_API int sluice_flush(sluice_file* file, sluice_ticket** ticket);

/* Strategy forward. poll: moves on what is on its way between nodes, without waiting; local, cheap.
 * drain: waits at most so many seconds until every step that has ended is there for good; *all is 1
 * where it is. What is not there then is lost if the job is killed, nothing else. Returns what a
 * step met on its way. Local; between nodes every rank calls it. Neither is for signal handlers. */
SLUICE_API int sluice_poll(sluice_file* file);
SLUICE_API int sluice_drain(sluice_file* file, double seconds, int32_t* all);

/* Of a receipt: the step, whether it survives kill -9 and a power cut, and waiting until that will
 * not change any more. Local. A ticket may be asked after its file is closed. */
SLUICE_API int sluice_ticket_step(const sluice_ticket* ticket, int64_t* step);
SLUICE_API int sluice_ticket_durable(const sluice_ticket* ticket, int32_t* durable);
/* Was the step left out (option on_error = "skip_step")? */
SLUICE_API int sluice_ticket_skipped(const sluice_ticket* ticket, int32_t* skipped);
SLUICE_API int sluice_ticket_wait(const sluice_ticket* ticket);
SLUICE_API void sluice_ticket_free(sluice_ticket* ticket);

/* -- what is there (writing and reading) --------------------------------------------------------
 */

typedef struct sluice_variable_info {
  size_t size;      /* set by SLUICE_VARIABLE_INFO_INIT */
  const char* name; /* the file's */
  sluice_type type;
  int32_t rank;  /* numbers in shape */
  int32_t steps; /* 1: a value for every step */
  int32_t partial;
  const void* fill;               /* one element of the type, the file's; NULL: zero */
  int64_t shape[SLUICE_RANK_MAX]; /* without the step; of a varying variable: the most */
  int32_t varying;
  const char* dimensions[SLUICE_RANK_MAX]; /* names, without the step; the file's; NULL: none */
} sluice_variable_info;
#define SLUICE_VARIABLE_INFO_INIT                                          \
  {                                                                        \
    sizeof(sluice_variable_info), NULL, 0, 0, 0, 0, NULL, {0}, 0, { NULL } \
  }

SLUICE_API int sluice_variable_count(sluice_file* file, int32_t* count);
/* By name; SLUICE_ERROR_NOT_FOUND says which there are. */
SLUICE_API int sluice_find(sluice_file* file, const char* name, sluice_variable* variable);
SLUICE_API int sluice_info(sluice_file* file, sluice_variable variable, sluice_variable_info* info);
/* The shape of one step, `rank` numbers as sluice_info() tells: that of the variable, but for
 * varying ones, which may have fewer rows. Reading only. */
SLUICE_API int sluice_shape(sluice_file* file, sluice_variable variable, int64_t step, int rank,
                            int64_t* shape);
/* Committed steps. */
SLUICE_API int sluice_steps(sluice_file* file, int64_t* steps);
/* The time given to sluice_begin_step(), NaN where none was. Reading only. */
SLUICE_API int sluice_time(sluice_file* file, int64_t step, double* time);
/* Of an open handle: 1 where it reads, 0 where it writes. */
SLUICE_API int sluice_is_reading(sluice_file* file, int32_t* reading);

/* Attributes; of a file that is being read. `count` of sluice_attribute_info is SLUICE_SCALAR for
 * one value; `type` of strings is SLUICE_STRING(length of the longest, at least 1). */
SLUICE_API int sluice_attribute_count(sluice_file* file, const char* owner, int64_t* count);
SLUICE_API int sluice_attribute_name(sluice_file* file, const char* owner, int64_t index,
                                     const char** name);
SLUICE_API int sluice_has_attribute(sluice_file* file, const char* owner, const char* name,
                                    int32_t* has);
SLUICE_API int sluice_attribute_info(sluice_file* file, const char* owner, const char* name,
                                     sluice_type* type, int64_t* count);
/* Into room for `capacity` values of `type`: numbers are converted (SLUICE_ERROR_OVERFLOW where one
 * does not fit), strings padded with NUL to the n bytes of SLUICE_STRING(n). */
SLUICE_API int sluice_get_attribute(sluice_file* file, const char* owner, const char* name,
                                    sluice_type type, int64_t capacity, void* values);
/* A string as it is, `index` of a list (0 for one string). The file's. */
SLUICE_API int sluice_get_text(sluice_file* file, const char* owner, const char* name,
                               int64_t index, const char** text);

/* -- reading ------------------------------------------------------------------------------------
 */

/* A part of one step (SLUICE_LAST_STEP: the newest; ignored for fixed variables) into dense
 * row-major memory of `type`, converted. Each rank its own part; counts of 0 are fine. Collective.
 */
SLUICE_API int sluice_get(sluice_file* file, sluice_variable variable, sluice_type type, void* data,
                          int rank, const int64_t* start, const int64_t* count, int64_t step);
/* The same with all that a selection says; NULL: the whole variable. Collective. */
SLUICE_API int sluice_get_selection(sluice_file* file, sluice_variable variable, sluice_type type,
                                    void* data, int rank, const sluice_selection* selection,
                                    int64_t step);
/* Notes a get for sluice_perform_gets(): `data` must live until then, and holds nothing before. As
 * sluice_get_selection(), without stride_bytes. What is wrong with it makes sluice_perform_gets()
 * fail on every rank. Local. */
SLUICE_API int sluice_defer_get(sluice_file* file, sluice_variable variable, sluice_type type,
                                void* data, int rank, const sluice_selection* selection,
                                int64_t step);
/* Reads all that was deferred. The ranks wait for each other as often as in one sluice_get(), so
 * several variables come faster than one after the other. Every rank has deferred the same
 * variables and steps in the same order (SLUICE_ERROR_DIVERGENT), each its own parts. Collective.
 */
SLUICE_API int sluice_perform_gets(sluice_file* file);
/* Rows by global index, each rank its own, repeats allowed. Collective. */
SLUICE_API int sluice_get_rows(sluice_file* file, sluice_variable variable, sluice_type type,
                               void* data, int64_t rows, const int64_t* ids, int64_t step);
/* Looks again at a file that another program is still writing: its newest steps, variables and
 * attributes. Variables keep their numbers. Collective. */
SLUICE_API int sluice_refresh(sluice_file* file);
/* The newest step of which every value can be read and matches its checksum (they are checked
 * whatever the option checksum says), -1 where no step does. For programs that go on from it: the
 * option restart_after. Reads one step, more only if that is damaged. Collective. */
SLUICE_API int sluice_latest_good(sluice_file* file, int64_t* step);

/* -- for interfaces of other languages ----------------------------------------------------------
 */

/* What such an interface has found wrong by itself: the next call on the handle that defines, sets,
 * puts or gets fails with that code and reason instead of what it would have done; a put so makes
 * its step fail, and a collective get fails, on every rank. Local. */
SLUICE_API int sluice_refuse(sluice_file* file, int code, const char* why);
/* From which number on messages of calls on this handle count steps, rows and elements: 0 at the
 * start; 1 for languages that count so. Arguments are counted from 0 always. Local. */
SLUICE_API int sluice_count_from(sluice_file* file, int32_t first);

/* -- sessions -----------------------------------------------------------------------------------
 *
 * A file of plain bytes that any rank writes, or reads, whenever it likes. A session is a range of
 * it, begun by one rank (its home) without the others. Whoever has the sluice_session, a plain
 * value that may be sent to any rank, writes parts of it in any order; every byte is written once.
 * Tile t of the file belongs to writer t mod writers.
 *
 * Messages of failures: sluice_last_error(NULL). Callbacks come from sluice_session_file_poll,
 * _wait, _wait_for_reads and _close of the thread that opened the file. code: SLUICE_OK, or why it
 * failed, and then a message that is valid during the call. */

typedef struct sluice_session_file sluice_session_file;
typedef struct sluice_session {
  int32_t home; /* the rank that began it */
  uint32_t number;
  int64_t offset; /* of its first byte in the file */
  int64_t bytes;
} sluice_session;
typedef void (*sluice_done)(int code, const char* message, void* user);
typedef struct sluice_session_options {
  size_t size;               /* set by SLUICE_SESSION_OPTIONS_INIT */
  void (*ready)(void* user); /* reading: its beginning is in the readers' memory. NULL: none */
  sluice_done complete;      /* once: every byte is on disk, or why not. NULL: none */
  void* user;                /* given to both */
  const void* after;         /* bytes that are written when all others are on disk; copied */
  int64_t after_bytes;
  int64_t after_offset; /* in the file */
} sluice_session_options;
#define SLUICE_SESSION_OPTIONS_INIT \
  { sizeof(sluice_session_options), NULL, NULL, NULL, NULL, 0, 0 }

/* Collective over comm. mode: "r" reads; "w" cuts off what was there; "x" as "w", but
 * SLUICE_ERROR_EXISTS where something was; "a" leaves it. options: as of sluice_open(). The handle
 * is to be given to sluice_session_file_close() and sluice_session_file_free(). */
SLUICE_API int sluice_session_file_open_comm(sluice_comm comm, const char* path, const char* mode,
                                             const char* options, sluice_session_file** file);
SLUICE_API int sluice_session_file_open_f(int comm, const char* path, const char* mode,
                                          const char* options, sluice_session_file** file);
SLUICE_API int sluice_session_file_open_serial(const char* path, const char* mode,
                                               const char* options, sluice_session_file** file);
/* A session of `bytes` (0 too) from `offset` on. options: NULL for none. Local. */
SLUICE_API int sluice_session_start(sluice_session_file* file, int64_t offset, int64_t bytes,
                                    const sluice_session_options* options, sluice_session* session);
/* Copies `bytes` of `data` to `offset` of the file, inside the session. Local; waits only where the
 * budget is used up. Any thread, as long as the one that opened the file polls. */
SLUICE_API int sluice_session_write(sluice_session_file* file, const sluice_session* session,
                                    const void* data, int64_t bytes, int64_t offset);
/* Reads `bytes` from `offset` of the file on into `data`, which must stay until `done` is called.
 * Local. */
SLUICE_API int sluice_session_read(sluice_session_file* file, const sluice_session* session,
                                   void* data, int64_t bytes, int64_t offset, sluice_done done,
                                   void* user);
/* On the home of a session that reads: its memory may be given back. Local. */
SLUICE_API int sluice_session_end(sluice_session_file* file, const sluice_session* session);
/* On the home: until the session is complete (reading: ready). The others must poll meanwhile. */
SLUICE_API int sluice_session_wait(sluice_session_file* file, const sluice_session* session);
/* Nobody writes to it any more: waits until it is complete. Collective. SLUICE_ERROR_HOLE, on every
 * rank, where bytes of it are missing. */
SLUICE_API int sluice_session_close(sluice_session_file* file, const sluice_session* session);
/* Moves on what can be moved without waiting, and calls back. Local. */
SLUICE_API int sluice_session_file_poll(sluice_session_file* file);
/* Until every read of this rank was answered. The readers must poll meanwhile. */
SLUICE_API int sluice_session_file_wait_for_reads(sluice_session_file* file);
/* Closes all sessions, and the file. Collective. The failure of any session is returned on every
 * rank. */
SLUICE_API int sluice_session_file_close(sluice_session_file* file);
/* Gives the handle back, which must not be used any more; NULL is fine. Of a file that was not
 * closed, what was not written by then is lost. */
SLUICE_API void sluice_session_file_free(sluice_session_file* file);

#ifndef SLUICE_NO_MPI_H
/* As the functions whose names end on _comm, of the program's own MPI. */
static inline int sluice_read_text(MPI_Comm comm, const char* path, char** text, int64_t* bytes) {
  return sluice_read_text_comm(sluice_comm_of(comm), path, text, bytes);
}
static inline int sluice_open(MPI_Comm comm, const char* path, const char* mode,
                              const char* options, sluice_file** file) {
  return sluice_open_comm(sluice_comm_of(comm), path, mode, options, file);
}
static inline int sluice_session_file_open(MPI_Comm comm, const char* path, const char* mode,
                                           const char* options, sluice_session_file** file) {
  return sluice_session_file_open_comm(sluice_comm_of(comm), path, mode, options, file);
}
#endif

#ifdef __cplusplus
}
#endif
#endif
