#include "commit/publish/journal_tail.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "commit/publish/range_checksum.hpp"

namespace sluice::commit {

static_assert(sizeof(FreshExtent) == 3 * sizeof(std::uint64_t));

std::vector<std::byte> JournalTail::to_bytes() const {
  const std::uint64_t count = fresh.size();
  const auto extents = std::as_bytes(std::span(fresh));
  const auto last = std::as_bytes(std::span(&count, 1));
  std::vector<std::byte> out(extents.begin(), extents.end());
  out.insert(out.end(), last.begin(), last.end());
  return out;
}

std::uint64_t JournalTail::size_bytes() const {
  return sizeof(std::uint64_t) + fresh.size() * sizeof(FreshExtent);
}

std::optional<std::uint64_t> tail_bytes(std::span<const std::byte> last, std::uint64_t room_bytes) {
  std::uint64_t count = 0;
  if (last.size() < sizeof count || room_bytes < sizeof count) {
    return std::nullopt;
  }
  std::memcpy(&count, last.last(sizeof count).data(), sizeof count);
  if (count > (room_bytes - sizeof count) / sizeof(FreshExtent)) {
    return std::nullopt;
  }
  return sizeof count + count * sizeof(FreshExtent);
}

std::optional<JournalTail> read_tail(storage::File& journal, std::uint64_t end,
                                     std::uint64_t room_bytes) {
  std::array<std::byte, sizeof(std::uint64_t)> last{};
  if (room_bytes < last.size() || journal.read(end - last.size(), last) != last.size()) {
    return std::nullopt;
  }
  const auto length = tail_bytes(last, room_bytes);
  if (!length) {
    return std::nullopt;
  }
  JournalTail tail;
  tail.fresh.resize((*length - last.size()) / sizeof(FreshExtent));
  const auto bytes = std::as_writable_bytes(std::span(tail.fresh));
  const bool is_read = journal.read(end - *length, bytes) == bytes.size();
  return is_read ? std::optional(std::move(tail)) : std::nullopt;
}

bool has_fresh(storage::File& file, const JournalTail& tail, std::uint64_t end) {
  const std::uint64_t size = file.size();
  return size >= end && std::ranges::all_of(tail.fresh, [&](const FreshExtent& extent) {
           return extent.offset <= size && extent.length <= size - extent.offset &&
                  range_checksum(file, extent.offset, extent.length) == extent.checksum;
         });
}

}  // namespace sluice::commit
