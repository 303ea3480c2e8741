// The files that a file refers to: the sources of virtual datasets that another program made.
// Sluice's own sets are read part by part; these are read by libhdf5.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "layout/hdf5/driver.hpp"
#include "layout/hdf5/handle.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::hdf5 {

/// What stands in the way of reading a virtual dataset. libhdf5 reads what it cannot open as the
/// fill value, without an error.
class SourceSearch {
 public:
  explicit SourceSearch(storage::Storage& storage) : storage_(storage) {}

  /// The first source of the dataset with the creation list `list` in the file `path` that
  /// libhdf5 will not find, and why; "" if none. Also the sources of its sources.
  std::string missing(hid_t list, const std::string& path);

 private:
  using Source = std::pair<std::string, std::string>;  // file and dataset

  std::string missing_below(const Source& source, const std::string& path);
  std::string missing_dataset(storage::File& file, const Source& source);

  storage::Storage& storage_;
  std::set<std::string> seen_;  ///< folder, file and dataset of sources that are there
  std::vector<Source> above_;   ///< virtual datasets whose sources are being looked at
  std::size_t nested_ = 0;      ///< sources of sources that were looked at
};

/// A name that may stand for many, as libhdf5 reads it: "%b" is the number of a block, "%%" is "%".
struct SourceName {
  std::string text;
  bool is_pattern = false;  ///< has a "%b"
};
SourceName source_name(const std::string& stored);

/// Opens none of them before it is asked.
class OtherFiles {
 public:
  /// `file`, which must outlive the object, refers to them.
  explicit OtherFiles(storage::File& file) : file_(file) {}

  /// The source of a virtual dataset that is missing, for messages; "" if none is. libhdf5 would
  /// read it as the fill value. `list`: the dataset's creation list.
  std::string missing_source(hid_t list);
  /// The file as libhdf5 alone opens it, together with those that it refers to.
  hid_t with_others();

 private:
  storage::Storage& source_storage();

  storage::File& file_;
  std::shared_ptr<storage::Storage> storage_;
  DriverState state_;
  Handle opened_;
};

}  // namespace sluice::layout::hdf5
