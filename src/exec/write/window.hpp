// A window of a writer's own space during assembly.
//
// Invariants: memory is one staging buffer (or the caller's) and a bit for each of its bytes;
// exactly the bytes that arrived are written, so holes of the window are not changed in the file;
// the next window is filled while the previous one is written; after a failure nothing more is
// written, but the bytes of the other ranks are still received.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "exec/write/write_behind.hpp"
#include "layout/runs.hpp"
#include "model/bits.hpp"
#include "plan/tile_map.hpp"
#include "storage/storage.hpp"

namespace sluice::exec {

using Stretches = std::vector<plan::Stretch>;

/// Calls visit(stretch, packed_from, packed_to) for the bytes of `runs` in the stretches,
/// ascending.
template <class Visit>
void for_each_part(const layout::RunList& runs, const Stretches& window, Visit&& visit) {
  auto at = std::partition_point(window.begin(), window.end(), [&](const plan::Stretch& stretch) {
    return stretch.offset + stretch.length <= runs.begin();
  });
  for (; at != window.end() && at->offset < runs.end(); ++at) {
    const std::uint64_t from = runs.packed_before(at->offset);
    const std::uint64_t to = runs.packed_before(at->offset + at->length);
    if (from != to) {
      visit(*at, from, to);
    }
  }
}

/// The number of packed bytes of `runs` in the window.
std::uint64_t bytes_in(const layout::RunList& runs, const Stretches& window);

/// Receives the bytes of windows in place of a file: one window at position 0 of the own space, in
/// memory that outlives it.
struct WindowMemory {
  std::byte* bytes;
  model::Bits& came;
};

class Window {
 public:
  /// file and writer must outlive it. `is_left_to_writer`: ended by leave(), never by finish().
  Window(storage::File& file, WriteBehind& writer, bool is_left_to_writer = false);
  explicit Window(const WindowMemory& memory);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  /// Before a round that others take part in: has the memory of the next window.
  void prepare();
  /// Begins the window of `stretches`, whose first byte is at position `own` of the own space.
  void begin(const Stretches& stretches, std::uint64_t own);
  /// Address of a byte of the own space inside the window.
  std::byte* at(std::uint64_t own) { return data_ + (own - own_); }
  /// Copies the packed bytes [from, ...) of `runs` to their positions.
  void place(const layout::RunList& runs, const plan::Stretch& stretch,
             std::span<const std::byte> bytes);
  /// [own, own + length) was written to memory in another way.
  void outcome(std::uint64_t own, std::uint64_t length);
  /// Passes the bytes that arrived to the file.
  void end();
  /// On return everything is written; or throws the first failure.
  void finish();
  /// On return everything has been passed to the writer; a failure of this window is thrown,
  /// failures of the writing go to the next task of the writer.
  void leave();
  bool failed() const noexcept { return failure_ != nullptr; }
  std::uint64_t bytes_written() const noexcept { return bytes_written_; }

 private:
  std::vector<storage::WritePiece> pieces();

  storage::File* file_ = nullptr;  ///< nullptr: the bytes stay in memory
  WriteBehind* writer_ = nullptr;
  Staging* staging_ = nullptr;
  std::byte* data_ = nullptr;  ///< of the current window
  Stretches stretches_;
  std::uint64_t own_ = 0;
  model::Bits own_came_;
  model::Bits& came_;
  std::uint64_t bytes_written_ = 0;
  bool is_left_to_writer_ = false;
  std::exception_ptr failure_;
};

}  // namespace sluice::exec
