/* The version of these headers. That of the library at run time: sluice_version(). */
#ifndef SLUICE_VERSION_H
#define SLUICE_VERSION_H

#define SLUICE_VERSION_MAJOR 0
#define SLUICE_VERSION_MINOR 1
#define SLUICE_VERSION_PATCH 0
#define SLUICE_VERSION "0.1.0"

/* For comparisons: #if SLUICE_VERSION_NUMBER >= SLUICE_VERSION_OF(0, 2, 0) */
#define SLUICE_VERSION_OF(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define SLUICE_VERSION_NUMBER \
  SLUICE_VERSION_OF(SLUICE_VERSION_MAJOR, SLUICE_VERSION_MINOR, SLUICE_VERSION_PATCH)

#endif
