#include "dialect/vampire/legacy.hpp"

#include <charconv>

#include "dialect/vampire/meta_lines.hpp"

namespace sluice::dialect::vampire {
namespace {

/// The moment in J/T was printed with six digits: the others are noise.
double six_digits(double value) {
  std::string text;
  append_number(text, value);
  double result = value;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

/// The others' names and where the rows begin.
void finish(Lines& lines, LegacyHeader& header) {
  header.others = file_names(lines, "Number of spin files:", true);
  lines.next_rule();
  header.bytes = lines.read_bytes();
}

}  // namespace

LegacyHeader parse_legacy_coordinates(std::string_view text, const std::string& path) {
  Lines lines(text, path);
  LegacyHeader header;
  header.atoms = lines.number<std::uint64_t>(lines.value("Number of atoms:"));
  finish(lines, header);
  return header;
}

LegacyHeader parse_legacy_spins(std::string_view text, const std::string& path) {
  Lines lines(text, path);
  LegacyHeader header;
  header.atoms = lines.number<std::uint64_t>(lines.value("Number of spins:"));
  const auto box = lines.three("System dimensions:");
  for (std::size_t axis = 0; axis < 3; ++axis) {
    header.meta.box_angstrom[axis] = lines.number<double>(box[axis]);
  }
  lines.value("Coordinates-file:");
  header.meta.time_s = lines.number<double>(lines.value("Time:"));
  header.meta.field_t[2] = lines.number<double>(lines.value("Field:"));
  header.meta.temperature_k = lines.number<double>(lines.value("Temperature:"));
  // Its length may follow the direction.
  const auto magnetisation = split(lines.value("Magnetisation:"), '\t');
  if (magnetisation.size() < 3) {
    lines.fail("expected three numbers separated by tabs after 'Magnetisation:'");
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    lines.number<double>(magnetisation[axis]);
    header.meta.magnetisation[axis] = magnetisation[axis];
  }
  const std::uint64_t materials = lines.count("Number of Materials:", 2);
  for (std::uint64_t i = 0; i < materials; ++i) {
    const auto moment = lines.number<double>(lines.next("the last of the moments"));
    header.moments_mub.push_back(six_digits(moment / bohr_magneton));
  }
  finish(lines, header);
  return header;
}

}  // namespace sluice::dialect::vampire
