/* The data of Fortran calls: what an assumed-rank dummy (type(*), dimension(..)) holds, as the C
 * interface wants it.
 *
 * Built with the Fortran compiler's own ISO_Fortran_binding.h, as sluice.f90 is built by that
 * compiler: descriptors differ between compilers. Dimensions are reversed (Fortran's first is the
 * fastest, C's the last), starts come counted from 1, and array sections keep their strides, so
 * nothing is packed here. Character and default logical data is copied: blanks become NUL, logicals
 * bytes.
 *
 * A refusal of this file is a negative code: the library has no message for it.
 */
#include <ISO_Fortran_binding.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/sluice.h"

enum { most_dimensions = 15 };

/* An array in C order. */
struct array {
  char* base;
  sluice_type type;
  size_t element_bytes;
  int rank;
  int64_t count[most_dimensions];
  int64_t stride_bytes[most_dimensions];
  bool is_text;
  bool is_wide_logical;
};

static bool is_integer(CFI_type_t t) {
  return t == CFI_type_int8_t || t == CFI_type_int16_t || t == CFI_type_int32_t ||
         t == CFI_type_int64_t || t == CFI_type_signed_char || t == CFI_type_short ||
         t == CFI_type_int || t == CFI_type_long || t == CFI_type_long_long;
}

static bool is_logical(CFI_type_t t) {
#ifdef CFI_type_Logical
  return (t & CFI_type_mask) == CFI_type_Logical;
#else
  return t == CFI_type_Bool;
#endif
}

static bool is_character(CFI_type_t t) {
#ifdef CFI_type_Character
  return (t & CFI_type_mask) == CFI_type_Character;
#else
  return t == CFI_type_char;
#endif
}

static sluice_type integer_type(size_t bytes) {
  return bytes == 1   ? SLUICE_INT8
         : bytes == 2 ? SLUICE_INT16
         : bytes == 4 ? SLUICE_INT32
         : bytes == 8 ? SLUICE_INT64
                      : 0;
}

/* 0 where Sluice has no such type. */
static sluice_type type_of(const CFI_cdesc_t* d) {
  const CFI_type_t t = d->type;
  if (is_integer(t)) return integer_type(d->elem_len);
  if (t == CFI_type_float) return SLUICE_FLOAT32;
  if (t == CFI_type_double) return SLUICE_FLOAT64;
  if (t == CFI_type_float_Complex) return SLUICE_COMPLEX64;
  if (t == CFI_type_double_Complex) return SLUICE_COMPLEX128;
  if (is_logical(t)) return SLUICE_BOOL;
  if (is_character(t) && d->elem_len >= 1 && d->elem_len <= SLUICE_STRING_BYTES_MAX) {
    return SLUICE_STRING((int)d->elem_len);
  }
  return 0;
}

static int read_descriptor(const CFI_cdesc_t* d, struct array* a) {
  a->type = type_of(d);
  if (a->type == 0) return -SLUICE_ERROR_TYPE_MISMATCH;
  a->base = d->base_addr;
  a->element_bytes = d->elem_len;
  a->rank = d->rank;
  a->is_text = is_character(d->type);
  a->is_wide_logical = is_logical(d->type) && d->elem_len != 1;
  for (int i = 0; i < a->rank; ++i) {
    const CFI_dim_t* dim = &d->dim[a->rank - 1 - i];
    a->count[i] = dim->extent;
    a->stride_bytes[i] = dim->sm;
  }
  return SLUICE_OK;
}

static int64_t elements_of(const struct array* a) {
  int64_t n = 1;
  for (int i = 0; i < a->rank; ++i) n *= a->count[i];
  return n;
}

static char* element(const struct array* a, const int64_t* at) {
  char* address = a->base;
  for (int i = 0; i < a->rank; ++i) address += at[i] * a->stride_bytes[i];
  return address;
}

static bool next(const struct array* a, int64_t* at) {
  for (int i = a->rank - 1; i >= 0; --i) {
    if (++at[i] < a->count[i]) return true;
    at[i] = 0;
  }
  return false;
}

static size_t packed_bytes(const struct array* a) { return a->is_text ? a->element_bytes : 1; }

/* Any of the bytes of a logical may carry its value; its size tells which integer it is. */
static bool truth(const char* p, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    if (p[i] != 0) return true;
  }
  return false;
}

