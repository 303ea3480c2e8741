#include "exec/transport/at_finalize.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "mpi/process.hpp"

namespace sluice::exec {

struct FinalizeList {
  std::mutex mutex;
  std::vector<const AtFinalize*> all;  ///< in the order of their registration
  bool has_attribute = false;

  static void run();
};

namespace {

/// Never destroyed: files of static lifetime may be closed after main().
FinalizeList& finalize_list() {
  static auto* one = new FinalizeList;
  return *one;
}

}  // namespace

void FinalizeList::run() {
  std::vector<const AtFinalize*> all;
  {
    const std::lock_guard lock(finalize_list().mutex);
    all = std::exchange(finalize_list().all, {});
  }
  std::ranges::stable_sort(all, {},
                           [](const AtFinalize* one) -> const std::string& { return one->path_; });
  for (const AtFinalize* one : all) {
    one->work_();
  }
}

AtFinalize::AtFinalize(std::string path, std::function<void()> work)
    : path_(std::move(path)), work_(std::move(work)) {
  if (!mpi::runs()) {
    return;
  }
  FinalizeList& list = finalize_list();
  const std::lock_guard lock(list.mutex);
  if (!list.has_attribute) {
    if (mpi::comms().at_finalize(FinalizeList::run) != mpi::success) {
      return;  // the file works without it
    }
    list.has_attribute = true;
  }
  list.all.push_back(this);
}

AtFinalize::~AtFinalize() {
  FinalizeList& list = finalize_list();
  const std::lock_guard lock(list.mutex);
  std::erase(list.all, this);
}

}  // namespace sluice::exec
