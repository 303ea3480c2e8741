// The C interface: the library, opening and closing.
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "api/c/c_api_handle.hpp"
#include "api/config/settings.hpp"
#include "exec/transport/solo_transport.hpp"
#include "mpi/process.hpp"

using sluice::Code;
using sluice::Comm;
using sluice::Error;
using sluice::Mode;
using sluice::Options;
using sluice::detail::FileImpl;
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

using Opener = std::unique_ptr<FileImpl> (*)(const Comm&, const std::string&, Mode, const Options&);

int open_with(Opener opener, const Comm& comm, const char* path, const char* mode,
              const char* options, sluice_file** file) noexcept {
  sluice_file* handle = nullptr;
  try {
    require(static_cast<void*>(file), "the place for the file handle");
    *file = nullptr;
    const std::string name = text_of(path, "path");
    const Mode meant = mode_of(mode);
    const Options parsed = sluice::parse_options(options == nullptr ? "" : options);
    handle = take_handle();
    auto impl = opener(comm, name, meant, parsed);
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

void finish_mpi(const sluice::storage::OwnProcess& starter) {
  if (!starter.is_here()) {
    return;  // in a forked child, which is not one of the ranks
  }
  if (!sluice::mpi::comms().is_finalized()) {
    sluice::mpi::comms().finalize();
  }
}

/// For storages that need MPI in a program that has none.
void start_mpi() {
  sluice::mpi::load();
  if (!sluice::mpi::comms().is_initialized()) {
    sluice::mpi::comms().init(nullptr, nullptr);
    static const sluice::storage::OwnProcess starter;
    std::atexit([] { finish_mpi(starter); });
  }
}

}  // namespace

std::unique_ptr<FileImpl> sluice::c_api::open_mpi(const Comm& comm, const std::string& path,
                                                  Mode mode, const Options& options) {
  refuse_null(comm, path + ": open");
  return std::make_unique<FileImpl>(comm, path, mode, options);
}

std::unique_ptr<FileImpl> sluice::c_api::open_serial(const Comm&, const std::string& path,
                                                     Mode mode, const Options& options) {
  if (options.storage == "mpiio") {
    start_mpi();
  }
  return std::make_unique<FileImpl>(sluice::exec::make_solo(), path, mode, options);
}

int sluice_open_comm(sluice_comm comm, const char* path, const char* mode, const char* options,
                     sluice_file** file) {
  return open_with(open_mpi, comm, path, mode, options, file);
}

int sluice_open_f(int comm, const char* path, const char* mode, const char* options,
                  sluice_file** file) {
  return open_with(open_mpi, comm_of_fortran(comm), path, mode, options, file);
}

int sluice_open_serial(const char* path, const char* mode, const char* options,
                       sluice_file** file) {
  return open_with(open_serial, Comm(), path, mode, options, file);
}

int sluice_close(sluice_file* file) {
  return call(file, [](sluice_file& f) {
    try {
      f.file->close();
    } catch (...) {
      f.forget_copies();
      throw;
    }
    f.forget_copies();
  });
}

void sluice_free(sluice_file* file) {
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
    file->impl->drop();
  }
  give_back(file);
}
