#include "layout/hdf5/contents.hpp"

#include <bit>
#include <variant>
#include <vector>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/log.hpp"

namespace sluice::layout::hdf5 {

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
