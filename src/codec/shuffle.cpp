#include "codec/shuffle.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "codec/methods.hpp"

namespace sluice::codec {

namespace {

/// Elements at a time: their bytes stay in the first cache while every plane takes its own.
constexpr std::size_t block_elements = 1024;

// With the size known to the compiler these loops become vector permutations.
template <std::size_t size>
void split_block(const std::byte* in, std::byte* out, std::size_t count, std::size_t plane_bytes) {
  for (std::size_t b = 0; b < size; ++b) {
    std::byte* const plane = out + b * plane_bytes;
    for (std::size_t i = 0; i < count; ++i) {
      plane[i] = in[i * size + b];
    }
  }
}

template <std::size_t size>
void join_block(const std::byte* in, std::byte* out, std::size_t count, std::size_t plane_bytes) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = 0; b < size; ++b) {
      out[i * size + b] = in[b * plane_bytes + i];
    }
  }
}

void split_any(const std::byte* in, std::byte* out, std::size_t count, std::size_t plane_bytes,
               std::size_t size) {
  for (std::size_t b = 0; b < size; ++b) {
    for (std::size_t i = 0; i < count; ++i) {
      out[b * plane_bytes + i] = in[i * size + b];
    }
  }
}

void join_any(const std::byte* in, std::byte* out, std::size_t count, std::size_t plane_bytes,
              std::size_t size) {
  for (std::size_t b = 0; b < size; ++b) {
    for (std::size_t i = 0; i < count; ++i) {
      out[i * size + b] = in[b * plane_bytes + i];
    }
  }
}

template <class Block>
void for_each_block(std::size_t elements, Block&& block) {
  for (std::size_t first = 0; first < elements; first += block_elements) {
    block(first, std::min(block_elements, elements - first));
  }
}

void copy_rest(std::span<const std::byte> in, std::size_t elements, std::size_t size,
               std::span<std::byte> out) {
  const std::size_t done = elements * size;
  if (done < in.size()) {
    std::memcpy(out.data() + done, in.data() + done, in.size() - done);
  }
}

}  // namespace

void shuffle(std::span<const std::byte> in, std::size_t element_bytes, std::span<std::byte> out) {
  const std::size_t elements = in.size() / element_bytes;
  for_each_block(elements, [&](std::size_t first, std::size_t count) {
    const std::byte* const from = in.data() + first * element_bytes;
    std::byte* const to = out.data() + first;
    switch (element_bytes) {
      case 2:
        return split_block<2>(from, to, count, elements);
      case 4:
        return split_block<4>(from, to, count, elements);
      case 8:
        return split_block<8>(from, to, count, elements);
      case 16:
        return split_block<16>(from, to, count, elements);
      default:
        return split_any(from, to, count, elements, element_bytes);
    }
  });
  copy_rest(in, elements, element_bytes, out);
}

void unshuffle(std::span<const std::byte> in, std::size_t element_bytes, std::span<std::byte> out) {
  const std::size_t elements = in.size() / element_bytes;
  for_each_block(elements, [&](std::size_t first, std::size_t count) {
    const std::byte* const from = in.data() + first;
    std::byte* const to = out.data() + first * element_bytes;
    switch (element_bytes) {
      case 2:
        return join_block<2>(from, to, count, elements);
      case 4:
        return join_block<4>(from, to, count, elements);
      case 8:
        return join_block<8>(from, to, count, elements);
      case 16:
        return join_block<16>(from, to, count, elements);
      default:
        return join_any(from, to, count, elements, element_bytes);
    }
  });
  copy_rest(in, elements, element_bytes, out);
}

void unshuffle_bits(std::span<const std::byte> in, std::size_t element_bytes,
                    std::span<std::byte> out) {
  const std::size_t elements = in.size() / element_bytes;
  const std::size_t plane_bytes = elements / 8;
  for (std::size_t eight = 0; eight < plane_bytes; ++eight) {
    for (std::size_t b = 0; b < element_bytes; ++b) {
      // A square of 8 by 8 bits: row k has bit k of the elements, and is turned.
      std::array<unsigned, 8> bytes{};
      for (std::size_t bit = 0; bit < 8; ++bit) {
        const auto row = std::to_integer<unsigned>(in[(b * 8 + bit) * plane_bytes + eight]);
        for (std::size_t i = 0; i < 8; ++i) {
          bytes[i] |= (row >> i & 1U) << bit;
        }
      }
      for (std::size_t i = 0; i < 8; ++i) {
        out[(eight * 8 + i) * element_bytes + b] = static_cast<std::byte>(bytes[i]);
      }
    }
  }
  const std::size_t whole = plane_bytes * 8 * element_bytes;
  std::copy(in.begin() + static_cast<std::ptrdiff_t>(whole), in.end(),
            out.begin() + static_cast<std::ptrdiff_t>(whole));
}

namespace {

class Shuffle final : public Worker {
 public:
  std::size_t encode(const Parameters& parameters, std::span<const std::byte> in,
                     std::span<std::byte> out) override {
    if (out.size() < in.size()) {
      return 0;
    }
    shuffle(in, element(parameters), out.first(in.size()));
    return in.size();
  }
  bool decode(const Parameters& parameters, std::span<const std::byte> in,
              std::span<std::byte> out) override {
    if (out.size() != in.size()) {
      return false;
    }
    unshuffle(in, element(parameters), out);
    return true;
  }

 private:
  static std::size_t element(const Parameters& parameters) {
    return parameters.empty() ? 1 : std::max<std::size_t>(1, parameters[0]);
  }
};

}  // namespace

std::optional<Method> shuffle_method() {
  return Method{"shuffle", shuffle_id, false, 0,
                1,         1,          1,     [] { return std::make_unique<Shuffle>(); }};
}

}  // namespace sluice::codec
