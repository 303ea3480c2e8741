/* The calls that carry data, from Fortran's names and descriptors to the C interface. Starts and
 * ids come counted from 1, in Fortran's order.
 *
 * Refusals. A mistake that is found here is told to the library too, by a call that it must refuse:
 * so the step fails on every rank, and no rank waits for a collective call that never comes. The
 * answer is then a negative code, and sluice_fortran_message() the reason.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "descriptor.h"

enum { no_variable = -1, cached_names = 4, cached_length = 32 };

/* As type(name_cache) of sluice_c.f90. */
struct name_cache {
  char names[cached_names][cached_length];
  int32_t lengths[cached_names];
  int32_t variables[cached_names];
  int32_t next;
};

/* -- refusals ---------------------------------------------------------------------------------- */

static _Thread_local char own_message[512];

const char* sluice_fortran_message(void);
const char* sluice_fortran_message(void) { return own_message; }

int sluice_fortran_refusal(int code, const char* call, const char* name, int length,
                           const char* why) {
  snprintf(own_message, sizeof own_message, "%s %.*s: %s", call, length, name, why);
  return -code;
}

/* For a fault of the data. */
static int refuse_data(const struct array* a, const char* call, const char* name, int length,
                       const char* fault) {
  return sluice_fortran_refusal(code_of_fault(a), call, name, length, fault);
}

/* SLUICE_OK where the library can be given the data. */
static int refusal_of_data(const struct array* a, const char* call, const char* name, int length) {
  const char* fault = fault_of_data(a);
  return fault == NULL ? SLUICE_OK : refuse_data(a, call, name, length, fault);
}

/* The next call on the file is to fail so, instead of what it would do. */
static void refuse_next(sluice_file* file, int refused) {
  if (refused != SLUICE_OK) sluice_refuse(file, -refused, own_message);
}

static int no_memory(const char* call, const char* name, int length) {
  return sluice_fortran_refusal(SLUICE_ERROR_OVER_BUDGET, call, name, length, "out of memory");
}

static const char* const no_room =
    "the copy of the data exceeds the budget: raise budget_bytes, or put an array that stays as it "
    "is "
    "until end_step with in_place=.true.";

static const char* const not_deferred =
    "deferred: the data has gaps, or is of a type that files keep in another way: get it at once";

/* -- names ------------------------------------------------------------------------------------- */

static int trimmed(const char* text, int length) {
  while (length > 0 && text[length - 1] == ' ') --length;
  return length;
}

/* The variable of a name that is not in the cache; its number from then on is. */
static int find_new(sluice_file* file, struct name_cache* cache, const char* name, int length,
                    sluice_variable* variable) {
  char* text = malloc((size_t)length + 1);
  if (text == NULL) return no_memory("find", name, length);
  memcpy(text, name, (size_t)length);
  text[length] = '\0';
  const int code = sluice_find(file, text, variable);
  free(text);
  if (code != SLUICE_OK) {
    snprintf(own_message, sizeof own_message, "%s", sluice_last_error(file));
    *variable = no_variable;
    return -code;
  }
  if (length <= cached_length) {
    const int at = cache->next;
    memcpy(cache->names[at], name, (size_t)length);
    cache->lengths[at] = length;
    cache->variables[at] = *variable;
    cache->next = (at + 1) % cached_names;
  }
  return SLUICE_OK;
}

static int find(sluice_file* file, struct name_cache* cache, const char* name, int length,
                sluice_variable* variable) {
  length = trimmed(name, length);
  for (int i = 0; i < cached_names; ++i) {
    if (cache->lengths[i] == length && memcmp(cache->names[i], name, (size_t)length) == 0) {
      *variable = cache->variables[i];
      return SLUICE_OK;
    }
  }
  return find_new(file, cache, name, length, variable);
}

/* -- memory ------------------------------------------------------------------------------------ */

/* Answers of sluice_holds_memory(). */
enum { memory_held = 1, memory_in_use = 2 };

