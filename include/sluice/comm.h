/* A communicator of any MPI, as the library takes it. The library is built without an MPI of its
 * own: it calls the MPI that the process has loaded, and this says how to read the handle. Programs
 * call sluice_open(comm, ...) with an MPI_Comm and need nothing of this file. */
#ifndef SLUICE_COMM_H
#define SLUICE_COMM_H

#include <stdint.h>

#include "sluice/version.h"

#ifndef SLUICE_NO_MPI_H
#include <mpi.h>
#endif

#if defined(__GNUC__)
#define SLUICE_API __attribute__((visibility("default")))
#else
#define SLUICE_API
#endif

/* What `handle` of a sluice_comm is. The numbers never change. */
enum {
  SLUICE_COMM_NULL = 0,     /* no communicator */
  SLUICE_COMM_FORTRAN = 1,  /* the integer of Fortran, of whatever MPI the process runs */
  SLUICE_COMM_OPENMPI = 2,  /* a pointer of Open MPI */
  SLUICE_COMM_MPICH = 3,    /* an integer of MPICH, and of what has its ABI */
  SLUICE_COMM_STANDARD = 4, /* a pointer of the ABI that MPI 5 defines */
  SLUICE_COMM_WORLD = 5,    /* MPI_COMM_WORLD of the process; `handle` is 0 */
  SLUICE_COMM_SELF = 6      /* MPI_COMM_SELF of the process; `handle` is 0 */
};

typedef struct sluice_comm {
  int32_t kind;
  int32_t reserved; /* 0 */
  uint64_t handle;
} sluice_comm;

#ifndef SLUICE_NO_MPI_H
/* `comm` of the MPI whose mpi.h the program is compiled with. Makes no call of MPI, except where
 * that header is of an MPI that is not known here. */
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
