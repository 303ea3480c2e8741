#include "input_file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>

#include "comm.hpp"

namespace vampire {
namespace {

constexpr double joule_per_mev = 1.602176634e-22;

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\"");
  return first == std::string_view::npos
             ? ""
             : std::string(text.substr(first, text.find_last_not_of(" \t\r\"") - first + 1));
}

/// Insertions, deletions and exchanges of letters between two words.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t exchanged = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j + 1] + 1, row[j] + 1, exchanged});
    }
  }
  return row.back();
}

/// A line with an assignment.
struct Line {
  std::string place;  ///< "input:7"
  std::string key;    ///< "sim:time-step"
  std::string value;
  std::string unit;

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Code::invalid_argument, place + ": " + key + ": " + what);
  }
  double plain(const std::string& text) const {
    double number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size() || !std::isfinite(number)) {
      fail("expected a number, found '" + text + "'");
    }
    return number;
  }
  /// In units of the first one of `units`, which is also the default.
  double number(const std::map<std::string, double>& units = {}) const {
    if (unit.empty()) {
      return plain(value);
    }
    const auto found = units.find(unit);
    if (found == units.end()) {
      std::string known;
      for (const auto& [name, factor] : units) {
        known += " !" + name;
      }
      fail("the unit !" + unit + " is none of" + (known.empty() ? " none" : known));
    }
    return plain(value) * found->second;
  }
  double length() const { return number({{"A", 1}, {"nm", 10}, {"um", 1e4}, {"m", 1e10}}); }
  double fraction() const {
    const double part = number();
    if (part < 0 || part > 1) {
      fail("a fraction is from 0 to 1");
    }
    return part;
  }
  std::uint32_t count() const {
    const double number_found = number();
    if (!(number_found >= 0 && number_found <= 4294967295.0) ||
        number_found != std::floor(number_found)) {
      fail("expected a count, found '" + value + "'");
    }
    return static_cast<std::uint32_t>(number_found);
  }
  std::string one_of(std::initializer_list<const char*> words) const {
    std::string known;
    for (const char* word : words) {
      if (value == word) {
        return value;
      }
      known += std::string(known.empty() ? "" : ", ") + word;
    }
    fail("'" + value + "' is none of " + known);
  }
  std::vector<double> list(std::size_t size) const {
    std::vector<double> numbers;
    for (std::size_t begin = 0; begin <= value.size();) {
      const std::size_t end = std::min(value.find(',', begin), value.size());
      numbers.push_back(plain(trimmed(value.substr(begin, end - begin))));
      begin = end + 1;
    }
    if (numbers.size() != size) {
      fail("expected " + std::to_string(size) + " numbers with commas between them");
    }
    return numbers;
  }
};

/// Values that are set in two places and combined at the end.
struct Input {
  Options& options;
  std::array<double, 3> size_angstrom{77, 77, 77};
  std::string periodic{};
  std::uint32_t steps_between = 1000;
  std::uint32_t outputs_between = 1;
  double field_t = 0;
  std::vector<double> field_direction{0, 0, 1};
  std::string material_file{};
  bool has_atoms = false;
  std::vector<std::string> notes{};
};

using Setter = std::function<void(const Line& line, Input& input)>;
using Keywords = std::map<std::string, Setter>;

void ignore(const Line&, Input&) {}

