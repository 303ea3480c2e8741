// The contents of new files that began alike: a program that writes one file a step defines the
// same in each, and reading that back through libhdf5 takes longer than writing it.
//
// Invariant: what is kept was read back from a file whose first commit had the same definitions and
// the same attributes but for their values, each of which the file returned as it was given.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "layout/catalog.hpp"
#include "layout/hdf5/profile.hpp"
#include "model/definition.hpp"

namespace sluice::layout::hdf5 {

/// What the first commit of a new file made.
struct FirstCommit {
  Profile profile = Profile::stacked;
  bool has_time = false;
  std::vector<model::Definition> definitions;  ///< only those that exist now
  std::vector<model::Attribute> attributes;
};

/// Those of a process; any thread may call.
class KnownContents {
 public:
  static KnownContents& of_process();
  /// Empty if no file that is known began like this one.
  std::optional<Contents> find(const FirstCommit& commit);
  /// `contents`: as read back. Not kept if they show an attribute otherwise than it was given.
  void keep(FirstCommit commit, const Contents& contents);

 private:
  struct Known {
    FirstCommit commit;
    Contents contents;
  };
  std::mutex mutex_;
  std::deque<Known> known_;  ///< the last one used first
};

}  // namespace sluice::layout::hdf5
