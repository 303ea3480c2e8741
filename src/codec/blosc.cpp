// Blosc's chunks (version 1 of its format), made of this library's own shuffle and compressors: the
// one form of "shuffle, then compress" that every reader of Zarr knows.
//
// What is written is one block in one stream, with zlib or zstd inside. What is read may have any
// number of both, also LZ4 and BloscLZ inside (numcodecs' default is LZ4), and shuffled bits. What
// does not shrink is kept as it is, behind the header.
#include <algorithm>
#include <memory>
#include <vector>

#include "codec/methods.hpp"
#include "codec/shuffle.hpp"
#include "codec/unpacker.hpp"
#include "sluice/error.hpp"

namespace sluice::codec {

namespace {

constexpr std::size_t header_bytes = 16;
constexpr std::size_t word_bytes = 4;
constexpr unsigned format_version = 2;
constexpr unsigned shuffled = 0x01;
constexpr unsigned copied = 0x02;
constexpr unsigned bit_shuffled = 0x04;
/// Both kinds of shuffle at once: the longer header of Blosc2, of a version of its format.
constexpr unsigned of_blosc2 = shuffled | bit_shuffled;
constexpr std::size_t blosc2_header_bytes = 32;
constexpr unsigned first_blosc2_version = 3;
constexpr unsigned last_blosc2_version = 6;
constexpr unsigned in_one_stream = 0x10;
constexpr unsigned compressor_shift = 5;
constexpr std::uint32_t blosclz_format = 0;
constexpr std::uint32_t lz4_format = 1;
constexpr std::uint32_t zlib_format = 3;
constexpr std::uint32_t zstd_format = 4;
/// Blosc splits blocks of elements of at most so many bytes, and of at least so many elements.
constexpr std::size_t most_streams = 16;
constexpr std::size_t fewest_elements = 128;

void put_word(std::span<std::byte> out, std::size_t at, std::uint64_t value) {
  for (std::size_t i = 0; i < word_bytes; ++i) {
    out[at + i] = static_cast<std::byte>(value >> (8 * i));
  }
}

std::uint32_t get_word(std::span<const std::byte> in, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < word_bytes; ++i) {
    value |= std::to_integer<std::uint32_t>(in[at + i]) << (8 * i);
  }
  return value;
}

std::uint32_t format_of(std::uint32_t filter) {
  return filter == zstd_id ? zstd_format : zlib_format;
}

/// A block of LZ4: a token with the number of literals and the length of the match behind them.
bool decode_lz4(std::span<const std::byte> in, std::span<std::byte> out) {
  constexpr std::size_t most_in_token = 15;
  constexpr std::size_t shortest_match = 4;
  Unpacker unpacker(in, out);
  std::size_t token = 0;
  while (unpacker.take(token)) {
    std::size_t literals = token >> 4;
    if ((literals == most_in_token && !unpacker.take_more(literals)) || !unpacker.copy(literals)) {
      return false;
    }
    if (!unpacker.has_more()) {
      break;  // the last literals have no match
    }
    std::size_t low = 0;
    std::size_t high = 0;
    std::size_t length = token & most_in_token;
    if (!unpacker.take(low) || !unpacker.take(high) ||
        (length == most_in_token && !unpacker.take_more(length)) ||
        !unpacker.repeat(high << 8 | low, length + shortest_match)) {
      return false;
    }
  }
  return unpacker.is_full();
}

/// BloscLZ: a byte below 32 is one less than the number of literals, another is the length of a
/// match (3 bits) and the high bits of its distance.
bool decode_blosclz(std::span<const std::byte> in, std::span<std::byte> out) {
  constexpr std::size_t first_match = 32;
  constexpr std::size_t longest_in_control = 6;
  constexpr std::size_t far_high = 31;
  constexpr std::size_t far_low = 255;
  constexpr std::size_t nearest_far = 8191;
  Unpacker unpacker(in, out);
  std::size_t control = 0;
  bool is_first = true;
  while (unpacker.take(control)) {
    control &= is_first ? first_match - 1 : far_low;  // the first bits tell the version
    is_first = false;
    if (control < first_match) {
      if (!unpacker.copy(control + 1)) {
        return false;
      }
      continue;
    }
    std::size_t length = (control >> 5) - 1;
    const std::size_t high = control & (first_match - 1);
    std::size_t low = 0;
    if ((length == longest_in_control && !unpacker.take_more(length)) || !unpacker.take(low)) {
      return false;
    }
    std::size_t distance = high << 8 | low;
    if (high == far_high && low == far_low) {
      if (!unpacker.take(distance) || !unpacker.take(low)) {
        return false;
      }
      distance = (distance << 8 | low) + nearest_far;
    }
    if (!unpacker.repeat(distance + 1, length + 3)) {
      return false;
    }
  }
  return unpacker.is_full();
}

class Blosc final : public Worker {
 public:
  /// `parameters`: bytes of an element, whether to shuffle, number of the compressor, its level.
  std::size_t encode(const Parameters& parameters, std::span<const std::byte> in,
                     std::span<std::byte> out) override {
    if (out.size() < in.size() + header_bytes || parameters.size() != 4 || !find(parameters[2])) {
      return 0;
    }
    const std::uint32_t element = std::clamp<std::uint32_t>(parameters[0], 1, 255);
    const bool shuffles = parameters[1] != 0 && element > 1;
    const std::size_t data = header_bytes + 2 * word_bytes;
    std::size_t size = 0;
    if (in.size() > 2 * word_bytes) {
      const auto room = out.subspan(data, in.size() - 2 * word_bytes - 1);
      size = worker_->encode({parameters[3]}, shuffles ? shuffled_copy(in, element) : in, room);
    }
    unsigned flags = format_of(parameters[2]) << compressor_shift | in_one_stream;
    flags |= shuffles ? shuffled : 0;
    std::size_t total = data + size;
    if (size == 0) {
      flags |= copied;
      std::copy(in.begin(), in.end(), out.begin() + header_bytes);
      total = header_bytes + in.size();
    } else {
      put_word(out, header_bytes, data - word_bytes);  // where the block begins
      put_word(out, header_bytes + word_bytes, size);
    }
    out[0] = static_cast<std::byte>(format_version);
    out[1] = std::byte{1};
    out[2] = static_cast<std::byte>(flags);
    out[3] = static_cast<std::byte>(element);
    put_word(out, 4, in.size());
    put_word(out, 8, in.size());
    put_word(out, 12, total);
    return total;
  }

