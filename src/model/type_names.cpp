#include "model/type_names.hpp"

#include <array>

#include "model/number_text.hpp"

namespace sluice::model {

namespace {

/// All of a fixed size.
constexpr std::array<Kind, 14> sized_kinds{
    Kind::i8,  Kind::i16, Kind::i32, Kind::i64, Kind::u8,  Kind::u16,  Kind::u32,
    Kind::u64, Kind::f16, Kind::f32, Kind::f64, Kind::c64, Kind::c128, Kind::boolean};

char letter_of(Kind kind) {
  switch (kind) {
    case Kind::i8:
    case Kind::i16:
    case Kind::i32:
    case Kind::i64:
      return 'i';
    case Kind::u8:
    case Kind::u16:
    case Kind::u32:
    case Kind::u64:
      return 'u';
    case Kind::f16:
    case Kind::f32:
    case Kind::f64:
      return 'f';
    case Kind::c64:
    case Kind::c128:
      return 'c';
    case Kind::boolean:
      return 'b';
    case Kind::string:
      break;
  }
  return 'S';
}

}  // namespace

std::optional<Type> type_named(std::string_view name) {
  for (const Kind kind : sized_kinds) {
    if (type_name(type_of(kind)) == name) {
      return type_of(kind);
    }
  }
  return std::nullopt;
}

std::string numpy_type(const Type& type, bool big_endian) {
  const bool has_order = type.bytes != 1 && type.kind != Kind::string;
  std::string text(1, !has_order ? '|' : big_endian ? '>' : '<');
  text += letter_of(type.kind);
  return text + std::to_string(type.bytes);
}

std::optional<NumpyType> numpy_type_named(std::string_view text) {
  const bool is_big = text.starts_with('>');
  if (!text.empty() && std::string_view("<>|=").find(text.front()) != std::string_view::npos) {
    text.remove_prefix(1);
  }
  if (text.empty()) {
    return std::nullopt;
  }
  const char letter = text.front();
  text.remove_prefix(1);
  const std::uint32_t bytes = number_in<std::uint32_t>(text).value_or(0);
  if (bytes == 0) {
    return std::nullopt;
  }
  if (letter == letter_of(Kind::string)) {
    return NumpyType{string_type(bytes), false};
  }
  for (const Kind kind : sized_kinds) {
    if (letter_of(kind) == letter && type_of(kind).bytes == bytes) {
      return NumpyType{type_of(kind), is_big && bytes > 1};
    }
  }
  return std::nullopt;
}

}  // namespace sluice::model
