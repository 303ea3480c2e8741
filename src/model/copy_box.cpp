// Copies without conversion. A call of memcpy costs more than copying a short run, so short runs
// are copied by instructions of fixed size.
#include <bit>
#include <cstring>

#include "model/convert.hpp"
#include "model/kinds.hpp"
#include "model/loops.hpp"

namespace sluice::model {
namespace {

/// Rows of exactly `bytes` bytes.
template <std::size_t bytes>
void copy_rows_of(const Rows& rows) {
  const std::byte* from = rows.from;
  std::byte* to = rows.to;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    std::memcpy(to, from, bytes);
    from += rows.from_step;
    to += rows.to_step;
  }
}

/// Rows of `half` to 2 * `half` bytes, copied as two pieces that may overlap in the middle.
template <std::size_t half>
void copy_rows_in_halves(const Rows& rows, std::size_t bytes) {
  const std::byte* from = rows.from;
  std::byte* to = rows.to;
  const std::size_t second = bytes - half;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    std::memcpy(to, from, half);
    std::memcpy(to + second, from + second, half);
    from += rows.from_step;
    to += rows.to_step;
  }
}

void copy_long_rows(const Rows& rows, std::size_t bytes) {
  for (std::size_t row = 0; row < rows.rows; ++row) {
    std::memcpy(rows.to + row * rows.to_step, rows.from + row * rows.from_step, bytes);
  }
}

template <class Word>
Word swapped(Word word) {
  if constexpr (sizeof(Word) == 2) {
    return __builtin_bswap16(word);
  } else if constexpr (sizeof(Word) == 4) {
    return __builtin_bswap32(word);
  } else {
    return __builtin_bswap64(word);
  }
}

template <class Word>
void swap_words(std::span<std::byte> bytes) {
  for (std::size_t i = 0; i + sizeof(Word) <= bytes.size(); i += sizeof(Word)) {
    Word word;
    std::memcpy(&word, bytes.data() + i, sizeof(Word));
    word = swapped(word);
    std::memcpy(bytes.data() + i, &word, sizeof(Word));
  }
}

}  // namespace

void copy_rows(const Rows& rows) {
  const std::size_t bytes = rows.run * rows.from_bytes;
  switch (bytes) {
    case 0:
      return;
    case 1:
      return copy_rows_of<1>(rows);
    case 2:
      return copy_rows_of<2>(rows);
    case 4:
      return copy_rows_of<4>(rows);
    case 8:
      return copy_rows_of<8>(rows);
    case 12:
      return copy_rows_of<12>(rows);
    case 16:
      return copy_rows_of<16>(rows);
    case 24:
      return copy_rows_of<24>(rows);
    case 32:
      return copy_rows_of<32>(rows);
    default:
      break;
  }
  switch (std::bit_width(bytes - 1)) {
    case 2:
      return copy_rows_in_halves<2>(rows, bytes);
    case 3:
      return copy_rows_in_halves<4>(rows, bytes);
    case 4:
      return copy_rows_in_halves<8>(rows, bytes);
    case 5:
      return copy_rows_in_halves<16>(rows, bytes);
    case 6:
      return copy_rows_in_halves<32>(rows, bytes);
    case 7:
      return copy_rows_in_halves<64>(rows, bytes);
    default:
      return copy_long_rows(rows, bytes);
  }
}

void copy_box(const std::byte* from, const Box& from_box, std::byte* to, const Box& to_box,
              const Box& part, std::size_t element_bytes) {
  if (!contains(from_box, part) || !contains(to_box, part)) {
    throw Error(Code::internal, "copy of " + part.text() + " from " + from_box.text() + " to " +
                                    to_box.text() + ": it is not inside both");
  }
  if (part.empty()) {
    return;
  }
  Dims from_at = part.start;
  Dims to_at = part.start;
  for (int i = 0; i < part.start.rank(); ++i) {
    from_at[i] -= from_box.start[i];
    to_at[i] -= to_box.start[i];
  }
  const Loops loops = make_loops(part.count, from_box.count, to_box.count);
  for_each_rows(loops, from + linear_offset(from_at, from_box.count) * element_bytes, element_bytes,
                to + linear_offset(to_at, to_box.count) * element_bytes, element_bytes,
                [](const Rows& rows, std::uint64_t) { copy_rows(rows); });
}

void swap_bytes(std::span<std::byte> bytes, const Type& type) {
  const std::size_t number_bytes = is_complex(type.kind) ? type.bytes / 2 : type.bytes;
  if (type.kind == Kind::string || number_bytes == 1) {
    return;
  }
  if (type.bytes == 0 || bytes.size() % type.bytes != 0) {
    throw Error(Code::internal, std::to_string(bytes.size()) + " bytes are not a whole number of " +
                                    type_name(type));
  }
  switch (number_bytes) {
    case 2:
      return swap_words<std::uint16_t>(bytes);
    case 4:
      return swap_words<std::uint32_t>(bytes);
    case 8:
      return swap_words<std::uint64_t>(bytes);
    default:
      throw Error(Code::internal, type_name(type) + " has an impossible size");
  }
}

}  // namespace sluice::model