static void store_truth(char* p, size_t bytes, bool value) {
  const int64_t wide = value;
  memcpy(p, &wide, bytes <= sizeof wide ? bytes : sizeof wide); /* little-endian */
}

/* Characters and logicals, dense, as the library wants them; the caller frees. */
static char* to_packed(const struct array* a) {
  const size_t size = packed_bytes(a);
  char* packed = malloc((size_t)elements_of(a) * size + 1);
  int64_t at[most_dimensions] = {0};
  if (packed == NULL || elements_of(a) == 0) return packed;
  char* out = packed;
  do {
    const char* in = element(a, at);
    if (a->is_text) {
      memcpy(out, in, size);
      for (size_t i = size; i > 0 && out[i - 1] == ' '; --i) out[i - 1] = '\0';
    } else {
      *out = truth(in, a->element_bytes);
    }
    out += size;
  } while (next(a, at));
  return packed;
}

static void from_packed(const struct array* a, const char* packed) {
  const size_t size = packed_bytes(a);
  int64_t at[most_dimensions] = {0};
  if (elements_of(a) == 0) return;
  do {
    char* out = element(a, at);
    if (a->is_text) {
      memcpy(out, packed, size);
      for (size_t i = 0; i < size; ++i) out[i] = out[i] == '\0' ? ' ' : out[i];
    } else {
      store_truth(out, a->element_bytes, *packed != 0);
    }
    packed += size;
  } while (next(a, at));
}

static void dense_strides(const struct array* a, size_t bytes, int64_t* stride) {
  int64_t step = (int64_t)bytes;
  for (int i = a->rank - 1; i >= 0; --i) {
    stride[i] = step;
    step *= a->count[i];
  }
}

static bool is_dense(const struct array* a) {
  int64_t stride[most_dimensions];
  dense_strides(a, a->element_bytes, stride);
  for (int i = 0; i < a->rank; ++i) {
    if (a->count[i] > 1 && a->stride_bytes[i] != stride[i]) return false;
  }
  return true;
}

/* start (Fortran order, from 1; NULL: all ones) to C order from 0. */
static const int64_t* c_start(const int64_t* start, int rank, int64_t* out) {
  if (start == NULL) return NULL;
  for (int i = 0; i < rank; ++i) out[i] = start[rank - 1 - i] - 1;
  return out;
}

int sluice_fortran_put(sluice_file* file, sluice_variable variable, const CFI_cdesc_t* data,
                       const int64_t* start, int32_t allow_overflow);
int sluice_fortran_put(sluice_file* file, sluice_variable variable, const CFI_cdesc_t* data,
                       const int64_t* start, int32_t allow_overflow) {
  struct array a;
  int64_t first[most_dimensions];
  int64_t stride[most_dimensions];
  const int code = read_descriptor(data, &a);
  if (code != SLUICE_OK) return code;
  sluice_selection selection = SLUICE_SELECTION_INIT;
  selection.start = c_start(start, a.rank, first);
  selection.count = a.count;
  selection.allow_overflow = allow_overflow;
  if (!a.is_text && !a.is_wide_logical) {
    selection.stride_bytes = is_dense(&a) ? NULL : a.stride_bytes;
    return sluice_put_selection(file, variable, a.type, a.base, a.rank, &selection);
  }
  char* packed = to_packed(&a);
  if (packed == NULL) return -SLUICE_ERROR_OVER_BUDGET;
  dense_strides(&a, packed_bytes(&a), stride);
  selection.stride_bytes = stride; /* given strides, the library copies at once */
  const int result = sluice_put_selection(file, variable, a.type, packed, a.rank, &selection);
  free(packed);
  return result;
}

int sluice_fortran_get(sluice_file* file, sluice_variable variable, const CFI_cdesc_t* data,
                       const int64_t* start, int64_t step, int32_t allow_overflow);
