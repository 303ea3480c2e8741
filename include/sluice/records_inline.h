/** @file
 * Records, value by value without a function call: for bindings that take one scalar at a time, as
 * Fortran's file_bwrite does. What these functions cannot do at once they leave to
 * sluice_part_write() and sluice_part_read() of records.h.
 *
 * A sluice_part begins with two pointers to the structures below, NULL where it cannot be written
 * or read. The structures are the library's own: only the functions may change them.
 */
#ifndef SLUICE_RECORDS_INLINE_H
#define SLUICE_RECORDS_INLINE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sluice/records.h"

/** A number of scalars of one type. */
struct sluice_part_run {
  uint32_t type;  /**< A sluice_type, or one of records.h. */
  uint64_t count; /**< Number of scalars. */
};

/** How many runs the window of a repeat holds. */
enum { sluice_part_window = 1024 /**< Runs. */ };

/** The current repeat of the signature: the runs that begin `distance` runs ago, once more. */
struct sluice_part_repeat {
  uint64_t runs;                                     /**< In all. */
  uint64_t distance;                                 /**< 0: no repeat. */
  uint64_t length;                                   /**< Runs of the repeat so far. */
  struct sluice_part_run window[sluice_part_window]; /**< The last runs. */
};

/** Where the next value is written or read. */
struct sluice_part_place {
  char* at;                          /**< The next byte. */
  char* end;                         /**< Behind the last byte. */
  struct sluice_part_run run;        /**< The current run; while reading, what is left of it. */
  struct sluice_part_repeat* repeat; /**< Of the signature. */
};

/** What a sluice_part begins with. */
struct sluice_part_front {
  struct sluice_part_place* writing; /**< NULL: it cannot be written. */
  struct sluice_part_place* reading; /**< NULL: it cannot be read. */
};

/** Continues the repeat with the current run, where that is the repeat's next one.
 *
 * Local.
 * @param place  of a stream that is written
 * @return 1 where it did, else 0 */
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

/** Writes one scalar.
 *
 * Local.
 * @param part   a stream of a file opened for writing
 * @param type   type of the scalar
 * @param value  the scalar; copied
 * @param bytes  its size
 * @return 1; 0 where nothing happened: call sluice_part_write() */
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

/** Reads one scalar.
 *
 * Local.
 * @param part   a stream of a file opened for reading
 * @param type   type in which it was written
 * @param value  room for it
 * @param bytes  its size
 * @return 1; 0 where nothing happened: call sluice_part_read() */
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
