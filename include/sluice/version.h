/** @file
 * The version of these headers. sluice_version() returns that of the library at run time. */
#ifndef SLUICE_VERSION_H
#define SLUICE_VERSION_H

/** First number of the version: the interface. */
#define SLUICE_VERSION_MAJOR 0
/** Second number of the version: additions. */
#define SLUICE_VERSION_MINOR 1
/** Third number of the version: corrections. */
#define SLUICE_VERSION_PATCH 0
/** The version as text. */
#define SLUICE_VERSION "0.1.0"

/** A version as one number, for comparisons:
 * `#if SLUICE_VERSION_NUMBER >= SLUICE_VERSION_OF(0, 2, 0)`. */
#define SLUICE_VERSION_OF(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
/** The version of these headers as one number. */
#define SLUICE_VERSION_NUMBER \
  SLUICE_VERSION_OF(SLUICE_VERSION_MAJOR, SLUICE_VERSION_MINOR, SLUICE_VERSION_PATCH)

#endif