Keywords sample_keywords() {
  return {
      {"create:crystal-structure",
       [](const Line& l, Input& i) {
         i.options.lattice = l.one_of({"sc", "bcc", "fcc"});
       }},
      {"create:full", ignore},
      {"dimensions:unit-cell-size",
       [](const Line& l, Input& i) { i.options.spacing_angstrom = l.length(); }},
      {"dimensions:system-size", [](const Line& l, Input& i) { i.size_angstrom.fill(l.length()); }},
      {"material:file", [](const Line& l, Input& i) { i.material_file = l.value; }},
      {"sim:temperature",
       [](const Line& l, Input& i) { i.options.physics.temperature_k = l.number(); }},
      {"sim:time-step",
       [](const Line& l, Input& i) {
         i.options.physics.dt_fs =
             1e15 * l.number({{"s", 1}, {"ns", 1e-9}, {"ps", 1e-12}, {"fs", 1e-15}});
       }},
      {"sim:total-time-steps", [](const Line& l, Input& i) { i.options.steps = l.count(); }},
      {"sim:equilibration-time-steps",
       [](const Line& l, Input& i) { i.options.equilibration = l.count(); }},
      {"sim:time-steps-increment", [](const Line& l, Input& i) { i.steps_between = l.count(); }},
      {"sim:program", [](const Line& l, Input&) { l.one_of({"time-series"}); }},
      {"sim:integrator", [](const Line& l, Input&) { l.one_of({"llg-heun"}); }},
      {"sim:integrator-random-seed",
       [](const Line& l, Input& i) { i.options.physics.seed = l.count(); }},
      {"sim:applied-field-strength",
       [](const Line& l, Input& i) {
         i.field_t = l.number({{"T", 1}, {"mT", 1e-3}});
       }},
      {"sim:applied-field-unit-vector",
       [](const Line& l, Input& i) { i.field_direction = l.list(3); }}};
}

Keywords output_keywords() {
  return {
      {"config:atoms",
       [](const Line& l, Input& i) {
         i.has_atoms = true;
         i.options.only_last = !l.value.empty() && l.one_of({"continuous", "end", "true"}) == "end";
       }},
      {"config:atoms-output-rate", [](const Line& l, Input& i) { i.outputs_between = l.count(); }},
      {"config:output-mode",
       [](const Line& l, Input& i) {
         i.options.mode = l.one_of({"file-per-node", "file-per-process", "mpi-io", "legacy"});
       }},
      {"config:output-format",
       [](const Line& l, Input& i) {
         i.options.text = l.one_of({"text", "binary"}) == "text";
       }},
      {"config:output-nodes", [](const Line& l, Input& i) {
         i.options.writers = static_cast<int>(std::clamp(l.count(), 1U, 1000000U));
       }}};
}

void add_axes(Keywords& known) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::string name(1, static_cast<char>('x' + axis));
    known["dimensions:system-size-" + name] = [axis](const Line& l, Input& i) {
      i.size_angstrom[axis] = l.length();
    };
    known["create:periodic-boundaries-" + name] = [name](const Line&, Input& i) {
      i.periodic += name;
    };
    known["config:atoms-minimum-" + name] = [axis](const Line& l, Input& i) {
      i.options.output_low[axis] = l.fraction();
    };
    known["config:atoms-maximum-" + name] = [axis](const Line& l, Input& i) {
      i.options.output_high[axis] = l.fraction();
    };
  }
}

Keywords input_keywords() {
  Keywords known = sample_keywords();
  known.merge(output_keywords());
  add_axes(known);
  // Columns of VAMPIRE's own table: the table here has fixed columns.
  for (const char* category : {"output:", "screen:"}) {
    for (const char* column :
         {"real-time", "time-steps", "temperature", "applied-field-strength", "magnetisation",
          "magnetisation-length", "mean-magnetisation-length", "total-energy"}) {
      known[std::string(category) + column] = ignore;
    }
  }
  return known;
}

Keywords material_keywords() {
  const auto energy = [](const Line& l) { return l.number({{"J/link", 1}, {"J/atom", 1}}); };
  const Setter anisotropy = [energy](const Line& l, Input& i) {
    i.options.physics.anisotropy_mev = energy(l) / joule_per_mev;
  };
  return {{"material:num-materials",
           [](const Line& l, Input&) {
             if (l.count() != 1) {
               l.fail("one material is simulated here");
             }
           }},
          {"material:atomic-spin-moment",
           [](const Line& l, Input& i) {
             i.options.moment_mub = l.number({{"muB", 1}, {"mu_B", 1}, {"J/T", 1 / 9.274e-24}});
           }},
          {"material:exchange-matrix[1]",
           [energy](const Line& l, Input& i) {
             i.options.physics.exchange_mev = energy(l) / joule_per_mev;
           }},
          {"material:damping-constant",
           [](const Line& l, Input& i) { i.options.physics.damping = l.number(); }},
          {"material:uniaxial-anisotropy-constant", anisotropy},
          {"material:second-order-uniaxial-anisotropy-constant", anisotropy},
          {"material:uniaxial-anisotropy-direction",
           [](const Line& l, Input& i) {
             const auto axis = l.list(3);
             i.options.physics.axis = {axis[0], axis[1], axis[2]};
           }},
          {"material:initial-spin-direction",
           [](const Line& l, Input& i) {
             i.options.start = l.value == "random" ? "random" : "up";
             if (l.value != "random" && l.list(3) != std::vector<double>{0, 0, 1}) {
               l.fail("there are random and 0,0,1");
             }
           }},
          {"material:material-element",
           [](const Line& l, Input& i) { i.options.element = trimmed(l.value); }},
          {"material:material-name",
           [](const Line& l, Input& i) { i.options.material_name = l.value; }},
          {"material:minimum-height", ignore},
          {"material:maximum-height", ignore}};
}

