// Which datasets and groups a file has, under which names, and what they are.
//
// Invariants: the groups of steps are not entered, as their number has no bound; prototypes
// describe them. A dataset with several names is read once. One that fails to be read is an Error
// if the last commit says that it is Sluice's, and so is an unreadable link in a file of Sluice.
// All else that is no variable is listed with its reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout/catalog.hpp"
#include "layout/hdf5/array_reader.hpp"
#include "layout/hdf5/open_file.hpp"
#include "layout/hdf5/virtual_sources.hpp"
#include "layout/part_set.hpp"

namespace sluice::layout::hdf5 {

struct Structure {
  std::vector<StoredVariable> variables;
  std::vector<Arrangement> arrangements;  ///< one for each variable
  std::vector<UnreadableDataset> unreadable;
  std::vector<Growing> growing;
  std::vector<std::string> groups;        ///< without the library's own
  std::vector<std::string> empty_groups;  ///< those of them with nothing in them
  std::vector<UnreadableDataset> committed_types;
  std::optional<PartSet> set;  ///< without the variables that the file itself holds
  std::uint64_t steps = 0;
  std::vector<std::string> lacking;  ///< Catalog::lacking()
  bool has_time = false;
};

/// `set`: the set that the file indexes, if any.
Structure read_structure(const OpenFile& file, OtherFiles& others, std::optional<PartSet> set);

}  // namespace sluice::layout::hdf5
