// Bringing the parts of a set that lie elsewhere, such as on node-local storage, into
// `<index>.parts` while the run goes on.
//
// Where all nodes should see the same files, one of all ranks looks for a part; what that one does
// not see, and elsewhere every part, one rank of each node looks for. A part is copied by one rank
// that sees it: under a temporary name, synced, then given its own. The rank that holds the index
// names the new places when all copies are there (PartsIndex::replace), and only then the copied
// parts go. A crash in between leaves an index that is whole, and copies that the next attempt
// takes over or replaces.
//
// Invariants: a part is copied only after it was found to be the one that the index means; a file
// that has the name of a copy is removed only if it is of this set and lies in `<index>.parts`,
// which the holder of the lease alone may change; the threads make no call of MPI and of HDF5.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "exec/transport/node_share.hpp"
#include "layout/part_set.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

class PartsDrain {
 public:
  /// Collective: who copies what, and begins. `set`: as the index has it, the same on every rank.
  /// The storage must outlive the object. With `in_background` a thread of the library copies;
  /// else wait() does.
  PartsDrain(exec::Transport& transport, storage::Storage& storage, std::string index_path,
             layout::PartSet set, bool in_background);
  /// Local: a copy under way ends at its next 4 MiB.
  ~PartsDrain();
  PartsDrain(const PartsDrain&) = delete;
  PartsDrain& operator=(const PartsDrain&) = delete;

  /// Parts that no rank sees as the index knows them: the same on every rank.
  const std::vector<std::size_t>& lost() const noexcept { return lost_; }
  /// Why the first of them is lost, as rank 0 sees it: the same on every rank.
  const std::string& why_lost() const noexcept { return why_lost_; }
  /// Local. Has this rank copied its own, or failed?
  bool is_done() const noexcept { return is_done_; }
  /// Local: waits for that, at most so long.
  bool wait(double seconds);
  /// Collective, once every rank is done: the paths of all parts from now on. The failure of any
  /// rank is an Error on all.
  std::vector<std::string> places();
  /// Local, when the index names the new places durably: the parts that this rank has copied go.
  void remove_sources() noexcept;

 private:
  void choose(exec::Transport& transport);
  void look(exec::Transport& transport, const exec::Share& share, std::vector<std::int64_t>& first);
  std::string why_lost_here() const;
  void work() noexcept;
  void copy(std::size_t part);
  void make_way(std::size_t part);

  exec::Transport& transport_;
  storage::Storage& storage_;
  const std::string index_path_;
  const layout::PartSet set_;
  std::vector<std::size_t> away_;
  std::vector<std::size_t> lost_;
  std::string why_lost_;
  std::vector<std::size_t> own_;  ///< that this rank copies
  std::atomic<bool> stops_ = false;
  std::atomic<bool> is_done_ = false;
  std::exception_ptr failure_;  ///< once is_done_
  std::mutex mutex_;
  std::condition_variable done_;
  std::thread thread_;
};

}  // namespace sluice::commit
