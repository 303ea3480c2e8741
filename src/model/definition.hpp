// The definitions of an output, made before any data is put: variables and attributes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "model/bytes.hpp"
#include "model/dims.hpp"
#include "sluice/types.hpp"

namespace sluice::model {

/// The longest text element in bytes: readers allocate no more, whatever a file claims.
inline constexpr std::uint32_t most_element_bytes = 16 << 20;

/// A variable. Ranks must define the same ones in the same order.
struct Definition {
  std::string name;  ///< path in the file without leading slash; `/` makes groups
  Type type;
  Dims shape;            ///< without the step dimension
  bool stepped = false;  ///< one value of `shape` a step; the leading dimension is unlimited
  bool partial = false;  ///< elements that are not put read as `fill`
  /// Not partial, and the file says `fill` all the same: the caller gave it.
  bool gives_fill = false;
  /// One element of `type` as file bytes; empty: zeros (model/fill).
  std::vector<std::byte> fill = {};
  std::vector<std::string> dimensions;  ///< names without the step; empty or one a dimension
  Dims chunk;                           ///< requested by the caller; empty: the layout chooses
  /// Each step has its own number of rows (elements of the first dimension), at most shape[0].
  bool varying = false;
  /// Of an existing file: not stepped, but it grows with the steps, as their times do.
  bool along_steps = false;
  std::string compress = {};  ///< "deflate:6", "zstd:3+noshuffle", ...; "" or "none": not
                              ///< compressed

  std::uint64_t bytes_per_step() const {
    return checked_product(shape.volume(), type.bytes, "variable size in bytes");
  }
  /// The shape of a step of a varying variable.
  Dims shape_of(std::uint64_t rows) const {
    Dims step = shape;
    step[0] = rows;
    return step;
  }
  /// Does the file say `fill`? Of another program's file it may be known without being said.
  bool has_fill() const { return partial || gives_fill; }
  /// The value of elements that were never written, as `fill`.
  std::vector<std::byte> hole_fill() const { return has_fill() ? fill : std::vector<std::byte>{}; }
  void write_to(ByteWriter& out) const;
  static Definition read_from(ByteReader& in);
  friend bool operator==(const Definition&, const Definition&) = default;
};

using AttributeValue =
    std::variant<bool, std::int32_t, std::int64_t, float, double, std::string,
                 std::vector<std::int32_t>, std::vector<std::int64_t>, std::vector<float>,
                 std::vector<double>, std::vector<std::string>, std::int8_t, std::int16_t,
                 std::uint8_t, std::uint16_t, std::vector<std::int8_t>, std::vector<std::int16_t>,
                 std::vector<std::uint8_t>, std::vector<std::uint16_t>>;

/// The type of a value. Files hold these numbers: the list of contents, records, the manifest of a
/// Zarr store. A new type is added at the end.
enum class ValueKind : std::size_t {
  boolean,
  int32,
  int64,
  float32,
  float64,
  text,
  int32_list,
  int64_list,
  float32_list,
  float64_list,
  text_list,
  int8,
  int16,
  uint8,
  uint16,
  int8_list,
  int16_list,
  uint8_list,
  uint16_list
};
template <ValueKind kind>
using ValueOf = std::variant_alternative_t<static_cast<std::size_t>(kind), AttributeValue>;
static_assert(std::is_same_v<ValueOf<ValueKind::boolean>, bool>);
static_assert(std::is_same_v<ValueOf<ValueKind::int32>, std::int32_t>);
static_assert(std::is_same_v<ValueOf<ValueKind::int64>, std::int64_t>);
static_assert(std::is_same_v<ValueOf<ValueKind::float32>, float>);
static_assert(std::is_same_v<ValueOf<ValueKind::float64>, double>);
static_assert(std::is_same_v<ValueOf<ValueKind::text>, std::string>);
static_assert(std::is_same_v<ValueOf<ValueKind::int32_list>, std::vector<std::int32_t>>);
static_assert(std::is_same_v<ValueOf<ValueKind::int64_list>, std::vector<std::int64_t>>);
static_assert(std::is_same_v<ValueOf<ValueKind::float32_list>, std::vector<float>>);
static_assert(std::is_same_v<ValueOf<ValueKind::float64_list>, std::vector<double>>);
static_assert(std::is_same_v<ValueOf<ValueKind::text_list>, std::vector<std::string>>);
static_assert(std::is_same_v<ValueOf<ValueKind::int8>, std::int8_t>);
static_assert(std::is_same_v<ValueOf<ValueKind::int16>, std::int16_t>);
static_assert(std::is_same_v<ValueOf<ValueKind::uint8>, std::uint8_t>);
static_assert(std::is_same_v<ValueOf<ValueKind::uint16>, std::uint16_t>);
static_assert(std::is_same_v<ValueOf<ValueKind::int8_list>, std::vector<std::int8_t>>);
static_assert(std::is_same_v<ValueOf<ValueKind::int16_list>, std::vector<std::int16_t>>);
static_assert(std::is_same_v<ValueOf<ValueKind::uint8_list>, std::vector<std::uint8_t>>);
static_assert(std::is_same_v<ValueOf<ValueKind::uint16_list>, std::vector<std::uint16_t>>);
inline ValueKind kind_of(const AttributeValue& value) noexcept {
  return static_cast<ValueKind>(value.index());
}

struct Attribute {
  std::string owner;  ///< "" the file, else a group or a variable
  std::string name;
  AttributeValue value;
  friend bool operator==(const Attribute&, const Attribute&) = default;
};

/// Its text, also where it is a list of one: netCDF4-python writes text that is not ASCII so.
/// Null: it is no text.
const std::string* text_of(const AttributeValue& value) noexcept;

/// Replaces the value of the attribute if it exists, else appends it.
void set_attribute(std::vector<Attribute>& attributes, const Attribute& attribute);

}  // namespace sluice::model
