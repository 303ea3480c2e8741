// The C interface: the library, opening and closing.
#include <map>
#include <mutex>

#include "api/c/c_api_handle.hpp"
#include "api/c/opening.hpp"
#include "api/messages.hpp"
#include "mpi/process.hpp"

using sluice::Code;
using namespace sluice::c_api;  // NOLINT: C functions belong to no namespace

#ifndef SLUICE_VERSION
#error "the build defines SLUICE_VERSION"
#endif

const char* sluice_version(void) { return SLUICE_VERSION; }

const char* sluice_mpi_library(void) { return sluice::mpi::version_text().c_str(); }

void sluice_set_message_handler(sluice_message_handler handler, void* user) {
  guarded([&] {
    if (handler == nullptr) {
      sluice::set_message_handler({});
      return;
    }
    sluice::set_message_handler(
        [handler, user](const std::string& text) { handler(text.c_str(), user); });
  });
}

const char* sluice_code_name(int code) { return sluice::code_name(static_cast<Code>(code)); }

const char* sluice_type_name(sluice_type type) {
  static std::mutex mutex;
  static auto* names = new std::map<sluice_type, std::string>;  // lives until its last caller has
                                                                // returned
  const sluice::Type known = loose_type(type);
  if (known.bytes == 0) {
    return "unknown";
  }
  const std::lock_guard lock(mutex);
  return names->try_emplace(type, sluice::type_name(known)).first->second.c_str();
}

size_t sluice_type_bytes(sluice_type type) { return loose_type(type).bytes; }

// -- opening
// --------------------------------------------------------------------------------------

namespace {

template <class Where>
int open_on(const Where& where, const char* path, const char* mode, const char* options,
            sluice_file** file) noexcept {
  sluice_file* handle = nullptr;
  try {
    if (file != nullptr) {
      *file = nullptr;
    }
    const Opening opening = where.parse(static_cast<void*>(file), path, mode, options);
    handle = take_handle();
    auto impl = where.open(opening);
    handle->impl = impl.get();
    handle->file = std::make_unique<sluice::File>(std::move(impl));
    handle->budget_bytes = handle->impl->options().budget_bytes;
    *file = handle;
    return SLUICE_OK;
  } catch (...) {
    const int code = keep(nullptr);
    if (handle != nullptr) {
      give_back(handle);
    }
    return code;
  }
}

}  // namespace

int sluice_open_comm(sluice_comm comm, const char* path, const char* mode, const char* options,
                     sluice_file** file) {
  return open_on(OnComm(comm), path, mode, options, file);
}

int sluice_open_f(int comm, const char* path, const char* mode, const char* options,
                  sluice_file** file) {
  return open_on(OnComm(comm_of_fortran(comm)), path, mode, options, file);
}

int sluice_open_serial(const char* path, const char* mode, const char* options,
                       sluice_file** file) {
  return open_on(OnSelf(), path, mode, options, file);
}

int sluice_close(sluice_file* file) {
  return call(file, [](sluice_file& f) {
    const CopiesSettled at_end(f);
    f.file->close();
  });
}

namespace {

/// Of a file that its program has not closed.
void say_lost_step(sluice::detail::FileImpl& file) noexcept {
  try {
    if (file.is_here() && file.is_open() && !file.reads() && file.speaks() &&
        file.output().in_step()) {
      sluice::detail::say(file.path() + ": was freed before its close: step " +
                          std::to_string(file.output().steps()) +
                          ", which had not ended, is not in the file: end it, and close the file");
    }
  } catch (const std::exception&) {
    // no memory for the message
  }
}

}  // namespace

void sluice_free(sluice_file* file) {
  const auto why = take_reason_to_free(file);
  if (file == nullptr) {
    return;
  }
  try {
    require_live(file);
  } catch (...) {
    keep(nullptr);
    return;
  }
  if (file->impl != nullptr) {
    if (why) {
      file->impl->leave(*why);
    } else {
      say_lost_step(*file->impl);
    }
    file->impl->drop();
  }
  give_back(file);
}
