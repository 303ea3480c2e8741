#include "dialect/vampire/meta.hpp"

#include <cmath>

#include "dialect/vampire/meta_lines.hpp"
#include "sluice/error.hpp"

namespace sluice::dialect::vampire {
namespace {

/// The third of the fields of `line` as it stands: VAMPIRE writes symbols with a blank behind them.
std::string third_field(std::string_view line) {
  for (int field = 0; field < 2; ++field) {
    line.remove_prefix(line.find('\t') + 1);
  }
  line = line.substr(0, line.find('\t'));
  const auto first = line.find_first_not_of(' ');
  return first == std::string_view::npos ? "" : std::string(line.substr(first));
}

Material material(Lines& lines) {
  const std::string_view line = lines.next("the last of the materials");
  const auto fields = split(line, '\t');
  if (fields.size() < 2) {
    lines.fail("expected a material: id, moment, element, name, separated by tabs");
  }
  Material result;
  result.id = lines.number<std::int32_t>(fields[0]);
  result.moment_mub = lines.number<double>(fields[1]);
  if (!std::isfinite(result.moment_mub)) {
    lines.fail("the moment of material " + std::to_string(result.id) + " is not finite");
  }
  result.element = fields.size() > 2 ? third_field(line) : "";
  result.name = fields.size() > 3 ? fields[3] : "";
  return result;
}

bool says_text(Lines& lines) {
  const std::string_view format = lines.value("Format:");
  if (format != "text" && format != "binary") {
    lines.fail("expected 'Format: text' or 'Format: binary', found " + quoted(format));
  }
  return format == "text";
}

}  // namespace

void require_words(const std::vector<Material>& materials, const std::string& path) {
  for (const Material& material : materials) {
    for (const std::string* text : {&material.element, &material.name}) {
      if (!model::is_one_line(*text) || text->find('\t') != std::string::npos) {
        throw Error(Code::format, path + ": material " + std::to_string(material.id) +
                                      " is called " + quoted(*text) +
                                      ": a tab or the end of a line has no place in a text");
      }
    }
  }
}

NonMagneticMeta parse_non_magnetic_meta(std::string_view text, const std::string& path) {
  Lines lines(text, path);
  NonMagneticMeta meta;
  meta.text = says_text(lines);
  meta.atoms = lines.number<std::uint64_t>(lines.value("Number of atoms:"));
  meta.files = file_names(lines, "Number of files:");
  return meta;
}

CoordinatesMeta parse_coordinates_meta(std::string_view text, const std::string& path) {
  Lines lines(text, path);
  CoordinatesMeta meta;
  meta.text = says_text(lines);
  meta.atoms = lines.number<std::uint64_t>(lines.value("Number of atoms:"));
  const std::uint64_t materials = lines.count("Number of materials:", 4);
  for (std::uint64_t i = 0; i < materials; ++i) {
    meta.materials.push_back(material(lines));
  }
  meta.files = file_names(lines, "Number of coord files:");
  return meta;
}

SpinsMeta parse_spins_meta(std::string_view text, const std::string& path) {
  Lines lines(text, path);
  SpinsMeta meta;
  meta.time_s = lines.number<double>(lines.value("Time:"));
  const auto field = lines.three("Field:");
  for (std::size_t i = 0; i < 3; ++i) {
    meta.field_t[i] = lines.number<double>(field[i]);
  }
  meta.temperature_k = lines.number<double>(lines.value("Temperature:"));
  const auto magnetisation = lines.three("Magnetisation:");
  for (std::size_t i = 0; i < 3; ++i) {
    lines.number<double>(magnetisation[i]);
    meta.magnetisation[i] = magnetisation[i];
  }
  meta.files = file_names(lines, "Number of spin files:");
  return meta;
}

}  // namespace sluice::dialect::vampire
