#include "layout/hdf5/part_identity.hpp"

#include <array>
#include <bit>
#include <vector>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/dataset_facts.hpp"
#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/driver.hpp"
#include "layout/hdf5/log.hpp"
#include "layout/hdf5/signature.hpp"

namespace sluice::layout::hdf5 {

std::optional<PartSet> read_set(hid_t file, const std::string& path, std::uint64_t file_bytes) {
  const QuietErrors quiet;
  if (!has_log(file, path) || !has_link(file, parts_name)) {
    return std::nullopt;
  }
  const Handle dataset = own(H5Dopen2(file, parts_name, H5P_DEFAULT), parts_name);
  const Handle space = own(H5Dget_space(dataset.get()), parts_name);
  const hssize_t points = checked(H5Sget_simple_extent_npoints(space.get()), parts_name);
  const Handle list = own(H5Dget_create_plist(dataset.get()), parts_name);
  if (static_cast<std::uint64_t>(points) > most_own_words(list.get(), file_bytes)) {
    throw Error(Code::damaged, path + ": /sluice/parts claims too many words");
  }
  std::vector<std::uint64_t> words(static_cast<std::size_t>(points));
  if (!words.empty()) {
    check(H5Dread(dataset.get(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, words.data()),
          parts_name);
  }
  return PartSet::from_words(words, path);
}

std::optional<PartSet> read_set(storage::File& file) {
  if (!begins_with_superblock(file)) {
    return std::nullopt;
  }
  const QuietErrors quiet;
  DriverState state;
  state.file = &file;
  const Handle access = access_list(state);
  const Handle hdf5 = own(H5Fopen(file.path().c_str(), H5F_ACC_RDONLY, access.get()), file.path());
  return read_set(hdf5.get(), file.path(), file.size());
}

namespace {

std::uint64_t read_id(hid_t group, const char* name, const std::string& path) {
  const auto value = read_attribute(group, name);
  const auto* number = value ? std::get_if<std::int64_t>(&*value) : nullptr;
  if (number == nullptr) {
    throw Error(Code::format, path + ": is not a part of a set that Sluice wrote");
  }
  return std::bit_cast<std::uint64_t>(*number);
}

}  // namespace

PartIdentity read_identity(storage::File& file, std::uint64_t commit) {
  const QuietErrors quiet;
  DriverState state;
  state.file = &file;
  const Handle access = access_list(state);
  const hid_t opened = H5Fopen(file.path().c_str(), H5F_ACC_RDONLY, access.get());
  if (opened < 0) {
    throw library_error(file.path() + ": cannot be opened");
  }
  const Handle hdf5(opened);
  if (!has_log(opened, file.path())) {
    throw Error(Code::format, file.path() + ": is not a part of a set that Sluice wrote");
  }
  const Handle group = own(H5Gopen2(opened, group_name, H5P_DEFAULT), file.path());
  PartIdentity identity;
  identity.set_id = read_id(group.get(), set_id_name, file.path());
  identity.part_id = read_id(group.get(), part_id_name, file.path());
  identity.index_path = read_text_attribute(group.get(), index_path_name).value_or("");
  const Handle commits = own(H5Dopen2(opened, commits_name, H5P_DEFAULT), file.path());
  const Handle space = own(H5Dget_space(commits.get()), file.path());
  const hssize_t words = checked(H5Sget_simple_extent_npoints(space.get()), file.path());
  identity.commits = static_cast<std::uint64_t>(words) / CommitRow::words;
  if (commit < identity.commits) {
    std::array<std::uint64_t, CommitRow::words> row{};
    read_rows(commits.get(), file.path(), H5T_NATIVE_UINT64, commit, {1, CommitRow::words},
              row.data());
    identity.stamp_ns = CommitRow::unpack(row).modified_ns;
  }
  return identity;
}

}  // namespace sluice::layout::hdf5
