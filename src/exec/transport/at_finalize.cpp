#include "exec/transport/at_finalize.hpp"

#include <algorithm>
#include <mpi.h>
#include <mutex>
#include <utility>
#include <vector>

namespace sluice::exec {

namespace {

struct FinalizeList {
  std::mutex mutex;
  std::vector<const std::function<void()>*> works;  ///< in the order of their registration
  bool has_attribute = false;
};

/// Never destroyed: files of static lifetime may be closed after main().
FinalizeList& finalize_list() {
  static auto* one = new FinalizeList;
  return *one;
}

int run_finalize_list(MPI_Comm, int, void*, void*) {
  std::vector<const std::function<void()>*> works;
  {
    const std::lock_guard lock(finalize_list().mutex);
    works = std::exchange(finalize_list().works, {});
  }
  for (const auto* work : works) {
    (*work)();
  }
  return MPI_SUCCESS;
}

}  // namespace

bool mpi_runs() {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

AtFinalize::AtFinalize(std::function<void()> work) : work_(std::move(work)) {
  if (!mpi_runs()) {
    return;
  }
  FinalizeList& list = finalize_list();
  const std::lock_guard lock(list.mutex);
  if (!list.has_attribute) {
    int key = MPI_KEYVAL_INVALID;
    if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, run_finalize_list, &key, nullptr) !=
            MPI_SUCCESS ||
        MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr) != MPI_SUCCESS) {
      return;  // the file works without
    }
    list.has_attribute = true;
  }
  list.works.push_back(&work_);
}

AtFinalize::~AtFinalize() {
  FinalizeList& list = finalize_list();
  const std::lock_guard lock(list.mutex);
  std::erase(list.works, &work_);
}

}  // namespace sluice::exec
