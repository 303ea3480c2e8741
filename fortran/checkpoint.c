/* The calls of the module sluice_checkpoints that take data, and what Fortran's texts need: blanks
 * at their end, where the library has NUL. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SLUICE_NO_MPI_H
#include "descriptor.h"
#include "sluice/checkpoint.h"

/* A text of the program, and what the library has of it: registered until the checkpoint closes. */
struct text {
  struct text* next;
  sluice_checkpoint* checkpoint;
  char* chars;
  const char* name; /* behind `padded` */
  size_t length;
  char padded[];
};

static pthread_mutex_t texts_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct text* texts;

static void to_library(struct text* t) {
  size_t used = t->length;
  while (used > 0 && t->chars[used - 1] == ' ') --used;
  memset(t->padded, 0, t->length);
  memcpy(t->padded, t->chars, used);
}

static void to_program(struct text* t) {
  const size_t used = used_bytes(t->padded, t->length);
  memset(t->chars, ' ', t->length);
  memcpy(t->chars, t->padded, used);
}

static void for_texts(const sluice_checkpoint* checkpoint, void (*work)(struct text*)) {
  pthread_mutex_lock(&texts_mutex);
  for (struct text* t = texts; t != NULL; t = t->next) {
    if (t->checkpoint == checkpoint) work(t);
  }
  pthread_mutex_unlock(&texts_mutex);
}

/* name: NULL: all of them. */
static void forget_texts(const sluice_checkpoint* checkpoint, const char* name) {
  pthread_mutex_lock(&texts_mutex);
  for (struct text** at = &texts; *at != NULL;) {
    struct text* t = *at;
    if (t->checkpoint == checkpoint && (name == NULL || strcmp(t->name, name) == 0)) {
      *at = t->next;
      free(t);
    } else {
      at = &t->next;
    }
  }
  pthread_mutex_unlock(&texts_mutex);
}

/* The library hears of it by a type that is none: it must not save the memory that the name had
 * before. */
static int refused(sluice_checkpoint* checkpoint, int code, const char* name, const char* why) {
  sluice_checkpoint_array_selection(checkpoint, name, 0, NULL, 0, NULL, NULL);
  return sluice_fortran_refusal(code, "checkpoint", name, (int)strlen(name), why);
}

/* SLUICE_OK where the library can read and write the data where it is. */
static int check_type(sluice_checkpoint* checkpoint, const struct array* a, const char* name) {
  const char* fault = fault_of_data(a);
  if (fault != NULL && code_of_fault(a) == SLUICE_ERROR_INVALID_ARGUMENT) {
    return refused(checkpoint, SLUICE_ERROR_INVALID_ARGUMENT, name, fault);
  }
  if (fault == NULL && is_as_stored(a)) return SLUICE_OK;
  return refused(checkpoint, SLUICE_ERROR_TYPE_MISMATCH, name,
                 "it is saved where it is, so it must be of a type that files have: integer, real "
                 "and complex of 4 and 8 bytes, integer of 1 and 2, logical of one byte; text by "
                 "the call text");
}

static void reverse(const int64_t* from, int count, int64_t offset, int64_t* to) {
  for (int i = 0; i < count; ++i) to[i] = from[count - 1 - i] - offset;
}

int sluice_fortran_checkpoint_array(sluice_checkpoint* checkpoint, const char* name,
                                    const CFI_cdesc_t* data, const int64_t* shape, int dims,
                                    const int64_t* start, int starts);
int sluice_fortran_checkpoint_array(sluice_checkpoint* checkpoint, const char* name,
                                    const CFI_cdesc_t* data, const int64_t* shape, int dims,
                                    const int64_t* start, int starts) {
  struct array a;
  int64_t extents[most_dimensions];
  int64_t first[most_dimensions] = {0};
  read_descriptor(data, &a);
  const int fault = check_type(checkpoint, &a, name);
  if (fault != SLUICE_OK) return fault;
  if ((dims >= 0 && dims != a.rank) || (starts >= 0 && starts != a.rank)) {
    return refused(checkpoint, SLUICE_ERROR_INVALID_ARGUMENT, name,
                   "shape and start need as many elements as the data has dimensions");
  }
  if (dims >= 0) {
    reverse(shape, dims, 0, extents);
  } else {
    memcpy(extents, a.count, sizeof a.count);
  }
  if (starts >= 0) reverse(start, starts, 1, first);
  sluice_selection selection = SLUICE_SELECTION_INIT;
  selection.start = first;
  selection.count = a.count;
  selection.stride_bytes = is_dense(&a) ? NULL : a.stride_bytes;
  return sluice_checkpoint_array_selection(checkpoint, name, a.type, a.base, a.rank, extents,
                                           &selection);
}

int sluice_fortran_checkpoint_rows(sluice_checkpoint* checkpoint, const char* name,
                                   const CFI_cdesc_t* data, const int64_t* shape, int dims,
                                   const int64_t* ids, int64_t count);
