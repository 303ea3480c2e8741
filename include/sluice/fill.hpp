// A fill value: one element of any type that Sluice stores, with all its bits.
#pragma once

#include <complex>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sluice/types.hpp"

namespace sluice {

/// What the elements of a partial variable read as where nobody put any. Made from a number, a
/// complex number, a bool or text; `Fill()` is zero (false, empty text) of every type. define()
/// converts it to the variable's type: a value that this type does not hold is an
/// Error invalid_argument there, never a rounded or wrapped one. Only a floating-point number is
/// rounded to a variable of single precision.
class Fill {
 public:
  Fill() = default;
  template <class T>
  // A number is a fill value, as in {.fill = -1}. NOLINTNEXTLINE
  requires std::is_arithmetic_v<T> Fill(T value)
      : Fill(type_of<T>(), {reinterpret_cast<const std::byte*>(&value), sizeof value}) {}
  template <class T>
  Fill(const std::complex<T>& value)  // NOLINT: as above
      : Fill(type_of<std::complex<T>>(),
             {reinterpret_cast<const std::byte*>(&value), sizeof value}) {}
  Fill(std::string_view text)  // NOLINT: as above
      : Fill(string_type(static_cast<std::uint32_t>(text.empty() ? 1 : text.size())),
             std::as_bytes(std::span(text))) {}
  Fill(const char* text) : Fill(std::string_view(text)) {}  // NOLINT: as above

  /// One element of `type` from its bytes in memory; fewer bytes are followed by zeros.
  Fill(Type type, std::span<const std::byte> element)
      : type_(type), element_(element.begin(), element.end()) {
    element_.resize(type.bytes);
  }

  /// The type in which it was given; of what info() tells, the variable's. Without meaning where
  /// bytes() is empty.
  const Type& type() const noexcept { return type_; }
  /// One element in memory, type().bytes long; empty: zero.
  std::span<const std::byte> bytes() const noexcept { return element_; }
  /// The value as T, where that is its very type; Error type_mismatch where it is not. Zero is
  /// zero of every T.
  template <class T>
  T as() const {
    T value{};
    if (!element_.empty()) {
      check_is(type_of<T>());
      std::memcpy(&value, element_.data(), sizeof value);
    }
    return value;
  }

  friend bool operator==(const Fill& a, const Fill& b) {
    return a.element_ == b.element_ && (a.element_.empty() || a.type_ == b.type_);
  }

 private:
  void check_is(const Type& wanted) const;

  Type type_;
  std::vector<std::byte> element_;
};

}  // namespace sluice
