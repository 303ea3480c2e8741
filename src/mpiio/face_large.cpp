// The functions that move bytes, with large counts, where mpi.h has them.
#include "mpiio/mpi.hpp"

#if MPI_VERSION >= 4
#define SLUICE_COUNT MPI_Count
#define SLUICE_NAME(name) name##_c
#include "mpiio/face_data.hpp"
#endif
