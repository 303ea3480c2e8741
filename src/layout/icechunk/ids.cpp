#include "layout/icechunk/ids.hpp"

#include <cstring>
#include <random>

namespace sluice::layout::icechunk {

namespace {

constexpr std::string_view digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr std::size_t digit_bits = 5;
constexpr std::size_t text_digits = (sizeof(ObjectId) * 8 + digit_bits - 1) / digit_bits;

template <std::size_t bytes>
Id<bytes> new_id() {
  std::random_device device;
  Id<bytes> id{};
  for (std::size_t i = 0; i < bytes; i += sizeof(std::uint32_t)) {
    const std::uint32_t word = device();
    std::memcpy(id.data() + i, &word, sizeof(word));
  }
  return id;
}

}  // namespace

ObjectId new_object_id() { return new_id<sizeof(ObjectId)>(); }
NodeId new_node_id() { return new_id<sizeof(NodeId)>(); }

std::string text_of(const ObjectId& id) {
  std::string text;
  std::uint32_t held = 0;
  std::size_t bits = 0;
  for (const std::uint8_t byte : id) {
    held = held << 8 | byte;
    for (bits += 8; bits >= digit_bits; bits -= digit_bits) {
      text += digits[held >> (bits - digit_bits) & 31];
    }
  }
  return text += digits[held << (digit_bits - bits) & 31];
}

std::optional<ObjectId> object_id_of(std::string_view text) {
  if (text.size() != text_digits) {
    return std::nullopt;
  }
  ObjectId id{};
  std::uint32_t held = 0;
  std::size_t bits = 0;
  std::size_t byte = 0;
  for (const char c : text) {
    const std::size_t digit = digits.find(c);
    if (digit == std::string_view::npos) {
      return std::nullopt;
    }
    held = held << digit_bits | static_cast<std::uint32_t>(digit);
    bits += digit_bits;
    if (bits >= 8 && byte < id.size()) {
      bits -= 8;
      id[byte++] = static_cast<std::uint8_t>(held >> bits);
    }
  }
  return id;
}

}  // namespace sluice::layout::icechunk