  bool decode(const Parameters&, std::span<const std::byte> in, std::span<std::byte> out) override {
    if (in.size() < header_bytes || get_word(in, 4) != out.size() || get_word(in, 12) > in.size() ||
        get_word(in, 12) < header_bytes) {
      return false;
    }
    in = in.first(get_word(in, 12));
    refuse_blosc2(in);
    const auto flags = std::to_integer<unsigned>(in[2]);
    if ((flags & copied) != 0) {
      const auto bytes = in.subspan(header_bytes);
      if (bytes.size() != out.size()) {
        return false;
      }
      std::copy(bytes.begin(), bytes.end(), out.begin());
      return true;
    }
    const std::uint32_t format = flags >> compressor_shift;
    const std::size_t block = get_word(in, 8);
    if (!is_known(format) || block == 0) {
      return false;
    }
    const std::size_t blocks = (out.size() + block - 1) / block;
    if (blocks > (in.size() - header_bytes) / word_bytes) {
      return false;
    }
    for (std::size_t b = 0; b < blocks; ++b) {
      const auto place = out.subspan(b * block, std::min(block, out.size() - b * block));
      const std::size_t begin = get_word(in, header_bytes + b * word_bytes);
      if (begin > in.size() || !decode_block(in.subspan(begin), place, block, in)) {
        return false;
      }
    }
    return true;
  }

