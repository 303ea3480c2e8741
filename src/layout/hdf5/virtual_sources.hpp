// The files that a file refers to: the sources of virtual datasets that another program made.
// Sluice's own sets are read part by part; these are read by libhdf5.
#pragma once

#include <memory>
#include <string>

#include "layout/hdf5/driver.hpp"
#include "layout/hdf5/handle.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::hdf5 {

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
