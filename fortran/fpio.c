/* The calls of the module fpio that take data: of any type and rank, by descriptor; and a scalar of
 * the types that loops over particles are made of, by address, in as little time as possible. */
#include <stdio.h>
#include <stdlib.h>

#define SLUICE_NO_MPI_H
#include "descriptor.h"
#include "sluice/records.h"
#include "sluice/records_inline.h"

/* As fpio.f90 declares it. */
struct fpio_file {
  sluice_part* part;
  sluice_records* records;
  int32_t parts;
  int32_t number;
};

/* In fpio.f90: sets *stat, or stops the program with the message. */
void sluice_fpio_failed(int code, const char* message, int* stat);

void sluice_fpio_bwrite(struct fpio_file* fp, const CFI_cdesc_t* values, int* stat);
void sluice_fpio_bread(struct fpio_file* fp, const CFI_cdesc_t* values, int* stat);

/* Of this thread's last failure, whoever found it. */
static _Thread_local char last_message[1000];

void sluice_fpio_keep_message(const char* message);
void sluice_fpio_keep_message(const char* message) {
  snprintf(last_message, sizeof last_message, "%s", message);
}

const char* sluice_fpio_message(void);
const char* sluice_fpio_message(void) { return last_message; }

/* Types that arrays in files have not. Compilers say -1 or -2 for those that they do not have. */
static sluice_type wide_type(const CFI_cdesc_t* values) {
  const CFI_type_t type = values->type;
  const size_t bytes = values->elem_len;
#ifdef CFI_type_int128_t
  if (type == CFI_type_int128_t && type > 0 && bytes == 16) return SLUICE_INT128;
#endif
#ifdef CFI_type_float128
  if (type == CFI_type_float128 && type > 0 && bytes == 16) return SLUICE_FLOAT128;
  if (type == CFI_type_float128_Complex && type > 0 && bytes == 32) return SLUICE_COMPLEX256;
#endif
  if (type == CFI_type_long_double && type > 0 && bytes == 16) return SLUICE_FLOAT80;
  if (type == CFI_type_long_double_Complex && type > 0 && bytes == 32) return SLUICE_COMPLEX160;
  return 0;
}

static const char* const not_allocated = "the array is not allocated";

/* The values, and their number; NULL, or why they cannot be taken. */
static const char* look_at(const CFI_cdesc_t* values, struct array* a, int64_t* count) {
  read_descriptor(values, a);
  for (int i = 0; i < a->rank; ++i) {
    if (a->count[i] < 0) return "the array has no size here: give a section of it";
  }
  *count = elements_of(a);
  if (*count != 0 && a->base == NULL) return not_allocated;
  if (fault_of_strides(a) != NULL) return fault_of_strides(a);
  if (a->type == 0) a->type = wide_type(values);
  if (a->is_text && a->element_bytes == 0) *count = 0;
  if (a->type == 0 && *count != 0) {
    return "values of this type cannot be stored: integer, real, complex, logical and character "
           "of kind 1 can";
  }
  return NULL;
}

/* why: what is wrong with the call, NULL if the library has said it. The group of a refused write
 * must fail, too. */
static void finish(const struct fpio_file* fp, int code, const char* why, bool writes, int* stat) {
  if (code == SLUICE_OK) {
    if (stat != NULL) *stat = 0;
    return;
  }
  char message[600];
  if (why != NULL) {
    snprintf(message, sizeof message, "%s: %s", writes ? "file_bwrite" : "file_bread", why);
    if (writes && fp->part != NULL) sluice_part_refuse(fp->part, code, message);
  } else {
    snprintf(message, sizeof message, "%s", sluice_last_error(NULL));
  }
  sluice_fpio_failed(code, message, stat);
}

static const char* const never_opened = "this fpio_file is not open";
static const char* const no_memory = "no memory for a copy of the array";

static void move(struct fpio_file* fp, const CFI_cdesc_t* values, bool writes, int* stat) {
  struct array a;
  int64_t count = 0;
  const char* why = fp->part == NULL ? never_opened : look_at(values, &a, &count);
  int code = why == never_opened ? SLUICE_ERROR_WRONG_STATE
             : why != NULL       ? SLUICE_ERROR_INVALID_ARGUMENT
                                 : SLUICE_OK;
  if (code == SLUICE_OK && count != 0) {
    const bool is_packed = !is_as_stored(&a) || !is_dense(&a);
    char* data = is_packed ? new_packed(&a, 0) : a.base;
    if (data == NULL) {
      why = no_memory;
      code = SLUICE_ERROR_OVER_BUDGET;
    } else if (writes) {
      if (is_packed) pack(&a, data);
      code = sluice_part_write(fp->part, a.type, data, count);
    } else {
      code = sluice_part_read(fp->part, a.type, data, count);
      if (is_packed && code == SLUICE_OK) unpack(&a, data);
    }
    if (is_packed) free(data);
  }
  finish(fp, code, why, writes, stat);
}

