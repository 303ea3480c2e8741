#include "model/size_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "model/number_text.hpp"

namespace sluice::model {

namespace {

constexpr std::array<std::pair<std::string_view, std::uint64_t>, 4> units{
    {{"TiB", 1ULL << 40}, {"GiB", 1ULL << 30}, {"MiB", 1ULL << 20}, {"KiB", 1ULL << 10}}};

constexpr std::string_view size_blanks = " \t";

}  // namespace

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  const std::string_view whole = trimmed(text, size_blanks);
  std::uint64_t bytes = 0;
  const auto [end, problem] = std::from_chars(whole.data(), whole.data() + whole.size(), bytes);
  if (problem != std::errc{}) {
    return std::nullopt;
  }
  const std::string_view unit =
      trimmed(whole.substr(static_cast<std::size_t>(end - whole.data())), size_blanks);
  if (unit.empty()) {
    return bytes;
  }
  const auto found =
      std::find_if(units.begin(), units.end(), [&](const auto& u) { return unit == u.first; });
  if (found == units.end() || __builtin_mul_overflow(bytes, found->second, &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

std::string bytes_text(std::uint64_t bytes) {
  for (const auto& [unit, size] : units) {
    if (bytes != 0 && bytes % size == 0) {
      return std::to_string(bytes / size) + " " + std::string(unit);
    }
  }
  return std::to_string(bytes);
}

std::string seconds_text(double seconds) {
  std::array<char, 32> text{};
  const auto [end, problem] =
      std::to_chars(text.data(), text.data() + text.size(), seconds, std::chars_format::general, 6);
  return std::string(text.data(), problem == std::errc{} ? end : text.data()) + " s";
}

}  // namespace sluice::model
