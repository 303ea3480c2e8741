// A writer's window of its own space while it is assembled.
//
// Invariants: memory is one staging buffer (or the caller's) and a bit for each of its bytes;
// exactly the bytes that came are written, so holes of the window stay as they are in the file; the
// next window is filled while the one before is written; after a failure nothing more is written,
// but the others' bytes are still taken.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "exec/notify/bits.hpp"
#include "exec/write/write_behind.hpp"
#include "layout/runs.hpp"
#include "plan/tile_map.hpp"
#include "storage/storage.hpp"

namespace sluice::exec {

using Stretches = std::vector<plan::Stretch>;

/// Calls visit(stretch, packed_from, packed_to) for what `runs` have in the stretches, ascending.
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

/// Packed bytes that `runs` have in the window.
std::uint64_t bytes_in(const layout::RunList& runs, const Stretches& window);

/// Takes the bytes of windows in place of a file: one window at own place 0, in memory that
/// outlives it.
struct WindowMemory {
  std::byte* bytes;
  Bits& came;
};

class Window {
 public:
  /// `bytes`: the longest window. file and writer must outlive it. `is_left_to_writer`: ended by
  /// leave(), never by finish().
  Window(storage::File& file, WriteBehind& writer, std::uint64_t bytes,
         bool is_left_to_writer = false);
  explicit Window(const WindowMemory& memory);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  /// Begins the window of `stretches`, whose first byte stands at `own` of the own space.
  void begin(const Stretches& stretches, std::uint64_t own);
  /// Memory of a byte of the own space inside the window.
  std::byte* at(std::uint64_t own) { return data_ + (own - own_); }
  /// Puts the packed bytes [from, ...) of `runs` in their places.
  void place(const layout::RunList& runs, const plan::Stretch& stretch,
             std::span<const std::byte> bytes);
  /// [own, own + length) was written into memory by another way.
  void outcome(std::uint64_t own, std::uint64_t length);
  /// Gives what came to the file.
  void end();
  /// Everything is written, or the first failure is thrown.
  void finish();
  /// Everything is on its way; a failure of this window is thrown, those of the writing come to the
  /// next task of the writer.
  void leave();
  bool failed() const noexcept { return failure_ != nullptr; }
  std::uint64_t bytes_written() const noexcept { return bytes_written_; }

 private:
  std::vector<storage::WritePiece> pieces();

  storage::File* file_ = nullptr;  ///< nullptr: the bytes stay in memory
  WriteBehind* writer_ = nullptr;
  Staging* staging_ = nullptr;
  std::byte* data_ = nullptr;  ///< of the window under way
  Stretches stretches_;
  std::uint64_t own_ = 0;
  Bits own_came_;
  Bits& came_;
  std::uint64_t bytes_written_ = 0;
  bool is_left_to_writer_ = false;
  std::exception_ptr failure_;
};

}  // namespace sluice::exec
