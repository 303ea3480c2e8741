/* The value of elements that were left out, from the file's type to a scalar of Fortran. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "descriptor.h"

static const char* const call = "get_fill";

/* A number of any of these types; its bytes begin at the same address in each. */
union number {
  int8_t i8;
  int16_t i16;
  int32_t i32;
  int64_t i64;
  uint8_t u8;
  uint16_t u16;
  uint32_t u32;
  uint64_t u64;
  float f32;
  double f64;
};

static int refused(int code, const char* name, const char* why) {
  return sluice_fortran_refusal(code, call, name, (int)strlen(name), why);
}

static double double_of_half(uint16_t half) {
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  double value = exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25);
  if (exponent == 31) value = fraction == 0 ? INFINITY : NAN;
  return half >> 15 ? -value : value;
}

/* False where it is no integer, or exceeds 64 bits. */
static bool integer_of(sluice_type type, const union number* n, int64_t* value) {
  switch (type) {
    case SLUICE_INT8:
      *value = n->i8;
      return true;
    case SLUICE_INT16:
      *value = n->i16;
      return true;
    case SLUICE_INT32:
      *value = n->i32;
      return true;
    case SLUICE_INT64:
      *value = n->i64;
      return true;
    case SLUICE_UINT8:
      *value = n->u8;
      return true;
    case SLUICE_UINT16:
      *value = n->u16;
      return true;
    case SLUICE_UINT32:
      *value = n->u32;
      return true;
    case SLUICE_UINT64:
      *value = (int64_t)n->u64;
      return n->u64 <= INT64_MAX;
    default:
      return false;
  }
}

static bool is_integer(sluice_type type) { return type >= SLUICE_INT8 && type <= SLUICE_UINT64; }

static bool is_real(sluice_type type) {
  return type == SLUICE_FLOAT16 || type == SLUICE_FLOAT32 || type == SLUICE_FLOAT64;
}

/* `a`: an integer of 1, 2, 4 or 8 bytes. False where the value does not fit. */
static bool store_integer(const struct array* a, int64_t value) {
  const int64_t most = INT64_MAX >> (64 - 8 * a->element_bytes);
  union number n = {0};
  if (value > most || value < -most - 1) return false;
  if (a->type == SLUICE_INT8) n.i8 = (int8_t)value;
  if (a->type == SLUICE_INT16) n.i16 = (int16_t)value;
  if (a->type == SLUICE_INT32) n.i32 = (int32_t)value;
  if (a->type == SLUICE_INT64) n.i64 = value;
  memcpy(a->base, &n, a->element_bytes);
  return true;
}

static bool store_real(const struct array* a, double value) {
  union number n = {0};
  if (a->type == SLUICE_FLOAT64) {
    n.f64 = value;
  } else {
    if (isfinite(value) && fabs(value) > 3.4028234663852886e38) return false;
    n.f32 = (float)value;
    if (!isnan(value) && (double)n.f32 != value) return false;
  }
  memcpy(a->base, &n, a->element_bytes);
  return true;
}

/* SLUICE_OK, or why not. `fill`: the bytes of the variable's type. */
static int give(const struct array* a, const char* name, sluice_type type, const char* fill) {
  const size_t bytes = sluice_type_bytes(type);
  const bool is_text = type % 256 == SLUICE_KIND_STRING;
  bool fits = true;
  union number n = {0};
  if (is_integer(type) || is_real(type)) memcpy(&n, fill, bytes);
  if (is_integer(type) && is_integer(a->type)) {
    int64_t value = 0;
    fits = integer_of(type, &n, &value) && store_integer(a, value);
  } else if (is_real(type) && is_real(a->type)) {
    const double value = type == SLUICE_FLOAT16   ? double_of_half(n.u16)
                         : type == SLUICE_FLOAT32 ? (double)n.f32
                                                  : n.f64;
    fits = store_real(a, value);
  } else if (a->is_text ? is_text : type == a->type) {
    const size_t used = is_text ? used_bytes(fill, bytes) : bytes;
    fits = used <= packed_bytes(a);
    char* packed = fits ? new_packed(a, 0) : NULL;
    if (fits && packed == NULL) return refused(SLUICE_ERROR_OVER_BUDGET, name, "out of memory");
    if (fits) {
      memcpy(packed, fill, used);
      unpack(a, packed);
    }
    free(packed);
  } else {
    return refused(SLUICE_ERROR_TYPE_MISMATCH, name,
                   "the value is not of the variable's type, and no integer or real for another");
  }
  return fits ? SLUICE_OK : refused(SLUICE_ERROR_OVERFLOW, name, "the value does not fit");
}

int sluice_fortran_get_fill(sluice_file* file, const char* name, const CFI_cdesc_t* value);
int sluice_fortran_get_fill(sluice_file* file, const char* name, const CFI_cdesc_t* value) {
  struct array a;
  sluice_variable variable = -1;
  sluice_variable_info info = SLUICE_VARIABLE_INFO_INIT;
  read_descriptor(value, &a);
  const char* fault = fault_of_data(&a);
  if (fault != NULL) return refused(code_of_fault(&a), name, fault);
  if (a.rank != 0) return refused(SLUICE_ERROR_INVALID_ARGUMENT, name, "give a scalar");
  int code = sluice_find(file, name, &variable);
  if (code == SLUICE_OK) code = sluice_info(file, variable, &info);
  if (code != SLUICE_OK) return code;
  if (info.fill != NULL) return give(&a, name, info.type, info.fill);
  char* zero = calloc(1, sluice_type_bytes(info.type));
  if (zero == NULL) return refused(SLUICE_ERROR_OVER_BUDGET, name, "out of memory");
  code = give(&a, name, info.type, zero);
  free(zero);
  return code;
}