/// `material[1]:damping-constant` and `material:...` are the same keyword here.
std::string without_number(const std::string& key, const Line& line) {
  const std::string first = "material[1]:";
  if (key.starts_with(first)) {
    return "material:" + key.substr(first.size());
  }
  if (key.starts_with("material[")) {
    line.fail("one material is simulated here, material[1]");
  }
  return key;
}

void apply_lines(const std::string& text, const std::string& path, const Keywords& known,
                 Input& input) {
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string content = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    content.resize(std::min(content.find('#'), content.size()));
    if (trimmed(content).empty()) {
      continue;
    }
    const std::size_t equals = content.find('=');
    Line line{path + ":" + std::to_string(number), trimmed(content.substr(0, equals)), "", ""};
    if (equals != std::string::npos) {
      const std::string value = content.substr(equals + 1);
      const std::size_t mark = value.find('!');
      line.value = trimmed(value.substr(0, mark));
      line.unit = mark == std::string::npos ? "" : trimmed(value.substr(mark + 1));
    }
    line.key = without_number(line.key, line);
    const auto found = known.find(line.key);
    if (found == known.end()) {
      const auto nearest =
          std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) {
            return distance(a.first, line.key) < distance(b.first, line.key);
          });
      line.fail("no such keyword; the nearest one is " + nearest->first);
    }
    found->second(line, input);
  }
}

void apply_materials(const std::string& path, const ReadText& read, Input& input) {
  if (input.material_file.empty()) {
    return;
  }
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const std::string file = folder + input.material_file;
  std::string text;
  try {
    text = read(file);
  } catch (const Error& error) {
    if (error.code() != Code::not_found) {
      throw;
    }
    input.notes.push_back(file + " is not there: cobalt is simulated instead");
    return;
  }
  apply_lines(text, file, material_keywords(), input);
}

}  // namespace

std::vector<std::string> apply_input(const std::string& path, const ReadText& read,
                                     Options& options) {
  // VAMPIRE's defaults, and cobalt as its examples have it.
  options.mode = "file-per-node";
  options.text = true;
  options.writers = 1;
  options.writes_start = false;
  options.steps = 10000;
  options.physics.exchange_mev = 6.064e-21 / joule_per_mev;
  options.physics.damping = 1;
  options.element = "Ag";
  options.material_name = "Co";
  Input input{.options = options};
  apply_lines(read(path), path, input_keywords(), input);
  apply_materials(path, read, input);
  if (!input.has_atoms) {
    input.notes.push_back(path + ": without config:atoms VAMPIRE writes no atoms; here they are");
  }
  options.size.clear();
  for (const double length : input.size_angstrom) {
    options.size.push_back(
        static_cast<std::uint64_t>(std::ceil(length / options.spacing_angstrom - 1e-9)));
  }
  options.periodic = input.periodic.empty() ? "none" : input.periodic;
  const std::uint64_t every =
      std::uint64_t{std::max(1U, input.steps_between)} * std::max(1U, input.outputs_between);
  options.every = static_cast<std::uint32_t>(std::min<std::uint64_t>(every, 4294967295U));
  const Vec3 direction{input.field_direction[0], input.field_direction[1],
                       input.field_direction[2]};
  if (input.field_t != 0) {
    options.physics.field_t = input.field_t * normalised(direction);
  }
  return input.notes;
}

}  // namespace vampire
