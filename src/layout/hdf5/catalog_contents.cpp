// What a file contains: the list that is written with each commit that changes it and compared on
// reading, and what is no variable.
#include <bit>
#include <vector>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/catalog.hpp"
#include "layout/hdf5/step_groups.hpp"
#include "layout/hdf5/types.hpp"

namespace sluice::layout::hdf5 {

Contents Catalog::contents_of(hid_t file, storage::File& holder, Profile profile,
                              const PartSet* set) {
  Catalog catalog;
  catalog.state_.file = &holder;
  catalog.hdf5_ = Handle(file);
  catalog.ours_ = true;
  catalog.profile_ = profile;
  if (set != nullptr) {
    catalog.set_.emplace();
    catalog.set_->variables = set->variables;
    catalog.set_->mappings = set->mappings;  // its only purpose
  }
  Contents contents;
  try {
    catalog.list_datasets();
    contents = catalog.contents(catalog.attributes());
  } catch (...) {
    catalog.hdf5_.release();  // the caller's
    throw;
  }
  catalog.hdf5_.release();
  return contents;
}

std::vector<UnreadableDataset> Catalog::other_objects() {
  std::vector<UnreadableDataset> all = others_;
  for (const std::string& group : groups_) {
    if (used_groups_.count(group) == 0 && !has_attributes(object_of(group))) {
      all.push_back({group, "an empty group"});
    }
  }
  const StepGroups steps(*this);
  const std::vector<NamedLink> links = steps.others(hdf5_.get());
  std::set<std::string> filled;
  for (const NamedLink& link : links) {
    filled.insert(link.path.substr(0, link.path.rfind('/')));
  }
  for (const NamedLink& link : links) {
    if (link.target != Target::group) {
      all.push_back({link.path, "of another program, in the group of a step"});
    } else if (filled.count(link.path) == 0 &&
               !(steps.has_standard() && has_attributes(link.path))) {
      all.push_back({link.path, "an empty group of another program, in the group of a step"});
    }
  }
  if (!steps.has_standard()) {
    steps.visit_attributes(hdf5_.get(), [&](const std::string& path, const std::string& name) {
      all.push_back({path + ": attribute " + name, "of another program, in the group of a step"});
    });
  }
  return all;
}

void Catalog::write_contents(hid_t file, const Contents& contents) {
  std::vector<std::int64_t> words;
  words.reserve(2 * contents.size());
  for (const auto& [key, value] : contents) {
    words.push_back(std::bit_cast<std::int64_t>(key));
    words.push_back(std::bit_cast<std::int64_t>(value));
  }
  const Handle group = own(H5Gopen2(file, group_name, H5P_DEFAULT), group_name);
  write_attribute(group.get(), contents_attribute, words);
}

Contents Catalog::read_contents(hid_t group, const std::string& path) {
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
