#include "sluice/error.hpp"
#include "storage/storage.hpp"

namespace sluice::storage {

void File::read_collective(std::span<const ReadPiece> pieces) {
  for (const ReadPiece& piece : pieces) {
    const std::size_t got = read(piece.offset, piece.bytes);
    if (got != piece.bytes.size()) {
      throw Error(Code::truncated, path() + ": ends at " + std::to_string(piece.offset + got) +
                                       ", " + std::to_string(piece.bytes.size() - got) +
                                       " bytes short");
    }
  }
}

}  // namespace sluice::storage
