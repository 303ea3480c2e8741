// The implementation of the C handles, and the conversion of C++ exceptions into codes and kept
// messages.
//
// Invariants: no exception reaches C; the memory of a handle is never returned to the system, only
// reused by a later open, so that a freed handle can be distinguished from a live one; every
// failure is kept on its handle and for its thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/file/file_impl.hpp"
#include "exec/transport/given_up.hpp"
#include "model/numbering.hpp"
#include "sluice/sluice.h"
#include "sluice/sluice.hpp"

namespace sluice::c_api {

struct Failure {
  int code = SLUICE_OK;
  int rank = -1;
  std::string message;
};

/// Keeps the exception being handled (call inside catch) and returns its code.
int keep(Failure* of_handle) noexcept;
const Failure& failure_of_thread() noexcept;

}  // namespace sluice::c_api

struct sluice_file {
  bool is_live = false;
  sluice::c_api::Failure failure;
  sluice::detail::FileImpl* impl = nullptr;  ///< of `file`
  std::unique_ptr<sluice::File> file;
  std::optional<sluice::Step> step;
  std::optional<sluice::Error> not_begun;  ///< why sluice_begin_step() failed, for the end
  std::uint64_t budget_bytes = 0;
  // copies of data that was not dense, until the commit
  std::vector<std::unique_ptr<std::byte[]>> copies;
  std::uint64_t copied_bytes = 0;
  sluice::exec::MessageMark mark;    ///< of when there were no copies last
  bool last_copies_in_use = false;   ///< MPI may still send from those that were forgotten last
  sluice_file* next_free = nullptr;  ///< of those freed: the one that was freed after it
  std::set<std::string> texts;       ///< returned to the caller
  // the variable that sluice_find() found last
  std::string last_name;
  sluice_variable last_variable = -1;
  int first_number = 0;                  ///< first number that messages use
  std::optional<sluice::Error> refusal;  ///< of sluice_refuse(), for the next call

  /// Also for a call that fails for another reason: a refusal is never left for a later call.
  std::optional<sluice::Error> take_refusal() { return std::exchange(refusal, std::nullopt); }
  const char* text(const std::string& value) { return texts.insert(value).first->c_str(); }
  bool may_be_in_use() const noexcept { return last_copies_in_use || mark.may_be_in_use(); }
  void forget_copies() noexcept {
    last_copies_in_use = mark.may_be_in_use();
    mark.keep_used(copies);
    mark = {};
    copies.clear();
    copied_bytes = 0;
  }
  /// After a commit, or the refusal of one: then they are still needed.
  void settle_copies() noexcept {
    const sluice::commit::Output* output = impl == nullptr ? nullptr : impl->writing();
    if (output == nullptr || !output->holds_memory()) {
      forget_copies();
    }
  }
};

struct sluice_ticket {
  sluice::Ticket ticket;
};

namespace sluice::c_api {

/// Runs `work()` for a handle that is not a sluice_file; an exception becomes the code, and is kept
/// for the thread.
template <class Work>
int guarded(Work&& work) noexcept {
  try {
    work();
    return SLUICE_OK;
  } catch (...) {
    return keep(nullptr);
  }
}

/// From Fortran's integer.
Comm comm_of_fortran(int comm);
/// Error invalid_argument for MPI_COMM_NULL, if MPI is running; `what` begins the message.
void refuse_null(const Comm& comm, const std::string& what);

/// What sluice_free_because() was given for the handle, if on this thread; forgets it.
std::optional<std::string> take_reason_to_free(const void* handle) noexcept;

sluice_file* take_handle();
void give_back(sluice_file* file) noexcept;

/// Throws Error if the handle cannot be used at all.
void require_live(const sluice_file* file);

/// Runs `work(*file)`; an exception becomes the code and is kept.
template <class Work>
int call(sluice_file* file, Work&& work) noexcept {
  try {
    require_live(file);
  } catch (...) {
    return keep(nullptr);
  }
  try {
    const model::Numbering numbering(file->first_number);
    work(*file);
    return SLUICE_OK;
  } catch (...) {
    return keep(&file->failure);
  }
}

/// Throws the error that was passed to sluice_refuse().
inline void throw_if(const std::optional<Error>& refusal) {
  if (refusal) {
    throw Error(*refusal);
  }
}

/// The same for calls of one rank whose failure must make the commit fail on every rank.
template <class Work>
int call_local(sluice_file* file, Work&& work) noexcept {
  return call(file, [&](sluice_file& f) {
    const auto refusal = f.take_refusal();
    commit::Output& output = f.impl->output();
    try {
      throw_if(refusal);
      work(f, output);
    } catch (...) {
      output.fail(std::current_exception());
      throw;
    }
  });
}

/// Error invalid_argument, naming `what`, if `pointer` is null.
void require(const void* pointer, const char* what);
/// Error invalid_argument, which `what` begins, if there are fewer than no rows.
std::uint64_t rows_of(std::int64_t rows, const std::string& what);

/// As guarded(), of a handle; `what` names it.
template <class Work>
int guarded_on(const void* handle, Work&& work, const char* what = "the handle") noexcept {
  return guarded([&] {
    require(handle, what);
    work();
  });
}

/// Settles the copies of a file when a commit, or the refusal of one, is over.
class CopiesSettled {
 public:
  explicit CopiesSettled(sluice_file& file) : file_(file) {}
  CopiesSettled(const CopiesSettled&) = delete;
  CopiesSettled& operator=(const CopiesSettled&) = delete;
  ~CopiesSettled() { file_.settle_copies(); }

 private:
  sluice_file& file_;
};

/// The path that the errors of a file name.
const std::string& path_of(const sluice_file& file);
std::string text_of(const char* text, const char* what);

/// "r", "w", "x" or "a". Error invalid_argument otherwise.
Mode mode_of(const char* text);

/// Error invalid_argument if it is not a type.
Type type_of_code(sluice_type code, const char* what);
/// The same without an exception: kind 0.
Type loose_type(sluice_type code) noexcept;
/// Of strings beyond the longest string type: that one.
sluice_type code_of_type(const Type& type) noexcept;

/// `rank` numbers as dimensions. Error invalid_argument for negative ones; `what()` names them.
template <class What>
model::Dims dims_of(int rank, const std::int64_t* numbers, What&& what);

/// A copy of a sized struct of the caller, from any version of the header. `least_bytes`: size of
/// its first version.
template <class Struct>
Struct sized(const Struct* given, const Struct& defaults);

// -- implementation -------------------------------------------------------------------------------

[[noreturn]] void refuse_dims(int rank, const std::int64_t* numbers, const std::string& what);

template <class What>
model::Dims dims_of(int rank, const std::int64_t* numbers, What&& what) {
  model::Dims dims;
  if (rank < 0 || rank > model::max_rank || (rank > 0 && numbers == nullptr)) {
    refuse_dims(rank, numbers, what());
  }
  for (int d = 0; d < rank; ++d) {
    if (numbers[d] < 0) {
      refuse_dims(rank, numbers, what());
    }
    dims.push_back(static_cast<std::uint64_t>(numbers[d]));
  }
  return dims;
}

void read_sized(const void* given, std::size_t given_bytes, void* known, std::size_t known_bytes);

template <class Struct>
Struct sized(const Struct* given, const Struct& defaults) {
  Struct known = defaults;
  if (given != nullptr) {
    read_sized(given, given->size, &known, sizeof known);
    known.size = sizeof known;
  }
  return known;
}

}  // namespace sluice::c_api
