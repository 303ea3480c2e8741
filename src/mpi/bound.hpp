// The MPI functions that src/mpi/part*.cpp call, with the types of the mpi.h being compiled.
// Included by those files only; each ABI has its own copy, in a namespace of its own.
//
// Invariants: nothing is linked to MPI: every function and every predefined object is looked up by
// name when the process's MPI has been found. Where mpi.h makes objects from global variables (Open
// MPI), macros replace the names of those variables by what was looked up.
#pragma once

// Without the C++ parts of mpi.h, which would need symbols of their own.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#ifdef SLUICE_MPI_STANDARD_HEADER
#include <mpi_abi.h>
#else
#include <mpi.h>
#endif

#include <bit>
#include <cstring>

#include "mpi/library.hpp"

#ifndef SLUICE_MPI_PART
#error "the build defines SLUICE_MPI_PART: openmpi, mpich or standard"
#endif

// clang-format off
#define SLUICE_MPI_FUNCTIONS(X) \
  X(Abort) X(Allreduce) X(Cancel) X(Comm_create_keyval) X(Comm_dup) X(Comm_free) \
  X(Comm_get_attr) X(Comm_group) X(Comm_idup) X(Comm_rank) X(Comm_set_attr) \
  X(Comm_set_errhandler) X(Comm_size) X(Comm_split) X(Comm_split_type) X(Comm_test_inter) \
  X(Error_class) X(Error_string) X(File_close) X(File_open) X(File_read_at) \
  X(File_read_at_all) X(File_set_view) X(File_write_at) X(File_write_at_all) X(Finalize) \
  X(Finalized) X(Get_address) X(Get_count) X(Get_elements_x) X(Group_free) \
  X(Group_translate_ranks) X(Iallreduce) X(Improbe) X(Imrecv) X(Info_create) X(Info_free) \
  X(Info_set) X(Init_thread) X(Initialized) X(Iprobe) X(Irecv) X(Isend) X(Issend) X(Recv) \
  X(Request_get_status) X(Test) X(Testall) X(Type_commit) X(Type_create_hindexed) \
  X(Type_free)
// clang-format on

// Converts a Fortran integer to a communicator.
#ifdef SLUICE_MPI_STANDARD_HEADER
#define SLUICE_MPI_MORE(X) X(Comm_fromint)
#elif defined(OPEN_MPI)
#define SLUICE_MPI_MORE(X) X(Comm_f2c)
#else
#define SLUICE_MPI_MORE(X)  // MPICH's handles are those integers
#endif

namespace sluice::mpi::SLUICE_MPI_PART {

/// Every function, by its name without MPI_.
struct Functions {
// NOLINTNEXTLINE(bugprone-macro-parentheses): it makes a name
#define SLUICE_MPI_FIELD(name) decltype(&::MPI_##name) name = nullptr;
  SLUICE_MPI_FUNCTIONS(SLUICE_MPI_FIELD)
  SLUICE_MPI_MORE(SLUICE_MPI_FIELD)
#undef SLUICE_MPI_FIELD
};

/// The functions of this ABI; filled by bind().
extern Functions f;

#ifdef OPEN_MPI
// The names after ompi_.
// clang-format off
#define SLUICE_MPI_OBJECTS(X)                                                                \
  X(mpi_byte)                                                                                \
  X(mpi_comm_null)                                                                           \
  X(mpi_comm_self) X(mpi_comm_world) X(mpi_errors_return) X(mpi_file_null) X(mpi_group_null) \
      X(mpi_info_null) X(mpi_int) X(mpi_op_max) X(request_null)
// clang-format on

/// The addresses of Open MPI's predefined objects.
struct Objects {
// NOLINTNEXTLINE(bugprone-macro-parentheses)
#define SLUICE_MPI_FIELD(name) char* name = nullptr;
  SLUICE_MPI_OBJECTS(SLUICE_MPI_FIELD)
#undef SLUICE_MPI_FIELD
};
extern Objects objects;
#endif

Messages& messages();
Files& files();

/// Converts an MPI handle to a word, and back.
template <class Native>
std::uintptr_t word_of(Native native) {
  static_assert(sizeof native <= sizeof(std::uintptr_t));
  std::uintptr_t word = 0;
  std::memcpy(&word, &native, sizeof native);  // an int is in the low half
  return word;
}
template <class Native, class Tag>
Native native_of(Handle<Tag> handle) {
  Native native;
  std::memcpy(&native, &handle.word, sizeof native);
  return native;
}
/// Where MPI may write a handle, now or later. The high half of an int's word stays 0.
template <class Native, class Tag>
Native* place_of(Handle<Tag>& handle) {
  static_assert(std::endian::native == std::endian::little);
  return reinterpret_cast<Native*>(&handle.word);
}

}  // namespace sluice::mpi::SLUICE_MPI_PART

#ifdef OPEN_MPI
// mpi.h takes the addresses of these variables: replaced by the addresses that were looked up.
#define ompi_mpi_byte (*objects.mpi_byte)
#define ompi_mpi_comm_null (*objects.mpi_comm_null)
#define ompi_mpi_comm_self (*objects.mpi_comm_self)
#define ompi_mpi_comm_world (*objects.mpi_comm_world)
#define ompi_mpi_errors_return (*objects.mpi_errors_return)
#define ompi_mpi_file_null (*objects.mpi_file_null)
#define ompi_mpi_group_null (*objects.mpi_group_null)
#define ompi_mpi_info_null (*objects.mpi_info_null)
#define ompi_mpi_int (*objects.mpi_int)
#define ompi_mpi_op_max (*objects.mpi_op_max)
#define ompi_request_null (*objects.request_null)
#endif
