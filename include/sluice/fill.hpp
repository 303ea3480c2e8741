/// @file
/// Fill values: sluice::Fill, one element of any type that Sluice stores, with all its bits.
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

/// The value that elements of a partial variable have where no rank put one, and that stands for
/// missing values.
///
/// A Fill is made of a number, a complex number, a bool or text. `Fill()` is zero (false, empty
/// text) of every type. File::define() converts it to the variable's type. A value that the type
/// does not hold is Error `invalid_argument` there; it is never wrapped. Only a floating-point
/// number is rounded, to a variable of single precision. A plain value without thread rules.
///
///     out.define<float>("depth", {n}, {.steps = true, .partial = true, .fill = -1.0});
class Fill {
 public:
  /// Zero of every type.
  Fill() = default;
  /// A number or a bool.
  template <class T>
  // A number is a fill value, as in {.fill = -1}. NOLINTNEXTLINE
  requires std::is_arithmetic_v<T> Fill(T value)
      : Fill(type_of<T>(), {reinterpret_cast<const std::byte*>(&value), sizeof value}) {}
  /// A complex number.
  template <class T>
  Fill(const std::complex<T>& value)  // NOLINT: as above
      : Fill(type_of<std::complex<T>>(),
             {reinterpret_cast<const std::byte*>(&value), sizeof value}) {}
  /// Text in UTF-8; it is copied.
  Fill(std::string_view text)  // NOLINT: as above
      : Fill(string_type(static_cast<std::uint32_t>(text.empty() ? 1 : text.size())),
             std::as_bytes(std::span(text))) {}
  /// Text in UTF-8, ended by NUL; it is copied.
  Fill(const char* text) : Fill(std::string_view(text)) {}  // NOLINT: as above

  /// One element of `type` from its bytes in memory, which are copied. Missing bytes are zero.
  Fill(Type type, std::span<const std::byte> element)
      : type_(type), element_(element.begin(), element.end()) {
    element_.resize(type.bytes);
  }

  /// The type in which the value was given; in VariableInfo, the variable's. It has no meaning
  /// where bytes() is empty.
  const Type& type() const noexcept { return type_; }
  /// One element in memory, type().bytes long; empty for zero. The Fill owns the bytes.
  std::span<const std::byte> bytes() const noexcept { return element_; }
  /// The value as T. T must be the type of the value; zero is zero of every T.
  /// @throws Error `type_mismatch`: the value has another type.
  template <class T>
  T as() const {
    T value{};
    if (!element_.empty()) {
      check_is(type_of<T>());
      std::memcpy(&value, element_.data(), sizeof value);
    }
    return value;
  }

  /// Equal type and bits; zero equals only Fill().
  friend bool operator==(const Fill& a, const Fill& b) {
    return a.element_ == b.element_ && (a.element_.empty() || a.type_ == b.type_);
  }

 private:
  void check_is(const Type& wanted) const;

  Type type_;
  std::vector<std::byte> element_;
};

}  // namespace sluice
