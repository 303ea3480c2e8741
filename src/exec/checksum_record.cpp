#include "exec/checksum_record.hpp"

#include <algorithm>

#include "codec/checksum.hpp"
#include "layout/portion.hpp"

namespace sluice::exec {

namespace {

constexpr int rank_shift = 8;
constexpr int proof_shift = 32;
constexpr std::uint64_t dimension_bits = 0xff;

/// The CRC of a record, whose header has none yet.
std::uint64_t proof_of(std::span<const std::uint64_t> record) {
  return std::uint64_t{codec::crc32c(std::as_bytes(record))} << proof_shift;
}

}  // namespace

void ChecksumRecord::append_to(std::vector<std::uint64_t>& words) const {
  const std::size_t first = words.size();
  words.push_back(name_hash);
  words.push_back(static_cast<std::uint64_t>(box.start.rank()) |
                  std::uint64_t{std::min(rank, nobody)} << rank_shift);
  words.insert(words.end(), box.start.begin(), box.start.end());
  words.insert(words.end(), box.count.begin(), box.count.end());
  words.push_back(checksum);
  words[first + 1] |= proof_of(std::span(words).subspan(first));
}

std::optional<ChecksumRecord> ChecksumRecord::take_from(std::span<const std::uint64_t> words,
                                                        std::size_t& at) {
  const std::size_t left = words.size() - at;
  const std::uint64_t head = left >= 2 ? words[at + 1] : dimension_bits;
  const std::uint64_t dimensions = head & dimension_bits;
  if (dimensions > model::max_rank || left < layout::record_words(static_cast<int>(dimensions))) {
    return std::nullopt;
  }
  const auto found = words.subspan(at, layout::record_words(static_cast<int>(dimensions)));
  std::vector<std::uint64_t> unproven(found.begin(), found.end());
  unproven[1] &= (1ULL << proof_shift) - 1;
  if ((unproven[1] | proof_of(unproven)) != head) {
    return std::nullopt;
  }
  ChecksumRecord record;
  record.name_hash = found.front();
  record.checksum = found.back();
  record.rank = static_cast<std::uint32_t>(unproven[1] >> rank_shift);
  for (std::uint64_t d = 0; d < dimensions; ++d) {
    record.box.start.push_back(found[2 + d]);
    record.box.count.push_back(found[2 + dimensions + d]);
  }
  at += found.size();
  return record;
}

}  // namespace sluice::exec
