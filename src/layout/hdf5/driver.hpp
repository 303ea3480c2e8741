// The planner driver: a virtual file driver through which the ordinary serial libhdf5 plans a file
// without writing it.
//
// Invariants:
// - Nothing is written to the storage (except with is_direct). Metadata goes to the overlay; raw
// data that libhdf5 "writes" from the placeholder buffer is dropped and only its address recorded.
// What is dropped is recognised by pointer, never by type: variable-length strings and small
// H5Dwrites carry the raw type too.
// - Raw space handed out never lies below the frontier (the end of what any committed state may
//   use) and never intersects the overlay: both are checked at every note, always.
// - The end of allocation never falls below the frontier.
// - Reads into the placeholder are noted and not carried out; all others see storage + what is
//   under way + overlay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "layout/hdf5/handle.hpp"
#include "layout/hdf5/library.hpp"
#include "layout/placement.hpp"
#include "model/overlay.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::hdf5 {

/// Address space that represents raw data which this process does not hold. Mapped, never touched.
class Placeholder {
 public:
  Placeholder() = default;
  ~Placeholder();
  Placeholder(const Placeholder&) = delete;
  Placeholder& operator=(const Placeholder&) = delete;

  /// At least `bytes` long from here on.
  void* reserve(std::uint64_t bytes);
  bool holds(const void* at) const noexcept;

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// The driver's state for one file. Must outlive every HDF5 file opened through it.
struct DriverState {
  storage::File* file = nullptr;
  bool writable = false;
  /// All that libhdf5 writes goes directly to the storage: the file is made, not planned.
  bool is_direct = false;
  /// The storage in which files that this one refers to are opened for reading; null: none are.
  storage::Storage* others = nullptr;
  std::unique_ptr<storage::File> own = nullptr;  ///< `file`, where another one refers to it
  model::Overlay overlay;
  /// Of earlier commits that are not in the storage yet, in order.
  std::deque<model::Overlay> under_way;
  Placeholder placeholder;
  std::optional<Extent> noted;  ///< the last raw extent that was dropped
  std::uint64_t frontier = 0;
  std::uint64_t end_of_allocation = 0;
  std::uint64_t end_of_file = 0;  ///< of the storage when it was opened, or of what was planned
                                  ///< since
  std::string failure;            ///< why a callback failed; "" if none did

  /// The extent recorded since the last call; Error internal if there is none or its size differs
  /// from `bytes`. `what` names the variable for the message.
  Extent take_noted(std::uint64_t bytes, const std::string& what);
};

/// A file access property list that opens files through `state`.
Handle access_list(DriverState& state);

}  // namespace sluice::layout::hdf5
