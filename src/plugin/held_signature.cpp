#include "plugin/held_signature.hpp"

#include <algorithm>
#include <exception>
#include <iterator>

#include "layout/hdf5/signature.hpp"

namespace sluice::plugin {

namespace {

/// Calls `action` with the places in both ranges, and the number of bytes.
template <class Action>
void where_both(std::uint64_t one, std::uint64_t one_bytes, std::uint64_t other,
                std::uint64_t other_bytes, Action&& action) {
  const std::uint64_t first = std::max(one, other);
  const std::uint64_t last = std::min(one + one_bytes, other + other_bytes);
  if (first < last) {
    action(first - one, first - other, last - first);
  }
}

}  // namespace

std::span<const std::byte> HeldSignature::without(std::uint64_t offset,
                                                  std::span<const std::byte> bytes,
                                                  std::vector<std::byte>& room) {
  const std::uint64_t end = offset + bytes.size();
  using layout::hdf5::signature;
  for (std::uint64_t at = 0; at + signature.size() <= end;
       at = layout::hdf5::next_signature_place(at)) {
    if (at >= offset &&
        std::ranges::equal(bytes.subspan(at - offset, signature.size()), signature)) {
      held_.try_emplace(at);
    }
  }
  for (auto& [at, held] : held_) {
    where_both(at, held.size(), offset, bytes.size(), [&](auto in_held, auto in_bytes, auto count) {
      if (room.empty()) {
        room.assign(bytes.begin(), bytes.end());
      }
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(in_bytes), count,
                  held.begin() + static_cast<std::ptrdiff_t>(in_held));
      std::fill_n(room.begin() + static_cast<std::ptrdiff_t>(in_bytes), count, std::byte{});
    });
  }
  return room.empty() ? bytes : std::span<const std::byte>(room);
}

void HeldSignature::read_over(std::uint64_t offset, std::span<std::byte> bytes) const {
  for (const auto& [at, held] : held_) {
    where_both(at, held.size(), offset, bytes.size(), [&](auto in_held, auto in_bytes, auto count) {
      std::copy_n(held.begin() + static_cast<std::ptrdiff_t>(in_held), count,
                  bytes.begin() + static_cast<std::ptrdiff_t>(in_bytes));
    });
  }
}

/// The first place counts: it is the last to be written.
void HeldSignature::write_to(storage::File& file) const {
  for (auto entry = held_.rbegin(); entry != held_.rend(); ++entry) {
    file.write(entry->first, entry->second);
  }
}

void HeldSignature::take_from(storage::File& file) const noexcept {
  try {
    for (const auto& [at, held] : held_) {
      file.write(at, Bytes{});
    }
  } catch (const std::exception&) {
    // all else of that commit is in the file
  }
}

void HeldSignature::end() noexcept {
  is_held_ = false;
  held_.clear();
}

}  // namespace sluice::plugin