/* What a get was given. After a timeout MPI may go on receiving into it. */
static void free_received(const sluice_file* file, int code, void* memory) {
  if (code == SLUICE_OK || sluice_holds_memory(file) != memory_in_use) free(memory);
}

/* -- parts of variables ------------------------------------------------------------------------ */

/* Which part is meant. A scalar with a start is one element there. Where start and data do not have
 * as many dimensions, the rank that the variable does not have is chosen, so that it is refused. */
static int part_of(sluice_file* file, sluice_variable variable, struct array* a, int starts,
                   const int64_t* start, int64_t* first, sluice_selection* selection) {
  int rank = a->rank;
  if (starts > 0 && a->rank == 0 && starts <= most_dimensions) {
    rank = starts;
    for (int i = 0; i < rank; ++i) a->count[i] = 1;
  } else if (starts >= 0 && starts != a->rank) {
    sluice_variable_info info = SLUICE_VARIABLE_INFO_INIT;
    const bool known = sluice_info(file, variable, &info) == SLUICE_OK;
    return known && info.rank == a->rank ? starts : a->rank;
  }
  for (int i = 0; i < rank && starts >= 0; ++i) first[i] = start[rank - 1 - i] - 1;
  selection->start = starts >= 0 ? first : NULL;
  selection->count = a->count;
  return rank;
}

int sluice_fortran_put(sluice_file* file, struct name_cache* cache, const char* name, int length,
                       const CFI_cdesc_t* data, int starts, const int64_t* start,
                       int32_t allow_overflow, int32_t in_place);
int sluice_fortran_put(sluice_file* file, struct name_cache* cache, const char* name, int length,
                       const CFI_cdesc_t* data, int starts, const int64_t* start,
                       int32_t allow_overflow, int32_t in_place) {
  struct array a;
  int64_t first[most_dimensions];
  int64_t stride[most_dimensions] = {0};
  sluice_variable variable = no_variable;
  sluice_selection selection = SLUICE_SELECTION_INIT;
  int refused = find(file, cache, name, length, &variable);
  read_descriptor(data, &a);
  if (refused == SLUICE_OK) refused = refusal_of_data(&a, "put", name, length);
  const int rank = part_of(file, variable, &a, starts, start, first, &selection);
  if (refused == SLUICE_OK && a.rank == 0 && is_as_stored(&a) && allow_overflow == 0) {
    return sluice_put_value(file, variable, a.type, a.base, rank, first);
  }
  selection.allow_overflow = allow_overflow;
  char* packed = NULL;
  if (is_as_stored(&a) || refused != SLUICE_OK) {
    /* Given strides, the library copies at once. */
    const bool copies = !(in_place && is_dense(&a));
    const int64_t* own = a.rank > 0 ? a.stride_bytes : stride;
    selection.stride_bytes = copies ? own : NULL;
  } else {
    packed = new_packed(&a, 0);
    if (packed == NULL) refused = no_memory("put", name, length);
    if (packed != NULL) pack(&a, packed);
    dense_strides(&a, rank, packed_bytes(&a), stride);
    selection.stride_bytes = stride;
  }
  refuse_next(file, refused);
  const int code = sluice_put_selection(file, variable, a.type, is_as_stored(&a) ? a.base : packed,
                                        rank, &selection);
  free(packed);
  if (refused == SLUICE_OK && code == SLUICE_ERROR_OVER_BUDGET && !in_place) {
    refused = sluice_fortran_refusal(code, "put", name, length, no_room);
  }
  return refused != SLUICE_OK ? refused : code;
}

int sluice_fortran_get(sluice_file* file, struct name_cache* cache, const char* name, int length,
                       const CFI_cdesc_t* data, int starts, const int64_t* start, int64_t step,
                       int32_t allow_overflow, int32_t deferred);
