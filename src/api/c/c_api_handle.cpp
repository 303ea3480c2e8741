#include "api/c/c_api_handle.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <thread>

#include "exec/transport/agree.hpp"
#include "model/name.hpp"
#include "mpi/process.hpp"

namespace sluice::c_api {

namespace {

thread_local Failure thread_failure;

/// So many handles stay free before one is used again: a call on a handle that was freed lately is
/// refused, and meets no other file.
constexpr std::size_t least_free = 64;

/// All handles ever created. Those that are free form a list, so that freeing need not allocate;
/// the one that was freed first is used first.
struct Pool {
  std::mutex mutex;
  std::vector<std::unique_ptr<sluice_file>> all;
  sluice_file* first_free = nullptr;
  sluice_file* last_free = nullptr;
  std::size_t free = 0;

  sluice_file* take() {
    if (free <= least_free) {
      all.push_back(std::make_unique<sluice_file>());
      return all.back().get();
    }
    --free;
    return std::exchange(first_free, first_free->next_free);
  }
  void give_back(sluice_file* file) noexcept {
    file->next_free = nullptr;
    (free++ == 0 ? first_free : last_free->next_free) = file;
    last_free = file;
  }
};

Pool& pool() {
  static auto* the_pool = new Pool;  // lives until its last caller has returned
  return *the_pool;
}

/// Of sluice_free_because(), by handle.
struct Reasons {
  struct Reason {
    std::thread::id thread;
    std::string why;
  };
  std::mutex mutex;
  std::map<const void*, Reason> all;
};

Reasons& reasons() {
  static auto* the_reasons = new Reasons;
  return *the_reasons;
}

Failure current() noexcept {
  try {
    try {
      throw;
    } catch (const Error& e) {
      return {static_cast<int>(e.code()), e.rank(), model::escaped(e.what(), model::Shown::line)};
    } catch (const std::bad_alloc&) {
      return {SLUICE_ERROR_OVER_BUDGET, -1, "out of memory"};
    } catch (const std::exception& e) {
      return {SLUICE_ERROR_INTERNAL, -1, e.what()};
    }
  } catch (...) {
    return {SLUICE_ERROR_INTERNAL, -1, {}};
  }
}

}  // namespace

int keep(Failure* of_handle) noexcept {
  Failure failure = current();
  const int code = failure.code;
  try {
    if (of_handle != nullptr) {
      *of_handle = failure;
    }
    thread_failure = std::move(failure);
  } catch (...) {
    thread_failure = {code, -1, {}};  // no memory for the message: only the code is returned
  }
  return code;
}

const Failure& failure_of_thread() noexcept { return thread_failure; }

std::optional<std::string> take_reason_to_free(const void* handle) noexcept {
  Reasons& told = reasons();
  const std::lock_guard lock(told.mutex);
  const auto found = told.all.find(handle);
  if (found == told.all.end()) {
    return std::nullopt;
  }
  Reasons::Reason reason = std::move(found->second);
  told.all.erase(found);
  if (reason.thread != std::this_thread::get_id()) {
    return std::nullopt;
  }
  return std::move(reason.why);
}

sluice_file* take_handle() {
  Pool& handles = pool();
  const std::lock_guard lock(handles.mutex);
  sluice_file* file = handles.take();
  take_reason_to_free(file);  // one that was told of it when it was free already
  file->failure = {};
  file->mark = {};
  file->last_copies_in_use = false;
  file->is_live = true;
  return file;
}

void give_back(sluice_file* file) noexcept {
  file->step.reset();
  file->file.reset();
  file->impl = nullptr;
  file->forget_copies();
  file->texts.clear();
  file->last_name.clear();
  file->last_variable = -1;
  file->first_number = 0;
  file->refusal.reset();
  file->not_begun.reset();
  file->is_live = false;
  Pool& handles = pool();
  const std::lock_guard lock(handles.mutex);
  handles.give_back(file);
}

void require_live(const sluice_file* file) {
  if (file == nullptr) {
    throw Error(Code::invalid_argument, "the file handle is NULL: was the file opened?");
  }
  if (!file->is_live) {
    throw Error(Code::wrong_state, "the file is closed already: its handle was freed");
  }
}

void require(const void* pointer, const char* what) {
  if (pointer == nullptr) {
    throw Error(Code::invalid_argument, std::string(what) + " is NULL");
  }
}

std::uint64_t rows_of(std::int64_t rows, const std::string& what) {
  if (rows < 0) {
    throw Error(Code::invalid_argument, what + ": " + std::to_string(rows) + " rows");
  }
  return static_cast<std::uint64_t>(rows);
}

std::string text_of(const char* text, const char* what) {
  require(text, what);
  return text;
}

Type loose_type(sluice_type code) noexcept {
  constexpr std::array<std::uint8_t, 16> bytes = {0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 8, 16, 1, 0, 2};
  if ((code >= SLUICE_INT8 && code <= SLUICE_BOOL) || code == SLUICE_FLOAT16) {
    return {static_cast<Kind>(code), bytes[static_cast<std::size_t>(code)]};
  }
  if (code > 255 && code % 256 == SLUICE_KIND_STRING) {
    return {Kind::string, static_cast<std::uint32_t>(code / 256)};
  }
  return {static_cast<Kind>(0), 0};
}

Type type_of_code(sluice_type code, const char* what) {
  const Type type = loose_type(code);
  if (type.bytes == 0) {
    throw Error(Code::invalid_argument,
                std::string(what) + ": " + std::to_string(code) +
                    (code == SLUICE_KIND_STRING ? " has no length: use SLUICE_STRING(bytes)"
                                                : " is not a sluice_type"));
  }
  return type;
}

sluice_type code_of_type(const Type& type) noexcept {
  const auto kind = static_cast<sluice_type>(type.kind);
  constexpr std::uint32_t most_bytes = SLUICE_STRING_BYTES_MAX;
  const auto bytes = static_cast<sluice_type>(std::min(type.bytes, most_bytes));
  return type.kind == Kind::string ? kind + 256 * bytes : kind;
}

void refuse_dims(int rank, const std::int64_t* numbers, const std::string& what) {
  if (rank < 0 || rank > model::max_rank) {
    throw Error(Code::invalid_argument, what + ": " + std::to_string(rank) +
                                            " dimensions: there are 0 to " +
                                            std::to_string(model::max_rank));
  }
  require(numbers, what.c_str());
  const auto* bad = std::find_if(numbers, numbers + rank, [](std::int64_t n) { return n < 0; });
  throw Error(Code::invalid_argument, what + ": " + std::to_string(*bad) + " in dimension " +
                                          model::dimension_text(bad - numbers, rank));
}

void read_sized(const void* given, std::size_t given_bytes, void* known, std::size_t known_bytes) {
  constexpr std::size_t most_bytes = 1 << 16;
  if (given_bytes < sizeof(std::size_t) || given_bytes > most_bytes) {
    throw Error(Code::invalid_argument, "a struct of size " + std::to_string(given_bytes) +
                                            ": initialise it with ..._INIT");
  }
  const auto* bytes = static_cast<const char*>(given);
  for (std::size_t at = known_bytes; at < given_bytes; ++at) {
    if (bytes[at] != 0) {
      throw Error(Code::unsupported,
                  "a struct has fields that this library does not know: it is older than the "
                  "header the program was built with");
    }
  }
  std::memcpy(known, given, std::min(given_bytes, known_bytes));
}

Comm comm_of_fortran(int comm) {
  return sluice_comm{SLUICE_COMM_FORTRAN, 0, static_cast<std::uint32_t>(comm)};
}

void refuse_null(const Comm& comm, const std::string& what) {
  if (!mpi::runs()) {
    return;  // this error has priority
  }
  mpi::use(comm);
  if (mpi::take(comm) == mpi::comms().null_comm()) {
    throw Error(Code::invalid_argument, what + ": the communicator is MPI_COMM_NULL");
  }
}

Mode mode_of(const char* text) {
  const std::string mode = text_of(text, "mode");
  if (mode == "r") {
    return Mode::read;
  }
  if (mode == "w") {
    return Mode::write;
  }
  if (mode == "x") {
    return Mode::create;
  }
  if (mode == "a") {
    return Mode::append;
  }
  throw Error(Code::invalid_argument, "mode \"" + mode + "\": use one of r, w, x, a");
}

const std::string& path_of(const sluice_file& file) {
  const commit::Output* const output = file.impl->writing();
  return output != nullptr ? output->path() : file.impl->path();
}

}  // namespace sluice::c_api

