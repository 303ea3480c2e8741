#include "mpiio/errors.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>

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
bool is_usual(Code code) { return code == Code::not_found || code == Code::exists; }

/// The code of a failure that only has a class: each reason is printed once. The library's own
/// codes are smaller.
int code_of_reason(std::string_view what) {
  constexpr int first = 64;
  constexpr std::size_t others = Failure::codes - first;
  return first + static_cast<int>(std::hash<std::string_view>{}(what) % others);
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
  if (code == 0 || is_usual) {
    return;
  }
  try {
    storage::say(rank_text() + text);
  } catch (const std::exception&) {
    // no memory for a message
  }
}

Failure failure_of_current(const std::string& path) noexcept {
  Failure failure;
  const auto explain = [&](int code, const std::string& file, const char* why) {
    failure.code = code;
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
    explain(code_of_reason(fault.what()), path + ": ", fault.what());
  } catch (const Error& e) {
    failure.error_class = class_of_code(e.code());
    failure.is_usual = is_usual(e.code());
    explain(static_cast<int>(e.code()), "", e.what());
  } catch (const std::bad_alloc&) {
    failure.error_class = MPI_ERR_NO_MEM;
    explain(code_of_reason("no memory"), path + ": ", "no memory");
  } catch (const std::exception& e) {
    failure.error_class = MPI_ERR_INTERN;
    explain(static_cast<int>(Code::internal), path + ": ", e.what());
  }
  return failure;
}

void Printed::print_first(const Failure& failure) noexcept {
  if (!failure.is_usual && !codes_[static_cast<std::size_t>(failure.code)].exchange(true)) {
    failure.print();
  }
}

ErrorHandler::ErrorHandler(const ErrorHandler& other) {
  if (other.is_placed_) {
    set(other.current_);
  }
}

ErrorHandler::ErrorHandler(ErrorHandler&& other) noexcept
    : is_placed_(std::exchange(other.is_placed_, false)),
      place_(other.place_),
      current_(other.current_) {}

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

int ErrorHandler::raise(MPI_File file, int code, const Place& where) {
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
  std::string_view name = where.function;
  name.remove_prefix(std::min(name.size(), std::string_view("face_").size()));
  const std::string why = *where.why != '\0' ? where.why : where.path;
  storage::say_before_abort(rank_text() + "MPI_" + std::string(name) + ": " + why +
                            (why.empty() ? "" : ": ") + text +
                            "; the error handler ends the program");
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
