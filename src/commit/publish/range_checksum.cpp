#include "commit/publish/range_checksum.hpp"

#include <algorithm>
#include <vector>

#include "codec/checksum.hpp"

namespace sluice::commit {

std::optional<std::uint64_t> range_checksum(storage::File& file, std::uint64_t offset,
                                            std::uint64_t length, const VisitPiece& visit) {
  constexpr std::uint64_t most_read_bytes = 1 << 20;
  codec::Checksum digest;
  std::vector<std::byte> piece;
  for (std::uint64_t done = 0; done < length; done += piece.size()) {
    piece.resize(std::min(most_read_bytes, length - done));
    if (file.read(offset + done, piece) != piece.size()) {
      return std::nullopt;
    }
    digest.update(piece);
    if (visit) {
      visit(offset + done, piece);
    }
  }
  return digest.value();
}

}  // namespace sluice::commit
