// What every exported function begins and ends with.
//
// Invariants: each is there as MPI_ and as PMPI_ (Fortran's wrappers call either), and calls the
// process's own MPI where that is not the one this library is for; no exception leaves it.
#pragma once

#include "mpiio/access.hpp"
#include "mpiio/errors.hpp"
#include "mpiio/file.hpp"
#include "mpiio/mpi.hpp"
#include "mpiio/status.hpp"

// SLUICE_FACE(result, name behind MPI_, (parameters), (arguments)) { body }
// NOLINTBEGIN(bugprone-macro-parentheses): they make declarations
#define SLUICE_FACE(result, name, parameters, arguments)                                        \
  namespace {                                                                                   \
  result face_##name parameters;                                                                \
  }                                                                                             \
  extern "C" __attribute__((visibility("default"))) result MPI_##name parameters {              \
    if (!::sluice::mpiio::is_ours()) {                                                          \
      static const auto of_program = reinterpret_cast<decltype(&MPI_##name)>(                   \
          ::sluice::mpiio::function_of_program("PMPI_" #name));                                 \
      return of_program arguments;                                                              \
    }                                                                                           \
    return face_##name arguments;                                                               \
  }                                                                                             \
  extern "C" __attribute__((visibility("default"), alias("MPI_" #name)))                        \
  result PMPI_##name parameters;                                                                \
  namespace {                                                                                   \
  result face_##name parameters
#define SLUICE_FACE_END }
// NOLINTEND(bugprone-macro-parentheses)

namespace sluice::mpiio {

/// Carries `action` out on the file behind `handle`; what fails becomes a class of MPI, by way of
/// the file's error handler.
template <class Action>
int on_file(MPI_File handle, Action&& action) noexcept {
  File* const file = file_of(handle);
  if (file == nullptr) {
    return default_handler().raise(handle, MPI_ERR_FILE);
  }
  try {
    action(*file);
    return MPI_SUCCESS;
  } catch (...) {
    return file->handler.raise(handle, class_of_current(file->path));
  }
}

/// The same where there is no file: the handler is that of MPI_FILE_NULL.
template <class Action>
int on_none(const char* path, Action&& action) noexcept {
  try {
    action();
    return MPI_SUCCESS;
  } catch (...) {
    return default_handler().raise(MPI_FILE_NULL, class_of_current(path == nullptr ? "" : path));
  }
}

}  // namespace sluice::mpiio
