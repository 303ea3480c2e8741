/* Records, value by value without a call: for a binding that takes a scalar at a time, as Fortran's
 * file_bwrite does. What it cannot do at once it leaves to sluice_part_write() and
 * sluice_part_read() of records.h.
 *
 * A sluice_part begins with two pointers, to what is below; NULL where the part cannot be written
 * or read. These structures are the library's own: change nothing but by the functions.
 */
#ifndef SLUICE_RECORDS_INLINE_H
#define SLUICE_RECORDS_INLINE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sluice/records.h"

/* So many scalars of one type. */
struct sluice_part_run {
  uint32_t type;
  uint64_t count;
};

enum { sluice_part_window = 1024 };

/* The signature's repeat under way: the runs that begin `distance` runs ago, once more. */
struct sluice_part_repeat {
  uint64_t runs;     /* in all */
  uint64_t distance; /* 0: none */
  uint64_t length;
  struct sluice_part_run window[sluice_part_window]; /* the last ones */
};

/* Where the next value goes or is. */
struct sluice_part_place {
  char* at;
  char* end;
  struct sluice_part_run run; /* under way: while reading, what is left of it */
  struct sluice_part_repeat* repeat;
};

struct sluice_part_front {
  struct sluice_part_place* writing;
  struct sluice_part_place* reading;
};

/* Does the run under way go on with the repeat? Then it is taken. */
static inline int sluice_part_goes_on(struct sluice_part_place* place) {
  struct sluice_part_repeat* const repeat = place->repeat;
  if (repeat->distance == 0) return 0;
  const struct sluice_part_run* const same =
      &repeat->window[(repeat->runs - repeat->distance) % sluice_part_window];
  if (same->type != place->run.type || same->count != place->run.count) return 0;
  repeat->window[repeat->runs % sluice_part_window] = *same;
  ++repeat->runs;
  ++repeat->length;
  return 1;
}

/* Writes one scalar of `bytes`; 0: nothing happened, use sluice_part_write(). */
static inline int sluice_part_write_inline(sluice_part* part, sluice_type type, const void* value,
                                           size_t bytes) {
  struct sluice_part_place* const place = ((struct sluice_part_front*)part)->writing;
  if (place == NULL || (size_t)(place->end - place->at) < bytes) return 0;
  if (place->run.type != (uint32_t)type) {
    if (!sluice_part_goes_on(place)) return 0;
    place->run.type = (uint32_t)type;
    place->run.count = 0;
  }
  ++place->run.count;
  memcpy(place->at, value, bytes);
  place->at += bytes;
  return 1;
}

/* Reads one scalar; 0: nothing happened, use sluice_part_read(). */
static inline int sluice_part_read_inline(sluice_part* part, sluice_type type, void* value,
                                          size_t bytes) {
  struct sluice_part_place* const place = ((struct sluice_part_front*)part)->reading;
  if (place == NULL || place->run.type != (uint32_t)type || place->run.count == 0) return 0;
  --place->run.count;
  memcpy(value, place->at, bytes);
  place->at += bytes;
  return 1;
}

#endif
