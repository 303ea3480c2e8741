// Failures: their classes, and the error handlers of files.
//
// Invariants: a code that a program gets is an MPI error class. Why is a line on stderr of a rank
// that failed: once for each code and open file of a process, and of those that fail in a
// collective call only on the lowest rank. Programs try files: that one is not there, or is, is not
// printed. Handlers are reference-counted by MPI, so they are created as handlers of communicators,
// and each file's is on a communicator of its own, from which a program gets it back.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "mpiio/mpi.hpp"

namespace sluice::mpiio {

/// A failure for which a call of MPI-IO returns `error_class`.
class Fault : public std::runtime_error {
 public:
  Fault(int error_class, const std::string& message)
      : std::runtime_error(message), error_class_(error_class) {}
  int error_class() const noexcept { return error_class_; }

 private:
  int error_class_;
};

/// What all ranks of a collective call throw when those that failed have printed why.
class AgreedFault : public Fault {
 public:
  explicit AgreedFault(int error_class)
      : Fault(error_class, "a collective call failed on at least one rank") {}
};

/// Throws Fault if a call of MPI has failed.
void check(int result, const char* what);
/// Of counts and offsets that a program gives. Fault MPI_ERR_ARG where no int64 holds the product.
std::int64_t product_of(std::int64_t a, std::int64_t b);

/// What has failed on this rank.
struct Failure {
  static constexpr int codes = 256;

  int error_class = MPI_SUCCESS;
  /// Of the library's codes, or made of the reason, below `codes`; 0: the ranks that failed print
  /// it.
  int code = 0;
  bool is_usual = false;  ///< not printed
  std::string text;       ///< of the line to print, if there is a code

  /// Prints the line, if there is one.
  void print() const noexcept;
};
/// Of the exception being handled.
Failure failure_of_current(const std::string& path) noexcept;

/// The codes of the failures that were printed. Any thread.
class Printed {
 public:
  /// Prints a failure that has a code, unless one with this code was printed.
  void print_first(const Failure& failure) noexcept;

 private:
  std::array<std::atomic<bool>, Failure::codes> codes_{};
};

/// The handler of one file, or of those that are not open (MPI_FILE_NULL).
class ErrorHandler {
 public:
  /// Where a call has failed.
  struct Place {
    const char* function = "";  ///< as the compiler names it: face_ and what follows MPI_
    const char* path = "";
    const char* why = "";  ///< with the path; empty: the class says it
  };

  ErrorHandler() = default;
  /// A new file gets the handler of MPI_FILE_NULL.
  ErrorHandler(const ErrorHandler& other);
  ErrorHandler(ErrorHandler&& other) noexcept;
  ErrorHandler& operator=(const ErrorHandler&) = delete;
  ~ErrorHandler();

  int set(MPI_Errhandler handler);
  int get(MPI_Errhandler* handler);
  /// Calls the handler; returns `code` unless that ends the program, which is told `where`.
  int raise(MPI_File file, int code, const Place& where);

 private:
  int need_place();

  bool is_placed_ = false;  ///< else it is MPI_ERRORS_RETURN
  MPI_Comm place_{};
  MPI_Errhandler current_{};  ///< kept alive by place_
};

/// Of MPI_FILE_NULL.
ErrorHandler& default_handler();
/// MPI_File_create_errhandler.
int create_handler(MPI_File_errhandler_function* function, MPI_Errhandler* handler);

}  // namespace sluice::mpiio
