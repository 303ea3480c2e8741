// The common prologue and epilogue of the exported functions.
//
// Invariants: each is exported as MPI_ and as PMPI_ (Fortran's wrappers call either), and calls the
// process's own MPI if that is not the one this library is for; no exception leaves it.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "mpiio/access.hpp"
#include "mpiio/errors.hpp"
#include "mpiio/file.hpp"
#include "mpiio/mpi.hpp"
#include "mpiio/status.hpp"

// SLUICE_FACE(result, name behind MPI_, (parameters)) { body }
// Exported functions pass their arguments on as words, because only the call determines their MPI:
// a handle is an int in one MPI and a pointer in another. All have at most six arguments, which are
// passed in registers.
// NOLINTBEGIN(bugprone-macro-parentheses): they make declarations
#define SLUICE_FACE(result, name, parameters)                                                   \
  namespace {                                                                                   \
  result face_##name parameters;                                                                \
  static_assert(std::is_same_v<decltype(&face_##name), decltype(&::MPI_##name)>);               \
  }                                                                                             \
  extern "C" __attribute__((visibility("default"))) ::sluice::mpiio::Word sluice_export_##name( \
      SLUICE_WORDS(::sluice::mpiio::Word)) __asm__("MPI_" #name);                               \
  extern "C" ::sluice::mpiio::Word sluice_export_##name(SLUICE_WORDS(::sluice::mpiio::Word)) {  \
    static const ::sluice::mpiio::FunctionOfProgram target =                                    \
        ::sluice::mpiio::is_ours()                                                              \
            ? ::sluice::mpiio::FunctionOfProgram{reinterpret_cast<void*>(&face_##name)}         \
            : ::sluice::mpiio::function_of_program("PMPI_" #name);                              \
    return ::sluice::mpiio::call(target, SLUICE_WORDS());                                       \
  }                                                                                             \
  extern "C" __attribute__((visibility("default"), alias("MPI_" #name))) ::sluice::mpiio::Word  \
      sluice_profiled_##name(SLUICE_WORDS(::sluice::mpiio::Word)) __asm__("PMPI_" #name);       \
  namespace {                                                                                   \
  result face_##name parameters
#define SLUICE_FACE_END }
#define SLUICE_WORDS(type) type a, type b, type c, type d, type e, type f
// NOLINTEND(bugprone-macro-parentheses)

namespace sluice::mpiio {

using Word = std::uintptr_t;
using AnyFunction = Word(Word, Word, Word, Word, Word, Word);

inline Word call(const FunctionOfProgram& target, SLUICE_WORDS(Word)) {
  Word words[] = {SLUICE_WORDS()};
  constexpr Word most = std::numeric_limits<int>::max();
  if (target.count >= 0 && words[target.count] > most) {
    if (!target.refuses) {
      return MPI_ERR_COUNT;  // the same number in every MPI before 4.0
    }
    words[target.count] = static_cast<Word>(-1);  // the other ranks may wait for this one
    return reinterpret_cast<AnyFunction*>(target.function)(words[0], words[1], words[2], words[3],
                                                           words[4], words[5]);
  }
  return reinterpret_cast<AnyFunction*>(target.function)(SLUICE_WORDS());
}

/// Whom a failure is told.
struct Told {
  ErrorHandler& handler;
  MPI_File handle;
  const char* path;
  Printed* printed;  ///< null: each failure is printed
};

/// Calls `action`; a failure becomes an MPI error class, through an error handler. `function`: the
/// one that calls this.
template <class Action>
int guarded(const Told& told, const char* function, Action&& action) noexcept {
  try {
    action();
    return MPI_SUCCESS;
  } catch (...) {
    const Failure failure = failure_of_current(told.path);
    if (told.printed == nullptr) {
      failure.print();
    } else {
      told.printed->print_first(failure);
    }
    return told.handler.raise(told.handle, failure.error_class,
                              {function, told.path, failure.text.c_str()});
  }
}

/// The same with the file of `handle`, which hears of it.
template <class Action>
int on_file(MPI_File handle, Action&& action,
            const char* function = __builtin_FUNCTION()) noexcept {
  File* const file = file_of(handle);
  if (file == nullptr) {
    return default_handler().raise(handle, MPI_ERR_FILE, {function});
  }
  return guarded({file->handler, handle, file->path.c_str(), &file->report.printed}, function,
                 [&] { action(*file); });
}

/// The same without a file: the handler is that of MPI_FILE_NULL.
template <class Action>
int on_none(const char* path, Action&& action,
            const char* function = __builtin_FUNCTION()) noexcept {
  return guarded({default_handler(), MPI_FILE_NULL, path == nullptr ? "" : path, nullptr}, function,
                 action);
}

}  // namespace sluice::mpiio
