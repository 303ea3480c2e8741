#include "dialect/voxfe/lines.hpp"

#include <algorithm>
#include <span>

#include "sluice/error.hpp"

namespace sluice::dialect::voxfe {

namespace {

std::uint64_t line_number(storage::File& file, std::uint64_t place) {
  std::uint64_t number = 1;
  std::string text(std::min(piece_bytes, place), '\0');
  for (std::uint64_t at = 0; at < place;) {
    const std::uint64_t wanted = std::min(piece_bytes, place - at);
    const std::size_t got = file.read(at, std::as_writable_bytes(std::span(text)).first(wanted));
    if (got == 0) {
      break;
    }
    number += static_cast<std::uint64_t>(
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(got), '\n'));
    at += got;
  }
  return number;
}

}  // namespace

ByteRange part_of_rank(std::uint64_t head, std::uint64_t size, int rank, int ranks) {
  const std::uint64_t body = size - std::min(head, size);
  const auto r = static_cast<std::uint64_t>(rank);
  const auto n = static_cast<std::uint64_t>(ranks);
  // body * r / n, without overflow of large files on many ranks
  const auto share = [&](std::uint64_t i) { return body / n * i + body % n * i / n; };
  return {head + share(r), head + share(r + 1), head};
}

void refuse(storage::File& file, std::uint64_t place, const std::string& why) {
  throw Error(Code::format,
              file.path() + ":" + std::to_string(line_number(file, place)) + ": " + why);
}

void refuse_changed(const std::string& path) {
  throw Error(Code::changed_outside, path + ": was changed since it was scanned");
}

void Pieces::begin() {
  at_ = range_.begin;
  if (range_.begin == range_.head || range_.begin == range_.end) {
    return;
  }
  // A line that continues here belongs to the rank below: the own lines begin after its end, which
  // may be the very byte before.
  std::string text(longest_line + 1, '\0');
  text.resize(file_.read(range_.begin - 1, std::as_writable_bytes(std::span(text))));
  const std::size_t stop = text.find('\n');
  if (stop == std::string::npos && text.size() > longest_line) {
    refuse(file_, range_.begin - 1,
           "a line of more than " + std::to_string(longest_line) + " characters");
  }
  at_ = stop == std::string::npos ? range_.end : range_.begin + stop;
}

bool Pieces::next() {
  if (at_ >= range_.end) {
    lines_ = {};
    return false;
  }
  const std::uint64_t wanted = std::min(piece_bytes, range_.end - at_) + longest_line;
  buffer_.resize(wanted);
  buffer_.resize(file_.read(at_, std::as_writable_bytes(std::span(buffer_))));
  const bool is_end = buffer_.size() < wanted;
  std::size_t length = buffer_.size();
  // Up to the end of the last line that begins in the range and in the piece.
  const std::uint64_t limit = std::min(range_.end - at_, piece_bytes);
  if (length > limit) {
    const std::size_t stop = buffer_.find('\n', limit - 1);
    length = stop != std::string::npos ? stop + 1 : is_end ? length : 0;
  } else if (!is_end) {
    length = buffer_.rfind('\n') + 1;
  }
  if (length == 0) {
    if (buffer_.empty()) {
      lines_ = {};
      return false;
    }
    refuse(file_, at_, "a line of more than " + std::to_string(longest_line) + " characters");
  }
  lines_ = std::string_view(buffer_).substr(0, length);
  place_ = at_;
  at_ += length;
  return true;
}

}  // namespace sluice::dialect::voxfe
