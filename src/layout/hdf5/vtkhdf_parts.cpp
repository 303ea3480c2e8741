#include "layout/hdf5/vtkhdf_parts.hpp"

#include <algorithm>

#include "layout/hdf5/datasets.hpp"
#include "layout/placement.hpp"
#include "layout/vtkhdf/rules.hpp"

namespace sluice::layout::hdf5 {

namespace {

/// Of a step: 128 MiB of numbers.
constexpr std::uint64_t most_parts = 16ULL << 20;

/// Elements [first, first + count) of a list that another program may have written, too; fewer
/// where it ends before, none where there is no such list. Nothing else is read: the parts of all
/// steps may be more than memory holds.
std::vector<std::uint64_t> numbers_of(hid_t file, const std::string& path, std::uint64_t first,
                                      std::uint64_t count) {
  if (!has_link(file, path)) {
    return {};
  }
  const Handle list = own(H5Dopen2(file, path.c_str(), H5P_DEFAULT), path);
  const std::uint64_t length = dims_of(list.get(), 1, path)[0];
  std::vector<std::uint64_t> numbers(first < length ? std::min(count, length - first) : 0);
  if (numbers.empty()) {
    return numbers;
  }
  read_rows(list.get(), path, H5T_NATIVE_UINT64, first, {numbers.size()}, numbers.data());
  return numbers;
}

}  // namespace

std::vector<std::uint64_t> parts_of_array(const OpenFile& file, const std::string& name,
                                          std::uint64_t step) {
  const QuietErrors quiet;
  const std::size_t slash = name.rfind('/');
  const std::string last = name.substr(slash + 1);
  const bool is_known =
      last == "Points" || last == "Types" || last == "Offsets" || last == "Connectivity";
  if (file.log.profile != Profile::vtkhdf || !vtkhdf::is_array(name) || !is_known ||
      name.find("Data/") != std::string::npos) {
    return {};
  }
  const std::string counts =
      name.substr(0, slash + 1) + (last == "Points"         ? "NumberOfPoints"
                                   : last == "Connectivity" ? "NumberOfConnectivityIds"
                                                            : "NumberOfCells");
  std::vector<std::uint64_t> rows;
  bool is_whole = true;
  if (file.log.steps == 0) {
    rows = numbers_of(file.hdf5, counts, 0, most_parts + 1);
    is_whole = rows.size() <= most_parts;
  } else {
    const std::string steps = std::string(vtkhdf::steps_group) + "/";
    const std::vector<std::uint64_t> firsts = numbers_of(file.hdf5, steps + "PartOffsets", step, 1);
    const std::vector<std::uint64_t> of_step =
        numbers_of(file.hdf5, steps + "NumberOfParts", step, 1);
    const std::uint64_t count = of_step.empty() ? 0 : of_step[0];
    rows = numbers_of(file.hdf5, counts, firsts.empty() ? absent : firsts[0],
                      std::min(count, most_parts));
    is_whole = rows.size() == count;
  }
  if (!is_whole) {
    throw Error(Code::damaged, file.path() + ": " + counts + ": step " + std::to_string(step) +
                                   " has parts that are not there");
  }
  if (last == "Offsets") {  // one more than there are cells
    std::for_each(rows.begin(), rows.end(), [](std::uint64_t& cells) { ++cells; });
  }
  return rows;
}

}  // namespace sluice::layout::hdf5
