/** @file
 * A communicator of any MPI, as the library takes it.
 *
 * The library is built without an MPI of its own: it calls the MPI that the process has loaded, and
 * a sluice_comm says how to read the handle. Programs that are compiled with an mpi.h call
 * sluice_open(comm, ...) with an MPI_Comm and need nothing of this file. */
#ifndef SLUICE_COMM_H
#define SLUICE_COMM_H

#include <stdint.h>

#include "sluice/version.h"

#ifndef SLUICE_NO_MPI_H
#include <mpi.h>
#endif

/** Marks the functions that the library exports. */
#if defined(__GNUC__)
#define SLUICE_API __attribute__((visibility("default")))
#else
#define SLUICE_API
#endif

/** What sluice_comm::handle is. The numbers never change. */
enum {
  SLUICE_COMM_NULL = 0,     /**< No communicator. */
  SLUICE_COMM_FORTRAN = 1,  /**< The integer of Fortran, of whatever MPI the process runs. */
  SLUICE_COMM_OPENMPI = 2,  /**< A pointer of Open MPI. */
  SLUICE_COMM_MPICH = 3,    /**< An integer of MPICH, and of MPIs with its ABI. */
  SLUICE_COMM_STANDARD = 4, /**< A pointer of the ABI that MPI 5 defines. */
  SLUICE_COMM_WORLD = 5,    /**< MPI_COMM_WORLD of the process; the handle is 0. */
  SLUICE_COMM_SELF = 6      /**< MPI_COMM_SELF of the process; the handle is 0. */
};

/** A communicator of any MPI, as a plain value. It stays the caller's. */
typedef struct sluice_comm {
  int32_t kind;     /**< SLUICE_COMM_...: what the handle is. */
  int32_t reserved; /**< 0. */
  uint64_t handle;  /**< The handle, as bits. */
} sluice_comm;

#ifndef SLUICE_NO_MPI_H
/** The communicator `comm` of the MPI whose mpi.h the program is compiled with.
 *
 * Local. It calls MPI (MPI_Comm_c2f) only where that header is of an MPI that is not known here.
 * @param comm  any communicator
 * @return the same communicator as a plain value */
static inline sluice_comm sluice_comm_of(MPI_Comm comm) {
  sluice_comm any;
  any.reserved = 0;
#if defined(OPEN_MPI)
  any.kind = SLUICE_COMM_OPENMPI;
  any.handle = (uint64_t)(uintptr_t)comm;
#elif defined(MPICH_VERSION) || defined(I_MPI_VERSION) || defined(MVAPICH2_VERSION)
  any.kind = SLUICE_COMM_MPICH;
  any.handle = (uint64_t)(uint32_t)comm;
#elif defined(MPI_ABI_VERSION)
  any.kind = SLUICE_COMM_STANDARD;
  any.handle = (uint64_t)(uintptr_t)comm;
#else
  any.kind = SLUICE_COMM_FORTRAN;
  any.handle = (uint64_t)(uint32_t)MPI_Comm_c2f(comm);
#endif
  return any;
}
#endif

#endif
