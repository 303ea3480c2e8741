#include "descriptor.h"

#include <stdlib.h>
#include <string.h>

/* -- types and elements ------------------------------------------------------------------------ */

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

/* Of kind 1, which some compilers do not say in the descriptor; a character of another kind has
 * several bytes, of which blanks and NULs are not one. */
static bool is_character(CFI_type_t t) {
#ifdef CFI_type_Character
  if (t == CFI_type_Character) return true;
#endif
  return t == CFI_type_char;
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
#ifdef CFI_type_Float16
  if (t == CFI_type_Float16) return SLUICE_FLOAT16;
#endif
  if (t == CFI_type_float) return SLUICE_FLOAT32;
  if (t == CFI_type_double) return SLUICE_FLOAT64;
  if (t == CFI_type_float_Complex) return SLUICE_COMPLEX64;
  if (t == CFI_type_double_Complex) return SLUICE_COMPLEX128;
  if (is_logical(t)) return SLUICE_BOOL;
  if (is_character(t) && d->elem_len <= SLUICE_STRING_BYTES_MAX) {
    return SLUICE_STRING(d->elem_len > 0 ? (int)d->elem_len : 1); /* types have at least a byte */
  }
  return 0;
}

void read_descriptor(const CFI_cdesc_t* d, struct array* a) {
  a->type = type_of(d);
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
}

/* gfortran leaves the strides of an allocatable dummy of any rank, a(..), unset. Elements do not
 * overlap in Fortran, so that most of what they then are is known to be wrong. */
static bool has_wrong_strides(const struct array* a) {
  for (int i = 0; i < a->rank; ++i) {
    if (a->count[i] > 1 && llabs(a->stride_bytes[i]) < (int64_t)a->element_bytes) return true;
  }
  return false;
}

const char* fault_of_strides(const struct array* a) {
  if (elements_of(a) == 0 || !has_wrong_strides(a)) return NULL;
  return "the compiler says that elements of the array overlap, as gfortran does of a whole "
         "allocatable dummy a(..): hand it on inside select rank";
}

static bool has_unknown_extent(const struct array* a) { return a->rank > 0 && a->count[0] < 0; }

const char* fault_of_data(const struct array* a) {
  bool is_empty = false; /* gfortran gives `[integer ::]` no address */
  for (int i = 0; i < a->rank; ++i) is_empty = is_empty || a->count[i] == 0;
  if (a->base == NULL && !is_empty) return "the data is not allocated, or not associated";
  if (has_unknown_extent(a)) {
    return "the data is an assumed-size array, whose last extent is not known: give a section, "
           "such as a(1:n)";
  }
  if (fault_of_strides(a) != NULL) return fault_of_strides(a);
  if (a->type == 0) {
    return "the data is of a type that files do not have: integer, real and complex of 4 and 8 "
           "bytes, integer of 1 and 2, logical, and character of kind 1";
  }
  return NULL;
}

int code_of_fault(const struct array* a) {
  const bool is_there = a->base != NULL && !has_unknown_extent(a) && fault_of_strides(a) == NULL;
  return is_there && a->type == 0 ? SLUICE_ERROR_TYPE_MISMATCH : SLUICE_ERROR_INVALID_ARGUMENT;
}

int64_t elements_of(const struct array* a) {
  int64_t n = 1;
  for (int i = 0; i < a->rank; ++i) n *= a->count[i];
  return n > 0 ? n : 0;
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

/* Any of the bytes of a logical may carry its value; its size tells which integer it is. */
static bool truth(const char* p, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    if (p[i] != 0) return true;
  }
  return false;
}

static void store_truth(char* p, size_t bytes, bool value) {
  memset(p, 0, bytes);
  const uint16_t probe = 1;
  const bool is_little = *(const char*)&probe == 1;
  p[is_little ? 0 : bytes - 1] = value;
}

/* -- packing ----------------------------------------------------------------------------------- */

/* The bytes of the type, also of text without length. */
size_t packed_bytes(const struct array* a) {
  return a->is_wide_logical ? 1 : a->element_bytes > 0 ? a->element_bytes : 1;
}

void* new_packed(const struct array* a, size_t before_bytes) {
  return calloc(before_bytes + (size_t)elements_of(a) * packed_bytes(a) + 1, 1);
}

void pack(const struct array* a, char* out) {
  const size_t size = packed_bytes(a);
  int64_t at[most_dimensions] = {0};
  if (elements_of(a) == 0) return;
  do {
    const char* in = element(a, at);
    if (a->is_wide_logical) {
      *out = truth(in, a->element_bytes);
    } else {
      memcpy(out, in, a->element_bytes);
      for (size_t i = a->element_bytes; a->is_text && i > 0 && out[i - 1] == ' '; --i) {
        out[i - 1] = '\0';
      }
    }
    out += size;
  } while (next(a, at));
}

void unpack(const struct array* a, const char* packed) {
  const size_t size = packed_bytes(a);
  int64_t at[most_dimensions] = {0};
  if (elements_of(a) == 0) return;
  do {
    char* out = element(a, at);
    if (a->is_wide_logical) {
      store_truth(out, a->element_bytes, *packed != 0);
    } else {
      memcpy(out, packed, a->element_bytes);
      for (size_t i = a->element_bytes; a->is_text && i > 0 && out[i - 1] == '\0'; --i) {
        out[i - 1] = ' ';
      }
    }
    packed += size;
  } while (next(a, at));
}

void dense_strides(const struct array* a, int rank, size_t bytes, int64_t* stride) {
  int64_t step = (int64_t)bytes;
  for (int i = rank - 1; i >= 0; --i) {
    stride[i] = step;
    step *= a->count[i];
  }
}

bool is_dense(const struct array* a) {
  int64_t stride[most_dimensions];
  dense_strides(a, a->rank, a->element_bytes, stride);
  for (int i = 0; i < a->rank; ++i) {
    if (a->count[i] > 1 && a->stride_bytes[i] != stride[i]) return false;
  }
  return true;
}

size_t used_bytes(const char* text, size_t bytes) {
  while (bytes > 0 && text[bytes - 1] == '\0') --bytes;
  return bytes;
}

bool is_as_stored(const struct array* a) { return !a->is_text && !a->is_wide_logical; }
