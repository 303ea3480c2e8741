// Which objects of steps that were not committed may lie where new ones go: known by a listing of
// their folder, which costs less than to remove every name of every step unseen.
//
// Invariant: one that is there is among them; it is returned once.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "storage/object/bucket.hpp"

namespace sluice::storage {

class Leftovers {
 public:
  explicit Leftovers(Bucket& bucket) : bucket_(bucket) {}

  /// Those of `keys` that may be there. Any thread, as forget().
  std::vector<std::string> among(std::span<const std::string> keys);
  /// There are none.
  void note_none() { may_be_any_ = false; }
  /// A commit failed: there may be others.
  void forget();
  bool may_be_any() const { return may_be_any_; }

 private:
  /// The objects in a folder; empty: they are too many to be listed for so few.
  using Known = std::optional<std::set<std::string>>;
  Known listed(const std::string& folder, std::size_t wanted);

  Bucket& bucket_;
  std::atomic<bool> may_be_any_ = true;
  std::mutex mutex_;
  std::map<std::string, Known> folders_;
};

}  // namespace sluice::storage
