#include "exec/transport/at_finalize.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "mpi/process.hpp"

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

void run_finalize_list() {
  std::vector<const std::function<void()>*> works;
  {
    const std::lock_guard lock(finalize_list().mutex);
    works = std::exchange(finalize_list().works, {});
  }
  for (const auto* work : works) {
    (*work)();
  }
}

}  // namespace

AtFinalize::AtFinalize(std::function<void()> work) : work_(std::move(work)) {
  if (!mpi::runs()) {
    return;
  }
  FinalizeList& list = finalize_list();
  const std::lock_guard lock(list.mutex);
  if (!list.has_attribute) {
    if (mpi::comms().at_finalize(run_finalize_list) != mpi::success) {
      return;  // the file works without it
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