int sluice_fortran_get(sluice_file* file, struct name_cache* cache, const char* name, int length,
                       const CFI_cdesc_t* data, int starts, const int64_t* start, int64_t step,
                       int32_t allow_overflow, int32_t deferred) {
  struct array a;
  int64_t first[most_dimensions];
  sluice_variable variable = no_variable;
  sluice_selection selection = SLUICE_SELECTION_INIT;
  int refused = find(file, cache, name, length, &variable);
  read_descriptor(data, &a);
  if (refused == SLUICE_OK) refused = refusal_of_data(&a, "get", name, length);
  const int rank = part_of(file, variable, &a, starts, start, first, &selection);
  selection.allow_overflow = allow_overflow;
  if (deferred) {
    const bool is_straight = is_as_stored(&a) && (a.rank == 0 || is_dense(&a));
    if (refused == SLUICE_OK && !is_straight) {
      refused = sluice_fortran_refusal(SLUICE_ERROR_UNSUPPORTED, "get", name, length, not_deferred);
    }
    refuse_next(file, refused);
    const int code = sluice_defer_get(file, refused == SLUICE_OK ? variable : no_variable, a.type,
                                      a.base, rank, &selection, step);
    return refused != SLUICE_OK ? refused : code;
  }
  char* packed = NULL;
  if (is_as_stored(&a)) {
    selection.stride_bytes = a.rank == 0 || is_dense(&a) ? NULL : a.stride_bytes;
  } else if (refused == SLUICE_OK) {
    packed = new_packed(&a, 0);
    if (packed == NULL) refused = no_memory("get", name, length);
  }
  refuse_next(file, refused);
  const int code = sluice_get_selection(file, variable, a.type, is_as_stored(&a) ? a.base : packed,
                                        rank, &selection, step);
  if (code == SLUICE_OK && packed != NULL) unpack(&a, packed);
  free_received(file, code, packed);
  return refused != SLUICE_OK ? refused : code;
}

/* -- rows -------------------------------------------------------------------------------------- */

/* Ids from 0, and rows that had to be packed, until their step has ended. */
struct kept {
  struct kept* next;
  const sluice_file* file;
  int64_t ids[];
};

static pthread_mutex_t kept_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct kept* kept_of_all;

static void keep(struct kept* k) {
  pthread_mutex_lock(&kept_mutex);
  k->next = kept_of_all;
  kept_of_all = k;
  pthread_mutex_unlock(&kept_mutex);
}

/* After a commit, or the refusal of one: then they are still needed. What MPI may use until it is
 * finalised is kept for ever, and is no other file's that gets the handle later. */
void sluice_fortran_forget(const sluice_file* file);
void sluice_fortran_forget(const sluice_file* file) {
  const int32_t holds = sluice_holds_memory(file);
  if (holds == memory_held) return;
  pthread_mutex_lock(&kept_mutex);
  for (struct kept** at = &kept_of_all; *at != NULL;) {
    struct kept* k = *at;
    if (k->file == file) {
      *at = k->next;
      if (holds != memory_in_use) free(k);
    } else {
      at = &k->next;
    }
  }
  pthread_mutex_unlock(&kept_mutex);
}

enum { all_rows = -1 };
/* Why these are no rows of the variable; NULL where they are. `rows`: how many there must be. */
static const char* fault_of_rows(sluice_file* file, sluice_variable variable, const struct array* a,
                                 int64_t rows) {
  sluice_variable_info info = SLUICE_VARIABLE_INFO_INIT;
  const char* fault = fault_of_data(a);
  if (fault != NULL) return fault;
  if (a->rank < 1) return "the data needs a last dimension that counts the rows";
  if (rows != all_rows && a->count[0] != rows) {
    return "the last dimension of the data needs as many rows as there are ids";
  }
  if (sluice_info(file, variable, &info) != SLUICE_OK) return NULL; /* the call itself will say */
  if (info.rank != a->rank) return "the data has not as many dimensions as the variable";
  for (int i = 1; i < a->rank; ++i) {
    if (info.shape[i] != a->count[i]) {
      return "the dimensions of the data before the last are not the variable's";
    }
  }
  return NULL;
}

