// How the C interface opens: on the ranks of a communicator, or in this process alone.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "api/file/file_impl.hpp"
#include "api/open_context.hpp"
#include "exec/transport/mpi_transport.hpp"

namespace sluice::c_api {

/// What the caller asked for, parsed.
struct Opening {
  std::string path;
  Mode mode;
  Options options;
};

/// Its functions are collective over the communicator.
class OnComm {
 public:
  explicit OnComm(const Comm& comm) : comm_(comm) {}

  /// Runs `work`, which needs no other rank. Its error is that of every rank.
  template <class Work>
  decltype(auto) before(Work&& work) const {
    return exec::before_open(comm_, std::forward<Work>(work));
  }
  /// `place`: for the handle. An error of any rank is that of every rank.
  Opening parse(const void* place, const char* path, const char* mode, const char* options) const;
  std::unique_ptr<detail::FileImpl> open(const Opening& opening) const;
  detail::OpenContext context(const Opening& opening) const;
  /// Error invalid_argument for MPI_COMM_NULL.
  const Comm& comm(const std::string& path) const;

 private:
  Comm comm_;
};

class OnSelf {
 public:
  template <class Work>
  decltype(auto) before(Work&& work) const {
    return work();
  }
  Opening parse(const void* place, const char* path, const char* mode, const char* options) const;
  /// MPI is started if the storage needs it.
  std::unique_ptr<detail::FileImpl> open(const Opening& opening) const;
  detail::OpenContext context(const Opening& opening) const;
};

}  // namespace sluice::c_api
