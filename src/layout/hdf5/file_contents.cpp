#include "layout/hdf5/file_contents.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "layout/hdf5/attribute_reader.hpp"
#include "layout/hdf5/open_file.hpp"
#include "layout/hdf5/structure.hpp"
#include "layout/hdf5/virtual_sources.hpp"

namespace sluice::layout::hdf5 {

Contents contents_of(hid_t file, storage::File& holder, Profile profile, const PartSet* set) {
  Log log;
  log.is_there = true;
  log.profile = profile;
  std::optional<PartSet> indexed;
  if (set != nullptr) {
    indexed.emplace();
    indexed->variables = set->variables;
    std::vector<bool> is_mapped(set->variables.size());
    for (const Mapping& mapping : set->mappings) {  // one of a variable: there may be a million
      if (!is_mapped[mapping.variable]) {
        is_mapped[mapping.variable] = true;
        indexed->mappings.push_back(mapping);
      }
    }
  }
  const Contents recorded;  // they do not depend on what was recorded before
  OtherFiles others(holder);
  const OpenFile open{file, holder, log, recorded};
  const Structure structure = read_structure(open, others, std::move(indexed));
  std::vector<UnreadableDataset> unread;
  const AttributeReader attributes(open, structure.variables, structure.groups);
  return layout::contents_of(structure.variables, attributes.read(unread));
}

}  // namespace sluice::layout::hdf5
