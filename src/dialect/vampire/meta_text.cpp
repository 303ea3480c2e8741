// The .meta files as VAMPIRE writes them. Its own converter counts lines and cuts prefixes by their
// length: no line may be longer or shorter.
#include <array>
#include <charconv>

#include "dialect/vampire/meta.hpp"

namespace sluice::dialect::vampire {
namespace {

constexpr const char* short_rule = "#--------------------------------------------\n";
constexpr const char* rule = "#------------------------------------------------------\n";
constexpr const char* long_rule = "#----------------------------------------------------------\n";

std::string three(const std::array<std::string, 3>& values) {
  return values[0] + "\t" + values[1] + "\t" + values[2] + "\n";
}

std::string number(double value) {
  std::string out;
  append_number(out, value);
  return out;
}

std::string names(const char* key, const std::vector<std::string>& files) {
  std::string out = key + std::to_string(files.size()) + "\n";
  for (const std::string& file : files) {
    out += file + "\n";
  }
  return out;
}

}  // namespace

void append_number(std::string& out, double value) {
  std::array<char, 32> buffer;
  constexpr int digits = 6;
  const auto done = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                  std::chars_format::general, digits);
  out.append(buffer.data(), done.ptr);
}

std::string coordinates_meta_text(const CoordinatesMeta& meta, const std::string& date) {
  std::string out = long_rule;
  out += "# Atomistic coordinates configuration file for vampire V5+\n";
  out += std::string(long_rule) + "# Date: " + date + "\n" + short_rule;
  out += std::string("Format: ") + (meta.text ? "text" : "binary") + "\n" + short_rule;
  out += "Number of atoms: " + std::to_string(meta.atoms) + "\n" + short_rule;
  out += "Number of materials: " + std::to_string(meta.materials.size()) + "\n";
  for (const Material& material : meta.materials) {
    // Each column must have a word: the converter reads words.
    out += std::to_string(material.id) + "\t" + number(material.moment_mub) + "\t" +
           (material.element.empty() ? "Ag" : material.element) + "\t" +
           (material.name.empty() ? "material" : material.name) + "\n";
  }
  return out + short_rule + names("Number of coord files: ", meta.files);
}

std::string spins_meta_text(const SpinsMeta& meta, const std::string& date) {
  std::string out = rule;
  out += "# Atomistic spin configuration file for vampire v5+\n";
  out += std::string(rule) + "# Date: " + date + "\n" + rule;
  out += "Time: " + number(meta.time_s) + "\n";
  out += "Field: " +
         three({number(meta.field_t[0]), number(meta.field_t[1]), number(meta.field_t[2])});
  out += "Temperature: " + number(meta.temperature_k) + "\n";
  out += "Magnetisation: " + three(meta.magnetisation) + rule;
  return out + names("Number of spin files: ", meta.files) + rule;
}

std::string non_magnetic_meta_text(const NonMagneticMeta& meta, const std::string& date) {
  std::string out = long_rule;
  out += "# Non-magnetic atoms configuration file for vampire V5+\n";
  out += std::string(long_rule) + "# Date: " + date + "\n" + short_rule;
  out += std::string("Format: ") + (meta.text ? "text" : "binary") + "\n" + short_rule;
  out += "Number of atoms: " + std::to_string(meta.atoms) + "\n" + short_rule;
  return out + names("Number of files: ", meta.files);
}

}  // namespace sluice::dialect::vampire
