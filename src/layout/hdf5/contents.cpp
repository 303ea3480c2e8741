#include "layout/hdf5/contents.hpp"

#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "layout/hdf5/attribute_reader.hpp"
#include "layout/hdf5/attributes.hpp"
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
    indexed->mappings = set->mappings;
  }
  const Contents recorded;  // they do not depend on what was recorded before
  OtherFiles others(holder);
  const OpenFile open{file, holder, log, recorded};
  const Structure structure = read_structure(open, others, std::move(indexed));
  std::vector<UnreadableDataset> unread;
  const AttributeReader attributes(open, structure.variables, structure.groups);
  return layout::contents_of(structure.variables, attributes.read(unread));
}

void write_contents(hid_t file, const Contents& contents) {
  std::vector<std::int64_t> words;
  words.reserve(2 * contents.size());
  for (const auto& [key, value] : contents) {
    words.push_back(std::bit_cast<std::int64_t>(key));
    words.push_back(std::bit_cast<std::int64_t>(value));
  }
  const Handle group = own(H5Gopen2(file, group_name, H5P_DEFAULT), group_name);
  write_attribute(group.get(), contents_attribute, words);
}

Contents read_contents(hid_t group, const std::string& path) {
  const auto value = read_attribute(group, contents_attribute);
  const auto* words = value ? std::get_if<std::vector<std::int64_t>>(&*value) : nullptr;
  if (words == nullptr || words->size() % 2 != 0) {
    throw Error(Code::damaged, path + ": /sluice has no list of contents");
  }
  Contents contents;
  for (std::size_t at = 0; at < words->size(); at += 2) {
    contents[std::bit_cast<std::uint64_t>((*words)[at])] =
        std::bit_cast<std::uint64_t>((*words)[at + 1]);
  }
  return contents;
}

}  // namespace sluice::layout::hdf5
