#include "mpiio/errors.hpp"

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "sluice/error.hpp"
#include "storage/say.hpp"

namespace sluice::mpiio {

namespace {

std::uint64_t word_of(MPI_Errhandler handler) {
  std::uint64_t word = 0;
  std::memcpy(&word, &handler, sizeof handler);
  return word;
}

/// The functions of the error handlers that were created here.
struct Made {
  std::mutex mutex;
  std::map<std::uint64_t, MPI_File_errhandler_function*> functions;
};
Made& made() {
  static auto* const all = new Made;  // used until the process ends
  return *all;
}

int class_of_code(Code code) {
  switch (code) {
    case Code::not_found:
      return MPI_ERR_NO_SUCH_FILE;
    case Code::exists:
      return MPI_ERR_FILE_EXISTS;
    case Code::permission:
      return MPI_ERR_ACCESS;
    case Code::no_space:
      return MPI_ERR_NO_SPACE;
    case Code::invalid_argument:
      return MPI_ERR_ARG;
    case Code::over_budget:
      return MPI_ERR_NO_MEM;
    default:
      return MPI_ERR_IO;
  }
}

/// Programs try files that may not exist; only unexpected errors are printed.
bool is_usual(Code code) {
  return code == Code::not_found || code == Code::exists || code == Code::permission ||
         code == Code::invalid_argument;
}

/// "rank 3: ", the rank in MPI_COMM_WORLD; empty if MPI cannot tell.
std::string rank_text() {
  int rank = 0;
  int is_finalized = 0;
  const bool is_known = mpi.Finalized != nullptr && mpi.Finalized(&is_finalized) == MPI_SUCCESS &&
                        is_finalized == 0 && mpi.Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS;
  return is_known ? "rank " + std::to_string(rank) + ": " : std::string();
}

}  // namespace

void check(int result, const char* what) {
  if (result == MPI_SUCCESS) {
    return;
  }
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  mpi.Error_string(result, text, &length);
  throw Fault(MPI_ERR_OTHER, std::string(what) + ": " + text);
}

std::int64_t product_of(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    throw Fault(MPI_ERR_ARG, "a count or an offset beyond 2^63 bytes");
  }
  return product;
}

void Failure::print() const noexcept {
  try {
    storage::say(rank_text() + text);
  } catch (const std::exception&) {
    // no memory for a message
  }
}

Failure failure_of_current(const std::string& path) noexcept {
  Failure failure;
  const auto explain = [&](Code code, const std::string& file, const char* why) {
    failure.code = static_cast<int>(code);
    try {
      failure.text = file + why;
    } catch (const std::exception&) {
      // no memory for a message: the line has the rank alone
    }
  };
  try {
    throw;
  } catch (const AgreedFault& fault) {
    failure.error_class = fault.error_class();
  } catch (const Fault& fault) {
    failure.error_class = fault.error_class();
    if (fault.error_class() == MPI_ERR_OTHER) {
      explain(Code::mpi, path + ": ", fault.what());
    }
  } catch (const Error& e) {
    failure.error_class = class_of_code(e.code());
    if (!is_usual(e.code())) {
      explain(e.code(), "", e.what());
    }
  } catch (const std::bad_alloc&) {
    failure.error_class = MPI_ERR_NO_MEM;
  } catch (const std::exception& e) {
    failure.error_class = MPI_ERR_INTERN;
    explain(Code::internal, path + ": ", e.what());
  }
  return failure;
}

int class_of_current(const std::string& path) noexcept {
  const Failure failure = failure_of_current(path);
  if (failure.code != 0) {
    failure.print();
  }
  return failure.error_class;
}

void Printed::print_first(const Failure& failure) noexcept {
  if (failure.code == 0) {
    return;
  }
  const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(failure.code);
  if ((codes_.fetch_or(bit) & bit) == 0) {
    failure.print();
  }
}

ErrorHandler::ErrorHandler(const ErrorHandler& other) {
  if (other.is_placed_) {
    set(other.current_);
  }
}

ErrorHandler::~ErrorHandler() {
  int is_finalized = 0;
  if (is_placed_ && mpi.Finalized(&is_finalized) == MPI_SUCCESS && is_finalized == 0) {
    mpi.Comm_free(&place_);
  }
}

int ErrorHandler::need_place() {
  if (!is_placed_) {
    const int result = mpi.Comm_dup(MPI_COMM_SELF, &place_);
    if (result != MPI_SUCCESS) {
      return MPI_ERR_OTHER;
    }
    is_placed_ = true;
    mpi.Comm_set_errhandler(place_, MPI_ERRORS_RETURN);
    current_ = MPI_ERRORS_RETURN;
  }
  return MPI_SUCCESS;
}

int ErrorHandler::set(MPI_Errhandler handler) {
  const int result = need_place();
  if (result != MPI_SUCCESS) {
    return result;
  }
  if (mpi.Comm_set_errhandler(place_, handler) != MPI_SUCCESS) {
    return MPI_ERR_ARG;
  }
  current_ = handler;
  return MPI_SUCCESS;
}

int ErrorHandler::get(MPI_Errhandler* handler) {
  const int result = need_place();
  if (result != MPI_SUCCESS) {
    return result;
  }
  return mpi.Comm_get_errhandler(place_, handler) == MPI_SUCCESS ? MPI_SUCCESS : MPI_ERR_OTHER;
}

int ErrorHandler::raise(MPI_File file, int code) {
  if (!is_placed_ || current_ == MPI_ERRORS_RETURN) {
    return code;
  }
  MPI_File_errhandler_function* function = nullptr;
  {
    Made& all = made();
    const std::lock_guard lock(all.mutex);
    const auto found = all.functions.find(word_of(current_));
    function = found == all.functions.end() ? nullptr : found->second;
  }
  if (function != nullptr) {
    function(&file, &code);
    return code;
  }
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  mpi.Error_string(code, text, &length);
  storage::say(rank_text() +
               std::string("MPI-IO failed, and the file's error handler ends the program: ") +
               text);
  mpi.Abort(MPI_COMM_WORLD, code);
  return code;
}

ErrorHandler& default_handler() {
  static auto* const handler = new ErrorHandler;  // MPI may have ended when the process ends
  return *handler;
}

int create_handler(MPI_File_errhandler_function* function, MPI_Errhandler* handler) {
  // Never called by MPI: only by raise(), with a file.
  const int result = mpi.Comm_create_errhandler(
      reinterpret_cast<MPI_Comm_errhandler_function*>(function), handler);
  if (result == MPI_SUCCESS) {
    Made& all = made();
    const std::lock_guard lock(all.mutex);
    all.functions[word_of(*handler)] = function;
  }
  return result;
}

}  // namespace sluice::mpiio
