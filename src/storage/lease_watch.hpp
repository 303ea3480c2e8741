// Whether a writer lease may have been lost while those who write under it were stopped.
//
// Its holder looks at it before a commit writes anything. Whoever is stopped after that (a job that
// is suspended, a machine that sleeps, a node that is cut off) may go on when another writer has
// taken the lease and has committed. So every rank that writes looks once more, at the record
// beside the file, where more time has passed between two writes than a rank works at one;
// also between two steps, because packing and placing lie between the look of the holder and the
// first write of a step.
#pragma once

#include <atomic>
#include <string>

#include "storage/storage.hpp"

namespace sluice::storage {

class LeaseWatch {
 public:
  /// Shorter than the time after which a lease is taken over, and as long as clients of network
  /// file systems remember a name.
  static constexpr double longest_s = 60;
  using Clock = double (*)();

  /// Of the lease of `path`, which is held now. Where its record is not seen, it never fails.
  explicit LeaseWatch(const std::string& path, Clock clock = nullptr);
  /// Before each write. Error locked if the last one, or the beginning, was longest_s ago, and the
  /// record is not the same any more. Any thread.
  void check();

 private:
  double now_s() const;

  const std::string path_;
  const Clock clock_;
  FileIdentity record_;
  std::atomic<double> last_s_ = 0;
};

}  // namespace sluice::storage
