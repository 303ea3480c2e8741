// Records as lines of text: the meaning of `sluice_template` in a file of records, and the lines
// themselves, as Fortran's formatted output writes them.
//
//   files %d.traj
//   (i12,f16.6,i10) step:int32 time_ps:float64 particles:int32
//   *(i10,i4,3f10.5) id:int32 type:int32 position_nm:float32(3)
//
// A part of a record group is one pass through the lines. Those with one star more than a line
// belong to it and come as often as its last integer says. docs/formats/records.md has the grammar.
//
// Invariants: a line has as many edit descriptors with a value as its fields have values, and each
// is compatible with its value's type; a parsed template is complete.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/types.hpp"

namespace sluice::dialect::lines {

/// A value of a line: an integer, or a real.
struct Scalar {
  std::int64_t integer = 0;
  double real = 0;
};

/// One edit descriptor, not repeated: i, f, e (for es), x (blanks) or ' (literal text).
struct Edit {
  char kind = 'x';
  std::uint32_t width = 0;
  std::uint32_t digits = 0;
  std::uint32_t exponent = 0;  ///< digits of it, 0: two, or three without the letter
  std::string literal = {};
};

struct Field {
  std::string name;
  Type type;
  std::uint32_t count = 1;
};

struct Line {
  std::uint32_t depth = 0;
  std::vector<Edit> edits;
  std::vector<Field> fields;
  std::vector<Type> types;  ///< of all values, in order
  std::uint32_t width = 0;  ///< characters, without the end of the line
  /// Index of the first value of a field; npos if there is none.
  std::size_t find(std::string_view name) const noexcept;
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
};

struct Template {
  std::string files;  ///< with %d for the number of the part, from 1
  std::vector<Line> lines;
  std::string text;  ///< as it was given
  /// The name of part `number`, counted from 0.
  std::string name_of(std::uint64_t number) const;
  /// The first line with a field of this name; nullptr if there is none.
  const Line* line_with(std::string_view field) const noexcept;
};

/// Error format, with the line, if the text is not a template.
Template parse_template(const std::string& text);

/// Error format, naming the field, where one of those that are known by name (position_nm, box_nm,
/// time_ps, id, type, step) has not the type and the number of values that this name means.
void require_particle_fields(const Template& all);

/// One pass through the lines: `visit` is called for each one in turn and returns its last integer.
/// Error format if a number of lines is negative.
using Visit = std::function<std::int64_t(const Line&)>;
void walk(const Template& all, const Visit& visit);

/// Appends the line, with its end. Values too wide for their field are stars, as in Fortran.
void append_line(const Line& line, std::span<const Scalar> values, std::string& out);
/// The values of a line, without its end. Error format, saying which, if one cannot be read.
void parse_line(const Line& line, std::string_view text, std::vector<Scalar>& values);

}  // namespace sluice::dialect::lines
