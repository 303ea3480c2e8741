#include "layout/npy/fortran_reader.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "model/convert.hpp"

namespace sluice::layout::npy {

using model::Box;
using model::Dims;

namespace {

/// Columns that begin within so many bytes are read together, with what lies between: a call of the
/// operating system takes as long as copying them.
constexpr std::uint64_t joined_bytes = 4096;
/// What is read together stays in the processor's cache while it is transposed.
constexpr std::uint64_t most_read_bytes = 64ULL << 10;
/// Elements of the last dimension that are brought together.
constexpr std::uint64_t line_bytes = 64;

/// How the elements of some columns lie: `from` in the order of the file, `to` in C order. In both
/// an element of the last dimension follows on the one before, or begins `line` bytes further.
struct Transposed {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t lines = 0;
  std::size_t from_column = 0;
  std::size_t from_line = 0;
  std::size_t to_row = 0;
  std::size_t to_column = 0;
};

template <class Copy>
void transpose_by(const Transposed& t, std::size_t size, const std::byte* from, std::byte* to,
                  const Copy& copy) {
  for (std::uint64_t row = 0; row < t.rows; ++row) {
    for (std::uint64_t column = 0; column < t.columns; ++column) {
      const std::byte* source = from + row * size + column * t.from_column;
      std::byte* target = to + row * t.to_row + column * t.to_column;
      for (std::uint64_t line = 0; line < t.lines; ++line) {
        copy(target + line * size, source + line * t.from_line);
      }
    }
  }
}

/// Elements of `bytes` bytes, which is known where it is compiled.
template <std::size_t bytes>
void transpose_of(const Transposed& t, const std::byte* from, std::byte* to) {
  transpose_by(t, bytes, from, to, [](std::byte* target, const std::byte* source) {
    std::memcpy(target, source, bytes);
  });
}

void transpose(const Transposed& t, std::size_t size, const std::byte* from, std::byte* to) {
  switch (size) {
    case 1:
      return transpose_of<1>(t, from, to);
    case 2:
      return transpose_of<2>(t, from, to);
    case 4:
      return transpose_of<4>(t, from, to);
    case 8:
      return transpose_of<8>(t, from, to);
    case 16:
      return transpose_of<16>(t, from, to);
    default:
      transpose_by(t, size, from, to, [&](std::byte* target, const std::byte* source) {
        std::memcpy(target, source, size);
      });
  }
}

/// The elements between two neighbours of dimension d, of a dense box.
std::uint64_t step_of(const Box& box, int d) {
  std::uint64_t step = 1;
  for (int inner = box.count.rank() - 1; inner > d; --inner) {
    step *= box.count[inner];
  }
  return step;
}

}  // namespace

FortranReader::FortranReader(storage::File& file, const Header& header, const Dims& shape)
    : file_(file), header_(header), shape_(shape), size_(header.type.bytes) {}

void FortranReader::read(const Box& box, std::span<std::byte> out) {
  if (box.empty()) {
    return;
  }
  const bool is_next = follows(box);
  last_ = box;
  const bool is_kept = !kept_bytes_.empty() && model::contains(kept_, box);
  const Box ahead = with_rows_ahead(box);
  if (!is_kept && (!is_next || ahead == box)) {
    fetch(box, out);
    return;
  }
  if (!is_kept) {
    kept_bytes_.clear();  // nothing is kept if the next line fails
    std::vector<std::byte> bytes(ahead.volume() * size_);
    fetch(ahead, bytes);
    kept_bytes_ = std::move(bytes);
    kept_ = ahead;
  }
  model::copy_box(kept_bytes_.data(), kept_, out.data(), box, box, size_);
}

/// Are these the next rows, of the same columns?
bool FortranReader::follows(const Box& box) const {
  if (last_.start.rank() != box.start.rank() || last_.end(0) != box.start[0]) {
    return false;
  }
  for (int d = 1; d < box.start.rank(); ++d) {
    if (last_.start[d] != box.start[d] || last_.count[d] != box.count[d]) {
      return false;
    }
  }
  return true;
}

Box FortranReader::with_rows_ahead(const Box& box) const {
  const std::uint64_t row_bytes = step_of(box, 0) * size_;
  Box ahead = box;
  ahead.count[0] =
      std::max(box.count[0], std::min(most_kept_bytes / row_bytes, shape_[0] - box.start[0]));
  return ahead;
}

/// Tile by tile: neighbours of the second dimension, which lie one behind the other in the file, by
/// as many of the last one as make a line of the cache.
void FortranReader::fetch(const Box& box, std::span<std::byte> out) {
  const int last = box.start.rank() - 1;
  const std::uint64_t column_bytes = shape_[0] * size_;
  const bool is_joined =
      column_bytes <= most_read_bytes && column_bytes - box.count[0] * size_ <= joined_bytes;
  Dims most = Dims::filled(box.start.rank(), 1);
  most[0] = std::max<std::uint64_t>(1, most_read_bytes / size_);
  most[last] = std::max<std::uint64_t>(1, line_bytes / size_);
  if (is_joined) {
    most[1] = std::max<std::uint64_t>(1, most_read_bytes / column_bytes);
  }
  Box tile{box.start, most};
  bool is_more = true;
  while (is_more) {
    for (int d = 0; d <= last; ++d) {
      tile.count[d] = std::min(most[d], box.end(d) - tile.start[d]);
    }
    fetch_tile(box, tile, is_joined, out);
    int d = 0;
    while (d <= last && (tile.start[d] += most[d]) >= box.end(d)) {
      tile.start[d] = box.start[d];
      ++d;
    }
    is_more = d <= last;
  }
}

/// `is_joined`: neighbours of the second dimension are read together.
void FortranReader::fetch_tile(const Box& box, const Box& tile, bool is_joined,
                               std::span<std::byte> out) {
  const int last = box.start.rank() - 1;
  const bool has_lines = last > 1 || !is_joined;  // else the columns are the lines
  Transposed t;
  t.rows = tile.count[0];
  t.columns = last > 1 || is_joined ? tile.count[1] : 1;
  t.lines = has_lines ? tile.count[last] : 1;
  t.from_column = shape_[0] * size_;
  t.from_line = (t.columns - 1) * t.from_column + t.rows * size_;
  t.to_row = step_of(box, 0) * size_;
  t.to_column = step_of(box, 1) * size_;
  columns_.resize(t.lines * t.from_line);
  Dims at = tile.start;
  for (std::uint64_t line = 0; line < t.lines; ++line, ++at[last]) {
    read_at(at, std::span(columns_).subspan(line * t.from_line, t.from_line));
  }
  if (header_.big_endian) {
    model::swap_bytes(columns_, header_.type);
  }
  std::uint64_t first = 0;
  for (int d = 0; d <= last; ++d) {
    first += (tile.start[d] - box.start[d]) * step_of(box, d);
  }
  transpose(t, size_, columns_.data(), out.data() + first * size_);
}

void FortranReader::read_at(const Dims& at, std::span<std::byte> into) {
  std::uint64_t element = 0;
  for (int d = at.rank() - 1; d >= 0; --d) {
    element = element * shape_[d] + at[d];
  }
  if (file_.read(header_.data_offset + element * size_, into) != into.size()) {
    throw Error(Code::truncated, file_.path() + ": truncated: ends inside its data");
  }
}

}  // namespace sluice::layout::npy
