#include "plugin/held_runs.hpp"

namespace sluice::plugin {

HeldRuns::HeldRuns(commit::JournalRuns& record, const HeldWrites& held)
    : record_(record), held_(held) {
  pieces_ = record.pieces();
  runs_ = record.runs();
  commit_ = record.commit();
  end_ = record.end();
  modified_ns_ = record.modified_ns();
}

std::span<const std::byte> HeldRuns::before(const Piece& piece, std::vector<std::byte>& buffer) {
  return record_.before(piece, buffer);
}

std::uint64_t HeldRuns::before_checksum(const Piece& piece) {
  return record_.before_checksum(piece);
}

std::span<const std::byte> HeldRuns::after(const Piece& piece, std::vector<std::byte>& buffer) {
  const auto held = held_.view(piece.offset, piece.length);
  return held.empty() ? record_.after(piece, buffer) : held;
}

}  // namespace sluice::plugin
