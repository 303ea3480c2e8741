// The MPI of the process, with the types of the mpi.h being compiled.
//
// Invariants: nothing is linked to MPI, so the library may be loaded into every program: functions
// and predefined objects are looked up by name at the first call of MPI-IO. Functions are called by
// their PMPI_ names, so that no tool counts them. Where mpi.h makes objects from global variables
// (Open MPI), macros replace the names of those variables by what was looked up.
#pragma once

// Without the C++ parts of mpi.h, which would need symbols of their own.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

// clang-format off
#define SLUICE_MPIIO_FUNCTIONS(X) \
  X(Abort) X(Allgather) X(Allreduce) X(Barrier) X(Bcast) X(Comm_create_errhandler) \
  X(Comm_create_keyval) X(Comm_dup) X(Comm_free) X(Comm_free_keyval) X(Comm_get_errhandler) \
  X(Comm_group) X(Comm_rank) X(Comm_set_attr) X(Comm_set_errhandler) X(Comm_size) \
  X(Comm_split_type) X(Comm_test_inter) X(Error_string) X(Finalized) X(Get_processor_name) \
  X(Grequest_complete) X(Grequest_start) X(Info_create) X(Info_dup) X(Info_free) X(Info_get) \
  X(Info_get_nkeys) X(Info_get_nthkey) X(Info_set) X(Initialized) X(Irecv) X(Isend) X(Issend) \
  X(Op_create) X(Op_free) X(Pack_external) X(Pack_external_size) X(Reduce) X(Status_set_cancelled) \
  X(Status_set_elements_x) X(Type_commit) X(Type_contiguous) X(Type_create_keyval) X(Type_dup) \
  X(Type_free) X(Type_get_attr) X(Type_get_contents) X(Type_get_envelope) X(Type_get_extent_x) \
  X(Type_get_true_extent_x) X(Type_set_attr) X(Type_size_x) X(Unpack_external) X(Waitall)
// These are null if the process's MPI is older than this mpi.h.
#if MPI_VERSION >= 4
#define SLUICE_MPIIO_LARGE(X) X(Type_get_contents_c) X(Type_get_envelope_c)
#else
#define SLUICE_MPIIO_LARGE(X)
#endif
#ifdef OPEN_MPI
#define SLUICE_MPIIO_OBJECTS(X) \
  X(mpi_byte) X(mpi_comm_null) X(mpi_comm_self) X(mpi_comm_world) X(mpi_datatype_null) \
  X(mpi_errors_are_fatal) X(mpi_errors_return) X(mpi_file_null) X(mpi_info_null) X(mpi_int) \
  X(mpi_int64_t) X(mpi_op_max) X(mpi_op_sum) X(request_null)
#else
#define SLUICE_MPIIO_OBJECTS(X)
#endif
// clang-format on

namespace sluice::mpiio {

/// Every function, by its name without PMPI_.
struct Functions {
// NOLINTNEXTLINE(bugprone-macro-parentheses): it makes a name
#define SLUICE_MPIIO_FIELD(name) decltype(&::MPI_##name) name = nullptr;
  SLUICE_MPIIO_FUNCTIONS(SLUICE_MPIIO_FIELD)
  SLUICE_MPIIO_LARGE(SLUICE_MPIIO_FIELD)
#undef SLUICE_MPIIO_FIELD
};
extern Functions mpi;

/// The addresses of the MPI's predefined objects.
struct Objects {
// NOLINTNEXTLINE(bugprone-macro-parentheses)
#define SLUICE_MPIIO_FIELD(name) char* name = nullptr;
  SLUICE_MPIIO_OBJECTS(SLUICE_MPIIO_FIELD)
#undef SLUICE_MPIIO_FIELD
};
extern Objects mpi_objects;

/// Is the process's MPI the one that this library was built for, and is the library not switched
/// off? Determined at the first call, which prints a line if the answer is no. Any thread.
bool is_ours();
/// A function of the process's own MPI.
struct FunctionOfProgram {
  void* function = nullptr;
  int count = -1;        ///< the argument that must fit an int; -1: none
  bool refuses = false;  ///< a count of -1 is refused by it, on every rank of a collective call
};
/// Where calls of that name go if is_ours() is false. An MPI before 4.0 has no function with large
/// counts (`name` ends with _c): it is the one without. Ends the program if there is none.
FunctionOfProgram function_of_program(const char* name);

}  // namespace sluice::mpiio

#ifdef OPEN_MPI
#define ompi_mpi_byte (*::sluice::mpiio::mpi_objects.mpi_byte)
#define ompi_mpi_comm_null (*::sluice::mpiio::mpi_objects.mpi_comm_null)
#define ompi_mpi_comm_self (*::sluice::mpiio::mpi_objects.mpi_comm_self)
#define ompi_mpi_comm_world (*::sluice::mpiio::mpi_objects.mpi_comm_world)
#define ompi_mpi_datatype_null (*::sluice::mpiio::mpi_objects.mpi_datatype_null)
#define ompi_mpi_errors_are_fatal (*::sluice::mpiio::mpi_objects.mpi_errors_are_fatal)
#define ompi_mpi_errors_return (*::sluice::mpiio::mpi_objects.mpi_errors_return)
#define ompi_mpi_file_null (*::sluice::mpiio::mpi_objects.mpi_file_null)
#define ompi_mpi_info_null (*::sluice::mpiio::mpi_objects.mpi_info_null)
#define ompi_mpi_int (*::sluice::mpiio::mpi_objects.mpi_int)
#define ompi_mpi_int64_t (*::sluice::mpiio::mpi_objects.mpi_int64_t)
#define ompi_mpi_op_max (*::sluice::mpiio::mpi_objects.mpi_op_max)
#define ompi_mpi_op_sum (*::sluice::mpiio::mpi_objects.mpi_op_sum)
#define ompi_request_null (*::sluice::mpiio::mpi_objects.request_null)
#endif
