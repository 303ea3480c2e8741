#include "exec/read/window_reader.hpp"

namespace sluice::exec {

using layout::Piece;
using layout::RunList;

namespace {

/// Gaps up to this are read rather than jumped over.
constexpr std::uint64_t short_gap_bytes = 32 << 10;

}  // namespace

Range window_of(const ReadMap& map, std::size_t reader, std::uint64_t round) {
  const std::uint64_t begin = map.bounds[reader];
  const std::uint64_t end = map.bounds[reader + 1];
  const std::uint64_t first = std::min(end, begin + round * map.window_bytes);
  return {first, std::min(end, first + map.window_bytes)};
}

WindowReader::WindowReader(storage::File& file, const layout::Placement& placement,
                           const ReadMap& map, std::size_t index, std::vector<Share> shares,
                           std::span<const CheckedPiece> records, ReadBuffers& buffers)
    : file_(file),
      map_(map),
      index_(index),
      shares_(std::move(shares)),
      buffers_(buffers),
      needed_(map.window_bytes) {
  buffers_.window.resize(std::max<std::size_t>(buffers_.window.size(), map.window_bytes));
  select_records(placement, records);
}

void WindowReader::read(std::uint64_t round, bool failed) {
  window_ = window_of(map_, index_, round);
  needed_.clear();
  if (!failed) {
    mark_needed();
  }
  file_.read_together(needed_pieces());
  if (!failed) {
    check_records();
  }
}

std::vector<storage::ReadPiece> WindowReader::needed_pieces() {
  std::vector<storage::ReadPiece> pieces;
  const std::uint64_t end = window_.last - window_.first;
  for (std::uint64_t from = needed_.find(true, 0, end); from < end;) {
    std::uint64_t to = needed_.find(false, from, end);
    std::uint64_t next = needed_.find(true, to, end);
    while (next < end && next - to <= short_gap_bytes) {
      to = needed_.find(false, next, end);
      next = needed_.find(true, to, end);
    }
    pieces.push_back({window_.first + from, std::span(buffers_.window).subspan(from, to - from)});
    from = next;
  }
  return pieces;
}

void WindowReader::select_records(const layout::Placement& placement,
                                  std::span<const CheckedPiece> records) {
  for (std::size_t r = 0; r < records.size(); ++r) {
    const Piece& piece = records[r].piece;
    RunList runs(placement, piece);
    if (runs.begin() < map_.bounds[index_] || runs.begin() >= map_.bounds[index_ + 1]) {
      continue;
    }
    const bool is_wanted = std::any_of(shares_.begin(), shares_.end(), [&](const Share& share) {
      return std::any_of(share.pieces.begin(), share.pieces.end(), [&](const Piece& part) {
        return part.tile_index == piece.tile_index && model::intersect(part.box, piece.box);
      });
    });
    if (is_wanted) {
      records_.push_back({r, runs, records[r].checksum, nullptr});
    }
  }
  std::sort(records_.begin(), records_.end(),
            [](const Running& a, const Running& b) { return a.runs.begin() < b.runs.begin(); });
}

void WindowReader::mark(const RunList& runs) {
  runs.for_each_within(window_.first, window_.last,
                       [&](std::uint64_t offset, std::uint64_t, std::uint64_t length) {
                         needed_.set(offset - window_.first, length);
                       });
}

void WindowReader::mark_needed() {
  for (const Share& share : shares_) {
    share.for_each(window_,
                   [&](std::size_t i, std::uint64_t, std::uint64_t) { mark(share.runs[i]); });
  }
  for_each_record([&](const Running& record) { mark(record.runs); });
}

void WindowReader::check_records() {
  for_each_record([&](Running& record) {
    if (!record.under_way) {
      record.under_way = std::make_unique<codec::Checksum>();
    }
    record.runs.for_each_within(
        window_.first, window_.last,
        [&](std::uint64_t offset, std::uint64_t, std::uint64_t length) {
          record.under_way->update(
              std::span(buffers_.window).subspan(offset - window_.first, length));
        });
    if (record.runs.end() <= window_.last) {
      if (record.under_way->value() != record.checksum) {
        mismatches_.push_back(record.record);
      }
      record.under_way.reset();
    }
  });
  while (done_ < records_.size() && records_[done_].runs.end() <= window_.last) {
    ++done_;
  }
}

std::uint64_t bytes_from_disk(const layout::Placement& placement, const Piece& piece) {
  const RunList runs(placement, piece);
  if (runs.count() == 0) {
    return 0;
  }
  const std::uint64_t span = runs.end() - runs.begin();
  const std::uint64_t gaps = span - runs.bytes();
  return gaps / runs.count() <= short_gap_bytes ? span : runs.bytes();
}

}  // namespace sluice::exec
