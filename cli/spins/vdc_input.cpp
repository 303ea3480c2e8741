// The parameters of VAMPIRE's own converter, under its names.
#include <algorithm>
#include <cmath>
#include <map>

#include "model/number_text.hpp"
#include "sluice/error.hpp"
#include "spins/spin_selection.hpp"

namespace sluice::cli {

namespace {

/// Also without quotes.
std::string bare(std::string_view text) { return std::string(model::trimmed(text, " \t\r\"")); }

struct VdcLine {
  std::string place;  ///< "file:3"
  std::string name;
  std::string value;

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Code::invalid_argument, place + ": " + name + ": " + what);
  }
  std::vector<double> numbers(std::size_t count) const {
    std::vector<double> result = list();
    if (result.size() != count) {
      fail("expected " + std::to_string(count) + " numbers, found " +
           std::to_string(result.size()));
    }
    return result;
  }
  /// Separated by commas, blanks and braces.
  std::vector<double> list() const {
    std::string text = value;
    std::replace_if(
        text.begin(), text.end(),
        [](char c) { return c == '{' || c == '}' || c == ' ' || c == '\t'; }, ',');
    std::string packed;
    for (const char c : text) {
      if (c != ',' || (!packed.empty() && packed.back() != ',')) {
        packed += c;
      }
    }
    if (packed.ends_with(',')) {
      packed.pop_back();
    }
    return numbers_of(place + ": " + name, packed);
  }
  std::vector<double> sizes() const {
    std::vector<double> result = list();
    if (!std::all_of(result.begin(), result.end(),
                     [](double size) { return size > 0 && std::isfinite(size); })) {
      fail("expected sizes above 0");
    }
    return result;
  }
  std::uint32_t frame() const {
    const double number = numbers(1)[0];
    if (!(number >= 0 && number < 1e8)) {
      fail("expected a frame, from 0");
    }
    return static_cast<std::uint32_t>(number);
  }
  /// Materials, which vdc numbers from 1, here from 0.
  std::vector<std::int32_t> materials() const {
    std::vector<std::int32_t> result;
    for (const double number : list()) {
      if (!(number >= 1 && number <= 65536)) {
        fail("expected numbers of materials, from 1");
      }
      result.push_back(static_cast<std::int32_t>(number) - 1);
    }
    return result;
  }
};

using Setter = void (*)(const VdcLine& line, SpinChoice& choice);

void add_slice(Slice::Shape shape, const VdcLine& line, SpinChoice& choice, std::size_t count) {
  choice.slices.push_back({shape, line.numbers(count)});
}

/// "x-vector", "slice_void" and the like in vdc's first words for them.
const std::map<std::string, std::string> other_names{{"start-frame", "frame-start"},
                                                     {"final-frame", "frame-final"},
                                                     {"frame-end", "frame-final"},
                                                     {"remove-material", "remove-materials"},
                                                     {"antiferromagnetic-materials", "afm"},
                                                     {"void-slice", "slice-void"},
                                                     {"sphere-slice", "slice-sphere"},
                                                     {"z-vector", "vector-z"},
                                                     {"x-vector", "vector-x"},
                                                     {"colormap", "colourmap"},
                                                     {"custom-colormap", "custom-colourmap"},
                                                     {"camera-lookat", "camera-look-at"},
                                                     {"background-color", "background-colour"},
                                                     {"3D", "3d"}};

const std::map<std::string, Setter> setters{
    {"frame-start", [](const VdcLine& l, SpinChoice& c) { c.first_frame = l.frame(); }},
    {"frame-final", [](const VdcLine& l, SpinChoice& c) { c.end_frame = l.frame(); }},
    {"remove-materials",
     [](const VdcLine& l, SpinChoice& c) { c.removed_materials = l.materials(); }},
    {"afm", [](const VdcLine& l, SpinChoice& c) { c.reversed_materials = l.materials(); }},
    {"slice", [](const VdcLine& l, SpinChoice& c) { add_slice(Slice::Shape::box, l, c, 6); }},
    {"slice-void",
     [](const VdcLine& l, SpinChoice& c) { add_slice(Slice::Shape::void_box, l, c, 6); }},
    {"slice-sphere",
     [](const VdcLine& l, SpinChoice& c) { add_slice(Slice::Shape::sphere, l, c, 3); }},
    {"slice-cylinder",
     [](const VdcLine& l, SpinChoice& c) { add_slice(Slice::Shape::cylinder, l, c, 4); }},
    {"vector-x", [](const VdcLine& l, SpinChoice& c) { c.view.vector_x = l.numbers(3); }},
    {"vector-z", [](const VdcLine& l, SpinChoice& c) { c.view.vector_z = l.numbers(3); }},
    {"colourmap", [](const VdcLine& l, SpinChoice& c) { c.view.colour_map = l.value; }},
    {"custom-colourmap", [](const VdcLine& l, SpinChoice& c) { c.view.colour_map = l.value; }},
    {"3d", [](const VdcLine& l, SpinChoice& c) { c.view.is_3d = l.value != "false"; }},
    {"camera-position", [](const VdcLine& l, SpinChoice& c) { c.view.camera = l.numbers(3); }},
    {"camera-look-at", [](const VdcLine& l, SpinChoice& c) { c.view.look_at = l.numbers(3); }},
    {"camera-zoom", [](const VdcLine& l, SpinChoice& c) { c.view.zoom = l.numbers(1)[0]; }},
    {"background-colour", [](const VdcLine& l, SpinChoice& c) { c.view.background = l.value; }},
    {"atom-sizes", [](const VdcLine& l, SpinChoice& c) { c.view.atom_sizes = l.sizes(); }},
    {"arrow-sizes", [](const VdcLine& l, SpinChoice& c) { c.view.arrow_sizes = l.list(); }}};

void apply(VdcLine line, SpinChoice& choice) {
  if (const auto other = other_names.find(line.name); other != other_names.end()) {
    line.name = other->second;
  }
  if (line.name == "cell-size") {
    line.fail("cells are not supported: use VAMPIRE's vdc --cells");
  }
  const auto setter = setters.find(line.name);
  if (setter == setters.end()) {
    std::string known;
    for (const auto& [name, set] : setters) {
      known += (known.empty() ? "" : ", ") + name;
    }
    line.fail("unknown parameter: use one of " + known);
  }
  setter->second(line, choice);
}

}  // namespace

void apply_vdc_input(const std::string& text, const std::string& path, SpinChoice& choice) {
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    line.resize(std::min({line.find('#'), line.find("//"), line.size()}));
    if (bare(line).empty()) {
      continue;
    }
    const std::size_t equals = line.find('=');
    VdcLine parsed{path + ":" + std::to_string(number), bare(line.substr(0, equals)), ""};
    if (equals != std::string::npos) {
      parsed.value = bare(line.substr(equals + 1));
    } else if (parsed.name != "3d") {
      parsed.fail("expected '=' and a value");
    }
    apply(parsed, choice);
  }
}

}  // namespace sluice::cli
