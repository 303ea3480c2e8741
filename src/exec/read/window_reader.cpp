#include "exec/read/window_reader.hpp"

#include <cstring>

#include "model/box_tree.hpp"

namespace sluice::exec {

using layout::Piece;
using layout::RunList;

namespace {

/// Gaps up to this are read rather than skipped.
constexpr std::uint64_t short_gap_bytes = 32 << 10;

}  // namespace

WindowReader::WindowReader(storage::File& file, const layout::Placement& placement,
                           const ReadMap& map, std::size_t index, std::vector<Share> shares,
                           std::span<const CheckedPiece> records,
                           std::vector<std::byte>& window_buffer)
    : file_(file), map_(map), index_(index), shares_(std::move(shares)), buffer_(window_buffer) {
  buffer_.resize(std::max<std::size_t>(buffer_.size(), map.window_bytes));
  select_records(placement, records);
}

void WindowReader::read(std::uint64_t round, bool failed) {
  window_ = window_of(map_, index_, round);
  needed_.clear();
  if (!failed) {
    mark_needed();
  }
  const std::vector<storage::ReadPiece> pieces = needed_pieces();
  if (!file_.is_collective()) {
    const auto ahead = will_read(pieces);
    read_and_check(pieces);
    return;
  }
  file_.read_collective(pieces);
  if (!failed) {
    check_records(window_);
  }
}

std::shared_ptr<void> WindowReader::will_read(std::span<const storage::ReadPiece> pieces) {
  if (!file_.reads_ahead()) {
    return nullptr;
  }
  std::vector<storage::FileRange> ranges;
  for (const storage::ReadPiece& piece : pieces) {
    ranges.push_back({piece.offset, piece.bytes.size()});
  }
  return file_.will_read(ranges);
}

void WindowReader::read_and_check(std::span<const storage::ReadPiece> pieces) {
  std::uint64_t checked = window_.first;
  const std::size_t most_bytes = file_.read_bytes();
  for (const storage::ReadPiece& piece : pieces) {
    for (std::size_t at = 0; at < piece.bytes.size(); at += most_bytes) {
      const std::size_t bytes = std::min(most_bytes, piece.bytes.size() - at);
      const storage::ReadPiece part{piece.offset + at, piece.bytes.subspan(at, bytes)};
      file_.read_collective({&part, 1});
      check_records({checked, part.offset + bytes});
      checked = part.offset + bytes;
    }
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
    pieces.push_back({window_.first + from, std::span(buffer_).subspan(from, to - from)});
    from = next;
  }
  return pieces;
}

void WindowReader::select_records(const layout::Placement& placement,
                                  std::span<const CheckedPiece> records) {
  std::vector<model::OwnedBox> boxes;
  for (const Share& share : shares_) {
    for (const Piece& part : share.pieces) {
      boxes.push_back({part.box, share.rank, 0});
    }
  }
  const model::BoxTree wanted(boxes);
  for (std::size_t r = 0; r < records.size(); ++r) {
    const Piece& piece = records[r].piece;
    RunList runs(placement, piece);
    if (runs.begin() < map_.bounds[index_] || runs.begin() >= map_.bounds[index_ + 1]) {
      continue;
    }
    if (wanted.meets(piece.box)) {  // they overlap, and so they are in the same tile
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
  for_each_record(window_, [&](const Running& record) { mark(record.runs); });
}

void WindowReader::check_records(const Range& range) {
  for_each_record(range, [&](Running& record) {
    if (!record.under_way) {
      record.under_way = std::make_unique<codec::Checksum>();
    }
    record.runs.for_each_within(
        range.first, range.last, [&](std::uint64_t offset, std::uint64_t, std::uint64_t length) {
          record.under_way->update(std::span(buffer_).subspan(offset - window_.first, length));
        });
    if (record.runs.end() <= range.last) {
      if (record.under_way->value() != record.checksum) {
        mismatches_.push_back(record.record);
      }
      record.under_way.reset();
    }
  });
  while (done_ < records_.size() && records_[done_].runs.end() <= range.last) {
    ++done_;
  }
}

std::vector<RoundMessage> WindowReader::messages() const {
  std::vector<RoundMessage> messages;
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    if (const std::uint64_t bytes = shares_[i].bytes(window_); bytes != 0) {
      messages.push_back({shares_[i].rank, bytes, i});
    }
  }
  return messages;
}

std::span<const std::byte> WindowReader::in_place(const RoundMessage& message) const {
  const Share& share = shares_[message.peer];
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool is_one = true;
  share.for_each(window_, [&](std::size_t i, std::uint64_t from, std::uint64_t to) {
    const std::uint64_t first = share.runs[i].offset_of_packed(from);
    const std::uint64_t last = share.runs[i].offset_of_packed(to - 1);
    is_one = is_one && last - first == to - 1 - from && (end == 0 || end == first);
    begin = end == 0 ? first : begin;
    end = last + 1;
  });
  return is_one ? std::span(buffer_).subspan(begin - window_.first, end - begin)
                : std::span<std::byte>{};
}

void WindowReader::pack(const RoundMessage& message, std::span<std::byte> into) const {
  const Share& share = shares_[message.peer];
  std::uint64_t packed = 0;
  share.for_each(window_, [&](std::size_t i, std::uint64_t, std::uint64_t) {
    share.runs[i].for_each_within(window_.first, window_.last,
                                  [&](std::uint64_t offset, std::uint64_t, std::uint64_t length) {
                                    std::memcpy(&into[packed], &buffer_[offset - window_.first],
                                                length);
                                    packed += length;
                                  });
  });
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
