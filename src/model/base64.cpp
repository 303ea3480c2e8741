#include "model/base64.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace sluice::model {

namespace {

constexpr std::string_view letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64(std::span<const std::byte> bytes) {
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      word = word << 8 | (i < count ? std::to_integer<std::uint32_t>(bytes[at + i]) : 0);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      out += i <= count ? letters[word >> (18 - 6 * i) & 63] : '=';
    }
  }
  return out;
}

std::optional<std::vector<std::byte>> bytes_of_base64(std::string_view text) {
  std::vector<std::byte> out;
  for (std::size_t at = 0; at < text.size(); at += 4) {
    std::uint32_t word = 0;
    std::size_t count = 0;
    for (const char c : text.substr(at, 4)) {
      const std::size_t value = letters.find(c);
      count += value != std::string_view::npos ? 1 : 0;
      word = word << 6 | (value != std::string_view::npos ? static_cast<std::uint32_t>(value) : 0);
    }
    for (std::size_t i = 0; i + 1 < count; ++i) {
      out.push_back(static_cast<std::byte>(word >> (16 - 8 * i)));
    }
  }
  // What is no base64 has another text.
  return base64(out) == text ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace sluice::model
