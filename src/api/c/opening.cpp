#include "api/c/opening.hpp"

#include <cstdlib>

#include "api/c/c_api_handle.hpp"
#include "exec/transport/solo_transport.hpp"
#include "mpi/process.hpp"

namespace sluice::c_api {

namespace {

Opening parsed(const void* place, const char* path, const char* mode, const char* options) {
  require(place, "the place for the handle");
  return {text_of(path, "path"), mode_of(mode), parse_options(options == nullptr ? "" : options)};
}

detail::OpenRequest request_of(const Opening& opening) {
  return {opening.path, detail::purpose_of(opening.mode)};
}

void finish_mpi(const storage::OwnProcess& starter) {
  if (!starter.is_here()) {
    return;  // in a forked child, which is not one of the ranks
  }
  if (!mpi::comms().is_finalized()) {
    mpi::comms().finalize();
  }
}

/// For storages that need MPI in a program that has none.
void start_mpi() {
  mpi::load();
  if (!mpi::comms().is_initialized()) {
    mpi::comms().init(nullptr, nullptr);
    static const storage::OwnProcess starter;
    std::atexit([] { finish_mpi(starter); });
  }
}

}  // namespace

Opening OnComm::parse(const void* place, const char* path, const char* mode,
                      const char* options) const {
  return before([&] { return parsed(place, path, mode, options); });
}

const Comm& OnComm::comm(const std::string& path) const {
  refuse_null(comm_, path + ": open");
  return comm_;
}

std::unique_ptr<detail::FileImpl> OnComm::open(const Opening& opening) const {
  return std::make_unique<detail::FileImpl>(comm(opening.path), opening.path, opening.mode,
                                            opening.options);
}

detail::OpenContext OnComm::context(const Opening& opening) const {
  return detail::context_on(comm(opening.path), request_of(opening), opening.options);
}

Opening OnSelf::parse(const void* place, const char* path, const char* mode,
                      const char* options) const {
  return parsed(place, path, mode, options);
}

std::unique_ptr<detail::FileImpl> OnSelf::open(const Opening& opening) const {
  if (opening.options.storage == "mpiio") {
    start_mpi();
  }
  return std::make_unique<detail::FileImpl>(exec::make_solo(), opening.path, opening.mode,
                                            opening.options);
}

detail::OpenContext OnSelf::context(const Opening& opening) const {
  return detail::context_on(exec::make_solo(), request_of(opening), opening.options);
}

}  // namespace sluice::c_api