/* Finds the variable and looks at the data; SLUICE_OK where these are rows of it. */
static int find_rows(sluice_file* file, struct name_cache* cache, const char* call,
                     const char* name, int length, const CFI_cdesc_t* data, int64_t rows,
                     sluice_variable* variable, struct array* a) {
  const int refused = find(file, cache, name, length, variable);
  read_descriptor(data, a);
  if (refused != SLUICE_OK) return refused;
  const char* fault = fault_of_rows(file, *variable, a, rows);
  return fault == NULL ? SLUICE_OK : refuse_data(a, call, name, length, fault);
}

int sluice_fortran_put_rows(sluice_file* file, struct name_cache* cache, const char* name,
                            int length, const CFI_cdesc_t* data, int64_t rows, const int64_t* ids,
                            int32_t in_place);
int sluice_fortran_put_rows(sluice_file* file, struct name_cache* cache, const char* name,
                            int length, const CFI_cdesc_t* data, int64_t rows, const int64_t* ids,
                            int32_t in_place) {
  struct array a;
  sluice_variable variable = no_variable;
  int refused = find_rows(file, cache, "put_rows", name, length, data, rows, &variable, &a);
  const bool needs_packing =
      refused == SLUICE_OK && (!in_place || !is_as_stored(&a) || !is_dense(&a));
  const size_t ids_bytes = sizeof(struct kept) + (size_t)rows * sizeof *ids;
  struct kept* k = needs_packing ? new_packed(&a, ids_bytes) : malloc(ids_bytes);
  if (k == NULL) refused = no_memory("put_rows", name, length);
  if (refused != SLUICE_OK) {
    free(k);
    refuse_next(file, refused);
    sluice_put_rows(file, variable, SLUICE_FLOAT64, NULL, -1, NULL);
    return refused;
  }
  for (int64_t i = 0; i < rows; ++i) k->ids[i] = ids[i] - 1;
  char* packed = (char*)k + ids_bytes;
  if (needs_packing) pack(&a, packed);
  const int code =
      sluice_put_rows(file, variable, a.type, needs_packing ? packed : a.base, rows, k->ids);
  if (code != SLUICE_OK) {
    free(k);
    return code;
  }
  k->file = file;
  keep(k);
  return SLUICE_OK;
}

int sluice_fortran_put_joined(sluice_file* file, struct name_cache* cache, const char* name,
                              int length, const CFI_cdesc_t* data, int32_t in_place);
int sluice_fortran_put_joined(sluice_file* file, struct name_cache* cache, const char* name,
                              int length, const CFI_cdesc_t* data, int32_t in_place) {
  struct array a;
  sluice_variable variable = no_variable;
  int refused = find_rows(file, cache, "put_joined", name, length, data, all_rows, &variable, &a);
  const int64_t rows = a.rank < 1 ? 0 : a.count[0];
  struct kept* k = NULL;
  if (refused == SLUICE_OK && (!in_place || !is_as_stored(&a) || !is_dense(&a))) {
    k = new_packed(&a, sizeof(struct kept));
    if (k == NULL) refused = no_memory("put_joined", name, length);
  }
  if (refused != SLUICE_OK) {
    refuse_next(file, refused);
    sluice_put_joined(file, variable, SLUICE_FLOAT64, NULL, -1);
    return refused;
  }
  char* packed = k == NULL ? NULL : (char*)k + sizeof(struct kept);
  if (k != NULL) pack(&a, packed);
  const int code = sluice_put_joined(file, variable, a.type, k != NULL ? packed : a.base, rows);
  if (k == NULL || code != SLUICE_OK) {
    free(k);
    return code;
  }
  k->file = file;
  keep(k);
  return SLUICE_OK;
}

int sluice_fortran_get_rows(sluice_file* file, struct name_cache* cache, const char* name,
                            int length, const CFI_cdesc_t* data, int64_t rows, const int64_t* ids,
                            int64_t step);