int sluice_fortran_get(sluice_file* file, sluice_variable variable, const CFI_cdesc_t* data,
                       const int64_t* start, int64_t step, int32_t allow_overflow) {
  struct array a;
  int64_t first[most_dimensions];
  const int code = read_descriptor(data, &a);
  if (code != SLUICE_OK) return code;
  sluice_selection selection = SLUICE_SELECTION_INIT;
  selection.start = c_start(start, a.rank, first);
  selection.count = a.count;
  selection.allow_overflow = allow_overflow;
  if (!a.is_text && !a.is_wide_logical) {
    selection.stride_bytes = is_dense(&a) ? NULL : a.stride_bytes;
    return sluice_get_selection(file, variable, a.type, a.base, a.rank, &selection, step);
  }
  char* packed = calloc((size_t)elements_of(&a) * packed_bytes(&a) + 1, 1);
  if (packed == NULL) return -SLUICE_ERROR_OVER_BUDGET;
  const int result =
      sluice_get_selection(file, variable, a.type, packed, a.rank, &selection, step);
  if (result == SLUICE_OK) from_packed(&a, packed);
  free(packed);
  return result;
}

/* Rows: the last dimension of `data` counts them. They must be dense numbers. */
static int read_rows(const CFI_cdesc_t* data, struct array* a) {
  const int code = read_descriptor(data, a);
  if (code != SLUICE_OK) return code;
  if (a->rank < 1 || a->is_text || a->is_wide_logical || !is_dense(a)) {
    return -SLUICE_ERROR_UNSUPPORTED;
  }
  return SLUICE_OK;
}

int sluice_fortran_put_rows(sluice_file* file, sluice_variable variable, const CFI_cdesc_t* data,
                            const int64_t* ids);
int sluice_fortran_put_rows(sluice_file* file, sluice_variable variable, const CFI_cdesc_t* data,
                            const int64_t* ids) {
  struct array a;
  const int code = read_rows(data, &a);
  return code != SLUICE_OK ? code
                           : sluice_put_rows(file, variable, a.type, a.base, a.count[0], ids);
}

int sluice_fortran_get_rows(sluice_file* file, sluice_variable variable, const CFI_cdesc_t* data,
                            const int64_t* ids, int64_t step);
int sluice_fortran_get_rows(sluice_file* file, sluice_variable variable, const CFI_cdesc_t* data,
                            const int64_t* ids, int64_t step) {
  struct array a;
  const int code = read_rows(data, &a);
  return code != SLUICE_OK ? code
                           : sluice_get_rows(file, variable, a.type, a.base, a.count[0], ids, step);
}

/* A value or a list as an attribute. */
int sluice_fortran_set_attribute(sluice_file* file, const char* owner, const char* name,
                                 const CFI_cdesc_t* value);
int sluice_fortran_set_attribute(sluice_file* file, const char* owner, const char* name,
                                 const CFI_cdesc_t* value) {
  struct array a;
  const int code = read_descriptor(value, &a);
  if (code != SLUICE_OK) return code;
  if (a.rank > 1) return -SLUICE_ERROR_INVALID_ARGUMENT;
  const int64_t count = a.rank == 0 ? SLUICE_SCALAR : a.count[0];
  if (!a.is_text && !a.is_wide_logical && is_dense(&a)) {
    return sluice_set_attribute(file, owner, name, a.type, count, a.base);
  }
  if (!a.is_text && !a.is_wide_logical) return -SLUICE_ERROR_UNSUPPORTED;
  char* packed = to_packed(&a);
  if (packed == NULL) return -SLUICE_ERROR_OVER_BUDGET;
  const int result = sluice_set_attribute(file, owner, name, a.type, count, packed);
  free(packed);
  return result;
}

int sluice_fortran_get_attribute(sluice_file* file, const char* owner, const char* name,
                                 const CFI_cdesc_t* value);
int sluice_fortran_get_attribute(sluice_file* file, const char* owner, const char* name,
                                 const CFI_cdesc_t* value) {
  struct array a;
  const int code = read_descriptor(value, &a);
  if (code != SLUICE_OK) return code;
  const int64_t capacity = elements_of(&a);
  if (!a.is_text && !a.is_wide_logical && is_dense(&a)) {
    return sluice_get_attribute(file, owner, name, a.type, capacity, a.base);
  }
  if (!a.is_text && !a.is_wide_logical) return -SLUICE_ERROR_UNSUPPORTED;
  char* packed = calloc((size_t)capacity * packed_bytes(&a) + 1, 1);
  if (packed == NULL) return -SLUICE_ERROR_OVER_BUDGET;
  const int result = sluice_get_attribute(file, owner, name, a.type, capacity, packed);
  if (result == SLUICE_OK) from_packed(&a, packed);
  free(packed);
  return result;
}
