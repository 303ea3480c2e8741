#include "layout/placement.hpp"

#include <algorithm>
#include <utility>

namespace sluice::layout {

using model::Box;
using model::Dims;

Placement::Placement(std::uint32_t variable, std::uint32_t element_bytes, const Dims& shape,
                     const Tiling& tiling, std::span<const std::uint64_t> addresses)
    : variable_(variable),
      element_bytes_(element_bytes),
      shape_(shape),
      tiling_(tiling),
      grid_(grid_of(shape, tiling)) {
  if (addresses.size() != tiles()) {
    throw Error(Code::internal, "placement: as many addresses as tiles are needed");
  }
  if (addresses.empty()) {
    return;
  }
  base_ = addresses[0];
  stride_ = addresses.size() > 1 ? addresses[1] - addresses[0] : 0;
  bool regular = true;
  for (std::size_t i = 0; i < addresses.size() && regular; ++i) {
    regular = addresses[i] == base_ + i * stride_ && addresses[i] != absent;
  }
  if (!regular) {
    table_.assign(addresses.begin(), addresses.end());
  }
}

Placement Placement::of_tiles(std::uint32_t variable, std::uint32_t element_bytes,
                              const Dims& shape, const Tiling& tiling,
                              std::vector<std::uint64_t> numbers,
                              std::vector<std::uint64_t> addresses) {
  if (numbers.size() != addresses.size()) {
    throw Error(Code::internal, "placement: as many addresses as numbers are needed");
  }
  Placement p;
  p.shape_ = shape;
  p.tiling_ = tiling;
  p.grid_ = grid_of(shape, tiling);
  if (numbers.size() == p.tiles()) {
    return {variable, element_bytes, shape, tiling, addresses};
  }
  p.variable_ = variable;
  p.element_bytes_ = element_bytes;
  p.is_list_ = true;
  p.numbers_ = std::move(numbers);
  p.table_ = std::move(addresses);
  return p;
}

std::uint64_t Placement::entry_of(std::uint64_t tile_index) const {
  if (!is_list_) {
    return tile_index < tiles() ? tile_index : absent;
  }
  const auto found = std::lower_bound(numbers_.begin(), numbers_.end(), tile_index);
  const bool is_there = found != numbers_.end() && *found == tile_index;
  return is_there ? static_cast<std::uint64_t>(found - numbers_.begin()) : absent;
}

Box tile_box(const Dims& shape, const Tiling& tiling, std::uint64_t tile_index) {
  Box box = tiling.whole(grid_of(shape, tiling), tile_index);
  for (int d = 0; d < shape.rank(); ++d) {
    box.count[d] = std::min(box.count[d], shape[d] - box.start[d]);
  }
  return box;
}

Extent Placement::hull() const {
  const std::uint64_t count = entries();
  if (!is_list_ && table_.empty() && count != 0 && tiling_.is_regular()) {
    const auto [first, last] = std::minmax({address(0), address(count - 1)});
    return {first, last + tile_bytes() - first};
  }
  std::uint64_t first = absent;
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = table_.empty() ? base_ + i * stride_ : table_[i];
    if (at != absent) {
      first = std::min(first, at);
      last = std::max(last, at + tile_bytes(tile_at(i)));
    }
  }
  return first == absent ? Extent{} : Extent{first, last - first};
}

std::uint64_t Placement::address_bits() const {
  if (table_.empty() && !is_list_) {
    return tiles() == 0 ? 0 : base_ | (tiles() > 1 ? stride_ : 0);
  }
  std::uint64_t bits = 0;
  for (const std::uint64_t at : table_) {
    bits |= at != absent ? at : 0;
  }
  return bits;
}

void Placement::write_to(model::ByteWriter& out) const {
  out.put(variable_);
  out.put(element_bytes_);
  out.put(shape_);
  tiling_.write_to(out);
  out.put(base_);
  out.put(stride_);
  out.put(table_);
  out.put(is_list_);
  out.put(numbers_);
  write_segments(objects_, out);
  out.put(big_endian_);
}

Placement Placement::read_from(model::ByteReader& in) {
  Placement p;
  p.variable_ = in.get<std::uint32_t>();
  p.element_bytes_ = in.get<std::uint32_t>();
  p.shape_ = in.get<Dims>();
  p.tiling_ = Tiling::read_from(in);
  p.base_ = in.get<std::uint64_t>();
  p.stride_ = in.get<std::uint64_t>();
  p.table_ = in.get_vector<std::uint64_t>();
  p.is_list_ = in.get<bool>();
  p.numbers_ = in.get_vector<std::uint64_t>();
  p.objects_ = read_segments(in);
  p.big_endian_ = in.get<bool>();
  p.grid_ = grid_of(p.shape_, p.tiling_);
  return p;
}

void write_segments(const std::vector<storage::Segment>& segments, model::ByteWriter& out) {
  out.put(segments.size());
  for (const storage::Segment& segment : segments) {
    out.put(segment.address);
    out.put(segment.length);
    out.put(segment.file_bytes);
    out.put(segment.name);
  }
}

std::vector<storage::Segment> read_segments(model::ByteReader& in) {
  std::vector<storage::Segment> segments(in.get<std::size_t>());
  for (storage::Segment& segment : segments) {
    segment.address = in.get<std::uint64_t>();
    segment.length = in.get<std::uint64_t>();
    segment.file_bytes = in.get<std::uint64_t>();
    segment.name = in.get_string();
  }
  return segments;
}

std::uint64_t tiles_in(const Tiling& tiling, const Box& box) {
  std::uint64_t count = box.empty() ? 0 : 1;
  for (int d = 0; d < box.start.rank() && count != 0; ++d) {
    const std::uint64_t along =
        tiling.number_of(d, box.end(d) - 1) + 1 - tiling.number_of(d, box.start[d]);
    if (__builtin_mul_overflow(count, along, &count)) {
      return std::numeric_limits<std::uint64_t>::max();
    }
  }
  return count;
}

std::vector<Piece> cut(const Dims& shape, const Tiling& tiling, const Box& box) {
  std::vector<Piece> pieces;
  for_each_piece(shape, tiling, box, [&](const Piece& piece) { pieces.push_back(piece); });
  return pieces;
}

namespace detail {

RunShape run_shape(const Dims& tile, const Box& part, const Box& within) {
  RunShape runs{part.start.rank(), 1};
  // Dimensions are merged into the run from the fastest upwards as long as each is whole on both
  // sides.
  while (runs.outer > 0) {
    const int d = runs.outer - 1;
    runs.run_elements *= part.count[d];
    --runs.outer;
    if (part.count[d] != tile[d] || part.count[d] != within.count[d]) {
      break;
    }
  }
  return runs;
}

std::uint64_t linear(const Dims& at, const Dims& start, const Dims& count) {
  std::uint64_t index = 0;
  for (int d = 0; d < at.rank(); ++d) {
    index = index * count[d] + (at[d] - start[d]);
  }
  return index;
}

}  // namespace detail

std::uint64_t run_count(const Placement& placement, const Piece& piece, const Box& within) {
  if (piece.box.empty()) {
    return 0;
  }
  const Dims tile = placement.whole_tile(piece.tile_index).count;
  return piece.box.volume() / detail::run_shape(tile, piece.box, within).run_elements;
}

}  // namespace sluice::layout