int sluice_refuse(sluice_file* file, int code, const char* why) {
  return sluice::c_api::call(file, [&](sluice_file& f) {
    const std::string text = sluice::c_api::text_of(why, "refuse: the reason");
    f.refusal = sluice::exec::naming_file({static_cast<sluice::Code>(code), text},
                                          sluice::c_api::path_of(f));
  });
}

int sluice_free_because(const void* handle, const char* why) {
  return sluice::c_api::guarded([&] {
    sluice::c_api::require(handle, "the handle");
    const std::string reason = sluice::c_api::text_of(why, "free: the reason");
    auto& told = sluice::c_api::reasons();
    const std::lock_guard lock(told.mutex);
    told.all[handle] = {std::this_thread::get_id(), reason};
  });
}

int sluice_count_from(sluice_file* file, int32_t first) {
  return sluice::c_api::call(file, [&](sluice_file& f) { f.first_number = first; });
}

using sluice::c_api::Failure;

namespace {

/// The output of an open file, else null.
sluice::commit::Output* writing(const sluice_file* file) {
  const bool is_file = file != nullptr && file->is_live && file->impl != nullptr;
  return is_file ? file->impl->writing() : nullptr;
}

const Failure& failure_of(const sluice_file* file) {
  return file != nullptr && file->is_live ? file->failure : sluice::c_api::failure_of_thread();
}

}  // namespace

int32_t sluice_holds_memory(const sluice_file* file) {
  const auto* output = writing(file);
  if (output != nullptr && output->holds_memory()) {
    return 1;
  }
  return file != nullptr && file->is_live && file->may_be_in_use() ? 2 : 0;
}

int32_t sluice_failed_together(const sluice_file* file) {
  auto* output = writing(file);
  return output != nullptr && output->failed_together() ? 1 : 0;
}

const char* sluice_last_error(const sluice_file* file) { return failure_of(file).message.c_str(); }
int sluice_last_error_code(const sluice_file* file) { return failure_of(file).code; }
int sluice_last_error_rank(const sluice_file* file) { return failure_of(file).rank; }
