#include "commit/publish/journal_tail.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "codec/checksum.hpp"

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
  constexpr std::uint64_t piece_bytes = 1 << 20;
  const std::uint64_t size = file.size();
  if (size < end) {
    return false;
  }
  codec::Checksum digest;
  std::vector<std::byte> piece;
  for (const FreshExtent& extent : tail.fresh) {
    if (extent.offset > size || extent.length > size - extent.offset) {
      return false;
    }
    digest.restart();
    for (std::uint64_t done = 0; done < extent.length; done += piece.size()) {
      piece.resize(std::min(piece_bytes, extent.length - done));
      if (file.read(extent.offset + done, piece) != piece.size()) {
        return false;
      }
      digest.update(piece);
    }
    if (digest.value() != extent.checksum) {
      return false;
    }
  }
  return true;
}

}  // namespace sluice::commit
