#include "layout/catalog.hpp"

#include <bit>

#include "codec/checksum.hpp"
#include "sluice/error.hpp"

namespace sluice::layout {

namespace {

/// Of all words of a row but the last. Never 0, which says that there is none.
std::uint64_t checksum_of(std::span<const std::uint64_t, CommitRow::words> row) {
  const std::uint64_t checksum = codec::checksum(std::as_bytes(row.first<CommitRow::words - 1>()));
  return checksum == 0 ? 1 : checksum;
}

}  // namespace

std::array<std::uint64_t, CommitRow::words> CommitRow::pack() const {
  std::array<std::uint64_t, words> row{step, std::bit_cast<std::uint64_t>(time), first_word,
                                       word_count, static_cast<std::uint64_t>(modified_ns)};
  row.back() = checksum_of(row);
  return row;
}

CommitRow CommitRow::unpack(std::span<const std::uint64_t, words> row) {
  const auto modified_ns = static_cast<std::int64_t>(row[4]);
  // A row that was never written is zero all over; every commit has a time of modification.
  const bool is_intact = row.back() == 0 ? modified_ns != 0 : row.back() == checksum_of(row);
  return {row[0], std::bit_cast<double>(row[1]), row[2], row[3], modified_ns, is_intact};
}

void Catalog::require_intact_log(const std::string& path, const std::string& remedy) const {
  for (std::size_t c = 0; c < commits_.size(); ++c) {
    if (!commits_[c].is_intact) {
      throw Error(Code::damaged, path + ": the log of commits is damaged: row " +
                                     std::to_string(c) + " does not match its checksum: " + remedy);
    }
  }
}

EncodedTiles Catalog::locate_encoded(std::uint32_t, std::uint64_t, const model::Box&) {
  throw Error(Code::internal, std::string(format()) + ": holds no encoded tiles");
}

}  // namespace sluice::layout