int sluice_fortran_get_rows(sluice_file* file, struct name_cache* cache, const char* name,
                            int length, const CFI_cdesc_t* data, int64_t rows, const int64_t* ids,
                            int64_t step) {
  struct array a;
  sluice_variable variable = no_variable;
  int refused = find_rows(file, cache, "get_rows", name, length, data, rows, &variable, &a);
  const bool needs_packing = refused == SLUICE_OK && (!is_as_stored(&a) || !is_dense(&a));
  const size_t ids_bytes = (size_t)rows * sizeof *ids;
  int64_t* from_0 = needs_packing ? new_packed(&a, ids_bytes) : malloc(ids_bytes + 1);
  if (from_0 == NULL) refused = no_memory("get_rows", name, length);
  if (refused != SLUICE_OK) {
    free(from_0);
    refuse_next(file, refused);
    sluice_get_rows(file, variable, SLUICE_FLOAT64, NULL, -1, NULL, step);
    return refused;
  }
  for (int64_t i = 0; i < rows; ++i) from_0[i] = ids[i] - 1;
  char* packed = (char*)from_0 + ids_bytes;
  const int code =
      sluice_get_rows(file, variable, a.type, needs_packing ? packed : a.base, rows, from_0, step);
  if (code == SLUICE_OK && needs_packing) unpack(&a, packed);
  free_received(file, code, from_0);
  return code;
}

/* -- attributes -------------------------------------------------------------------------------- */

/* NULL where this can be an attribute. gfortran hands text that is no variable on as one integer of
 * a byte, its first letter: rather refused than stored. A list of one is no text. */
static const char* fault_of_attribute(const struct array* a) {
  const char* fault = fault_of_data(a);
  if (fault != NULL) return fault;
  if (a->rank > 1) return "an attribute is a value or a list, not an array of more dimensions";
  if (a->rank == 0 && a->type == SLUICE_INT8) {
    return "a literal or another expression of characters is set by set_text, an integer(int8) as "
           "a list "
           "of one, [value]";
  }
  return NULL;
}

/* A value or a list. */
int sluice_fortran_set_attribute(sluice_file* file, const char* owner, const char* name,
                                 const CFI_cdesc_t* value);
int sluice_fortran_set_attribute(sluice_file* file, const char* owner, const char* name,
                                 const CFI_cdesc_t* value) {
  const char* const call = "set_attribute";
  struct array a;
  read_descriptor(value, &a);
  const char* fault = fault_of_attribute(&a);
  if (fault != NULL) {
    const int refused = refuse_data(&a, call, name, (int)strlen(name), fault);
    refuse_next(file, refused);
    sluice_set_attribute(file, owner, name, 0, SLUICE_SCALAR, a.base);
    return refused;
  }
  const int64_t count = a.rank == 0 ? SLUICE_SCALAR : a.count[0];
  char* packed = new_packed(&a, 0);
  if (packed == NULL) {
    sluice_set_attribute(file, owner, name, a.type, count, NULL);
    return no_memory(call, name, (int)strlen(name));
  }
  pack(&a, packed);
  const int code = sluice_set_attribute(file, owner, name, a.type, count, packed);
  free(packed);
  return code;
}

int sluice_fortran_get_attribute(sluice_file* file, const char* owner, const char* name,
                                 const CFI_cdesc_t* value);
int sluice_fortran_get_attribute(sluice_file* file, const char* owner, const char* name,
                                 const CFI_cdesc_t* value) {
  struct array a;
  read_descriptor(value, &a);
  const int refused = refusal_of_data(&a, "get_attribute", name, (int)strlen(name));
  if (refused != SLUICE_OK) return refused;
  char* packed = new_packed(&a, 0);
  if (packed == NULL) return no_memory("get_attribute", name, (int)strlen(name));
  pack(&a, packed); /* what the attribute has no value for stays */
  const int code = sluice_get_attribute(file, owner, name, a.type, elements_of(&a), packed);
  if (code == SLUICE_OK) unpack(&a, packed);
  free(packed);
  return code;
}
