/* What an assumed-rank dummy (type(*), dimension(..)) of Fortran holds, as the C interface wants
 * it.
 *
 * Built with the Fortran compiler's own ISO_Fortran_binding.h, as sluice.F90 is built by that
 * compiler: descriptors differ between compilers. Dimensions are reversed (Fortran's first is the
 * fastest, C's the last), and array sections keep their strides.
 */
#ifndef SLUICE_FORTRAN_DESCRIPTOR_H
#define SLUICE_FORTRAN_DESCRIPTOR_H

#include <ISO_Fortran_binding.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/sluice.h"

enum { most_dimensions = 15 };

/* An array in C order. */
struct array {
  char* base;
  sluice_type type; /* 0 where Sluice has no such type */
  size_t element_bytes;
  int rank;
  int64_t count[most_dimensions];
  int64_t stride_bytes[most_dimensions];
  bool is_text;
  bool is_wide_logical; /* of more than a byte */
};

void read_descriptor(const CFI_cdesc_t* d, struct array* a);
/* Why the library cannot be given the data, and the code for that; NULL where it can. Of an array
 * that is not allocated the extents are undefined. */
const char* fault_of_data(const struct array* a);
int code_of_fault(const struct array* a);
/* Why its strides cannot be right; NULL where they can. */
const char* fault_of_strides(const struct array* a);
int64_t elements_of(const struct array* a);
bool is_dense(const struct array* a);
/* Whether the library takes the elements as they are; the others are packed. */
bool is_as_stored(const struct array* a);

/* Dense, in C order, as the library wants them: blanks at the end are NUL, logicals bytes. */
size_t packed_bytes(const struct array* a);
/* Room for all elements after `before_bytes` others, of zeros; NULL: no memory. The caller frees.
 */
void* new_packed(const struct array* a, size_t before_bytes);
void pack(const struct array* a, char* out);
void unpack(const struct array* a, const char* packed);
/* Of a text, without the NULs at its end; there may be others inside. */
size_t used_bytes(const char* text, size_t bytes);
/* The strides of `rank` dimensions of dense elements. */
void dense_strides(const struct array* a, int rank, size_t bytes, int64_t* stride);

/* Of a call and the variable's name, of `length` characters: keeps the reason, returns -code. */
int sluice_fortran_refusal(int code, const char* call, const char* name, int length,
                           const char* why);

#endif