 private:
  /// Error unsupported if it is a chunk of Blosc2. `in` is as long as its header says.
  static void refuse_blosc2(std::span<const std::byte> in) {
    const auto version = std::to_integer<unsigned>(in[0]);
    const bool is_blosc2 = (std::to_integer<unsigned>(in[2]) & of_blosc2) == of_blosc2;
    if (is_blosc2 && in.size() >= blosc2_header_bytes && version >= first_blosc2_version &&
        version <= last_blosc2_version) {
      throw Error(Code::unsupported,
                  "a chunk of Blosc2 (version " + std::to_string(version) +
                      " of its format; that of Blosc, 2, is read): write the array again with "
                      "numcodecs.Blosc, zstd or gzip");
    }
  }

  /// Can it be decoded here? Makes what is needed.
  bool is_known(std::uint32_t format) {
    return format == blosclz_format || format == lz4_format ||
           (format == zlib_format && find(deflate_id)) || (format == zstd_format && find(zstd_id));
  }

  bool find(std::uint32_t filter) {
    if (filter != filter_) {
      const auto method = find_method(filter);
      worker_ = method ? method->make() : nullptr;
      filter_ = filter;
    }
    return worker_ != nullptr;
  }

  std::span<const std::byte> shuffled_copy(std::span<const std::byte> in, std::size_t element) {
    scratch_.resize(std::max(scratch_.size(), in.size()));
    shuffle(in, element, std::span(scratch_).first(in.size()));
    return std::span<const std::byte>(scratch_).first(in.size());
  }

  bool decode_block(std::span<const std::byte> in, std::span<std::byte> out, std::size_t block,
                    std::span<const std::byte> header) {
    const auto flags = std::to_integer<unsigned>(header[2]);
    const auto element = std::max<std::size_t>(1, std::to_integer<std::size_t>(header[3]));
    const bool shuffles = (flags & shuffled) != 0 && element > 1;
    // Blosc leaves the bits in their order where they do not fill bytes.
    const bool shuffles_bits = (flags & bit_shuffled) != 0 && out.size() / element % 8 == 0;
    const bool is_split = (flags & in_one_stream) == 0 && element <= most_streams &&
                          block / element >= fewest_elements && out.size() == block;
    const std::size_t streams = is_split ? element : 1;
    if (out.size() % streams != 0) {
      return false;
    }
    scratch_.resize(std::max(scratch_.size(), out.size()));
    const auto joined = shuffles || shuffles_bits ? std::span(scratch_).first(out.size()) : out;
    const std::size_t each = out.size() / streams;
    for (std::size_t s = 0; s < streams; ++s) {
      if (in.size() < word_bytes) {
        return false;
      }
      const std::size_t size = get_word(in, 0);
      in = in.subspan(word_bytes);
      if (size > in.size()) {
        return false;
      }
      const auto place = joined.subspan(s * each, each);
      if (size == each) {
        std::copy_n(in.begin(), size, place.begin());
      } else if (!decode_stream(flags >> compressor_shift, in.first(size), place)) {
        return false;
      }
      in = in.subspan(size);
    }
    if (shuffles) {
      unshuffle(joined, element, out);
    } else if (shuffles_bits) {
      unshuffle_bits(joined, element, out);
    }
    return true;
  }

  bool decode_stream(std::uint32_t format, std::span<const std::byte> in,
                     std::span<std::byte> out) {
    return format == lz4_format       ? decode_lz4(in, out)
           : format == blosclz_format ? decode_blosclz(in, out)
                                      : worker_->decode({}, in, out);
  }

  std::uint32_t filter_ = 0;
  std::unique_ptr<Worker> worker_;
  std::vector<std::byte> scratch_;
};

}  // namespace

std::optional<Method> blosc_method() {
  // By name it has no level: which compressor is inside is a matter of its parameters.
  return Method{"blosc", blosc_id, false, header_bytes,
                1,       1,        1,     [] { return std::make_unique<Blosc>(); }};
}

}  // namespace sluice::codec