void sluice_fpio_bwrite(struct fpio_file* fp, const CFI_cdesc_t* values, int* stat) {
  move(fp, values, true, stat);
}

void sluice_fpio_bread(struct fpio_file* fp, const CFI_cdesc_t* values, int* stat) {
  move(fp, values, false, stat);
}

/* -- one scalar -------------------------------------------------------------------------------- */

/* Where there is no room for it, or something is wrong. `value` is only read where it `writes`. */
static void move_one(struct fpio_file* fp, sluice_type type, void* value, bool writes, int* stat) {
  const char* why = fp->part == NULL ? never_opened : value == NULL ? not_allocated : NULL;
  const int code = fp->part == NULL ? SLUICE_ERROR_WRONG_STATE
                   : value == NULL  ? SLUICE_ERROR_INVALID_ARGUMENT
                   : writes         ? sluice_part_write(fp->part, type, value, 1)
                                    : sluice_part_read(fp->part, type, value, 1);
  finish(fp, code, why, writes, stat);
}

static inline void write_one(struct fpio_file* fp, sluice_type type, const void* value,
                             size_t bytes, int* stat) {
  if (fp->part != NULL && value != NULL && sluice_part_write_inline(fp->part, type, value, bytes)) {
    if (stat != NULL) *stat = 0;
    return;
  }
  move_one(fp, type, (void*)value, true, stat);
}

static inline void read_one(struct fpio_file* fp, sluice_type type, void* value, size_t bytes,
                            int* stat) {
  if (fp->part != NULL && value != NULL && sluice_part_read_inline(fp->part, type, value, bytes)) {
    if (stat != NULL) *stat = 0;
    return;
  }
  move_one(fp, type, value, false, stat);
}

/* A function of its own for each type: its number and size are then constants. */
void sluice_fpio_write_int32(struct fpio_file* fp, const void* value, int* stat);
void sluice_fpio_write_int32(struct fpio_file* fp, const void* value, int* stat) {
  write_one(fp, SLUICE_INT32, value, 4, stat);
}

void sluice_fpio_read_int32(struct fpio_file* fp, void* value, int* stat);
void sluice_fpio_read_int32(struct fpio_file* fp, void* value, int* stat) {
  read_one(fp, SLUICE_INT32, value, 4, stat);
}

void sluice_fpio_write_int64(struct fpio_file* fp, const void* value, int* stat);
void sluice_fpio_write_int64(struct fpio_file* fp, const void* value, int* stat) {
  write_one(fp, SLUICE_INT64, value, 8, stat);
}

void sluice_fpio_read_int64(struct fpio_file* fp, void* value, int* stat);
void sluice_fpio_read_int64(struct fpio_file* fp, void* value, int* stat) {
  read_one(fp, SLUICE_INT64, value, 8, stat);
}

void sluice_fpio_write_real32(struct fpio_file* fp, const void* value, int* stat);
void sluice_fpio_write_real32(struct fpio_file* fp, const void* value, int* stat) {
  write_one(fp, SLUICE_FLOAT32, value, 4, stat);
}

void sluice_fpio_read_real32(struct fpio_file* fp, void* value, int* stat);
void sluice_fpio_read_real32(struct fpio_file* fp, void* value, int* stat) {
  read_one(fp, SLUICE_FLOAT32, value, 4, stat);
}

void sluice_fpio_write_real64(struct fpio_file* fp, const void* value, int* stat);
void sluice_fpio_write_real64(struct fpio_file* fp, const void* value, int* stat) {
  write_one(fp, SLUICE_FLOAT64, value, 8, stat);
}

void sluice_fpio_read_real64(struct fpio_file* fp, void* value, int* stat);
void sluice_fpio_read_real64(struct fpio_file* fp, void* value, int* stat) {
  read_one(fp, SLUICE_FLOAT64, value, 8, stat);
}