int sluice_fortran_checkpoint_rows(sluice_checkpoint* checkpoint, const char* name,
                                   const CFI_cdesc_t* data, const int64_t* shape, int dims,
                                   const int64_t* ids, int64_t count) {
  struct array a;
  int64_t extents[most_dimensions];
  read_descriptor(data, &a);
  const int fault = check_type(checkpoint, &a, name);
  if (fault != SLUICE_OK) return fault;
  bool fits = dims == a.rank && a.rank > 0 && a.count[0] == count && is_dense(&a);
  if (fits) reverse(shape, dims, 0, extents);
  for (int i = 1; fits && i < a.rank; ++i) fits = extents[i] == a.count[i];
  if (!fits) {
    return refused(checkpoint, SLUICE_ERROR_INVALID_ARGUMENT, name,
                   "rows need a dense array of the shape's dimensions, whose last one has as many "
                   "elements as there are ids");
  }
  return sluice_checkpoint_rows(checkpoint, name, a.type, a.base, a.rank, extents, count, ids);
}

int sluice_fortran_checkpoint_value(sluice_checkpoint* checkpoint, const char* name,
                                    const CFI_cdesc_t* data);
int sluice_fortran_checkpoint_value(sluice_checkpoint* checkpoint, const char* name,
                                    const CFI_cdesc_t* data) {
  struct array a;
  read_descriptor(data, &a);
  const int fault = check_type(checkpoint, &a, name);
  if (fault != SLUICE_OK) return fault;
  if (a.rank != 0) {
    return refused(checkpoint, SLUICE_ERROR_INVALID_ARGUMENT, name,
                   "one value: arrays by the call array");
  }
  return sluice_checkpoint_value(checkpoint, name, a.type, a.base);
}

int sluice_fortran_checkpoint_text(sluice_checkpoint* checkpoint, const char* name, char* chars,
                                   int64_t capacity);
int sluice_fortran_checkpoint_text(sluice_checkpoint* checkpoint, const char* name, char* chars,
                                   int64_t capacity) {
  struct text* t = calloc(1, sizeof *t + (size_t)capacity + strlen(name) + 2);
  if (t == NULL) return refused(checkpoint, SLUICE_ERROR_OVER_BUDGET, name, "out of memory");
  t->name = strcpy(t->padded + capacity + 1, name);
  t->checkpoint = checkpoint;
  t->chars = chars;
  t->length = (size_t)capacity;
  /* A text of C ends at its first NUL. One of Fortran may have NULs inside: it is one value. */
  const bool fits = capacity > 0 && capacity <= SLUICE_STRING_BYTES_MAX;
  const int code =
      fits ? sluice_checkpoint_value(checkpoint, name, SLUICE_STRING((int)capacity), t->padded)
           : sluice_checkpoint_text(checkpoint, name, t->padded, capacity);
  if (code != SLUICE_OK) {
    free(t);
    return code;
  }
  forget_texts(checkpoint, name);
  pthread_mutex_lock(&texts_mutex);
  t->next = texts;
  texts = t;
  pthread_mutex_unlock(&texts_mutex);
  return SLUICE_OK;
}

int sluice_fortran_checkpoint_bytes(sluice_checkpoint* checkpoint, const char* name,
                                    const CFI_cdesc_t* data, int32_t keep_on_other_ranks);
int sluice_fortran_checkpoint_bytes(sluice_checkpoint* checkpoint, const char* name,
                                    const CFI_cdesc_t* data, int32_t keep_on_other_ranks) {
  struct array a;
  read_descriptor(data, &a);
  const char* fault = fault_of_data(&a);
  if (fault != NULL && code_of_fault(&a) == SLUICE_ERROR_INVALID_ARGUMENT) {
    return refused(checkpoint, SLUICE_ERROR_INVALID_ARGUMENT, name, fault);
  }
  if (!is_dense(&a)) {
    return refused(checkpoint, SLUICE_ERROR_INVALID_ARGUMENT, name,
                   "bytes need an array without gaps");
  }
  return sluice_checkpoint_bytes(checkpoint, name, a.base,
                                 elements_of(&a) * (int64_t)a.element_bytes, keep_on_other_ranks);
}

int sluice_fortran_checkpoint_restore(sluice_checkpoint* checkpoint, sluice_restored* restored);
int sluice_fortran_checkpoint_restore(sluice_checkpoint* checkpoint, sluice_restored* restored) {
  const int code = sluice_checkpoint_restore(checkpoint, restored);
  if (code == SLUICE_OK && restored->number != 0) for_texts(checkpoint, to_program);
  return code;
}

int sluice_fortran_checkpoint_save(sluice_checkpoint* checkpoint, double time, sluice_saved* saved);
int sluice_fortran_checkpoint_save(sluice_checkpoint* checkpoint, double time,
                                   sluice_saved* saved) {
  for_texts(checkpoint, to_library);
  return sluice_checkpoint_save(checkpoint, time, saved);
}

/* Closes, and gives the handle back. */
int sluice_fortran_checkpoint_close(sluice_checkpoint* checkpoint);
int sluice_fortran_checkpoint_close(sluice_checkpoint* checkpoint) {
  const int code = sluice_checkpoint_close(checkpoint);
  forget_texts(checkpoint, NULL);
  sluice_checkpoint_free(checkpoint);
  return code;
}
