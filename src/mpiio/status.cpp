#include "mpiio/status.hpp"

#include <memory>

#include "mpiio/errors.hpp"

namespace sluice::mpiio {

namespace {

int fill_in(void* bytes, MPI_Status* status) {
  set_status(status, *static_cast<std::int64_t*>(bytes));
  return MPI_SUCCESS;
}

int release(void* bytes) {
  delete static_cast<std::int64_t*>(bytes);
  return MPI_SUCCESS;
}

int ignore_cancel(void*, int) { return MPI_SUCCESS; }

}  // namespace

void set_status(MPI_Status* status, std::int64_t bytes) {
  if (status == MPI_STATUS_IGNORE) {
    return;
  }
  mpi.Status_set_elements_x(status, MPI_BYTE, bytes);
  mpi.Status_set_cancelled(status, 0);
}

void make_request(MPI_Request* request, std::int64_t bytes) {
  auto kept = std::make_unique<std::int64_t>(bytes);
  check(mpi.Grequest_start(fill_in, release, ignore_cancel, kept.get(), request), "a request");
  static_cast<void>(kept.release());
  check(mpi.Grequest_complete(*request), "completing a request");
}

}  // namespace sluice::mpiio
