#include "spins/spin_source.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <type_traits>
#include <variant>

#include "commit/read/input.hpp"
#include "commit/tools/companions.hpp"
#include "exec/transport/agree.hpp"
#include "sluice/error.hpp"
#include "spins/spin_names.hpp"

namespace sluice::cli {

namespace {

/// Range of the numbers in names of VAMPIRE's files.
bool is_ascending(const std::vector<std::int64_t>& numbers) {
  constexpr std::int64_t most = 99'999'999;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < (i == 0 ? 0 : numbers[i - 1] + 1) || numbers[i] > most) {
      return false;
    }
  }
  return true;
}

class FolderSource : public SpinSource {
 public:
  FolderSource(const Context& context, const std::string& path)
      : snapshot_(vampire::open(context.transport, borrowed(context.storage), path)) {
    atoms = snapshot_.atoms();
    numbers = snapshot_.frames();
    frames = static_cast<std::uint32_t>(numbers.size());
    materials = snapshot_.materials();
    non_magnetic_atoms = snapshot_.non_magnetic_atoms();
    rows_of_file = snapshot_.rows_of_file();
    was_text = snapshot_.text();
    was_legacy = snapshot_.legacy();
    if (was_legacy && frames != 0) {
      box_angstrom = open(numbers[0]).meta.box_angstrom;
    }
    notes = snapshot_.notes();
  }
  vampire::Coordinates coordinates(std::uint64_t first, std::uint64_t count) override {
    return snapshot_.read_coordinates(first, count);
  }
  vampire::Coordinates non_magnetic(std::uint64_t first, std::uint64_t count) override {
    return snapshot_.read_non_magnetic(first, count);
  }
  std::vector<double> spins(std::uint32_t frame, std::uint64_t first,
                            std::uint64_t count) override {
    return snapshot_.read_spins(open(numbers[frame]), first, count);
  }
  vampire::SpinsMeta meta(std::uint32_t frame) override { return open(numbers[frame]).meta; }

 private:
  const vampire::Frame& open(std::uint32_t number) {
    if (frame_.data.files.empty() || frame_.index != number) {
      frame_ = snapshot_.frame(number);
    }
    return frame_;
  }

  vampire::Snapshot snapshot_;
  vampire::Frame frame_;
};

/// A value as T; nothing where T cannot hold it as it is.
template <class T, class Held>
std::optional<T> value_as(const Held& held) {
  if constexpr (std::is_same_v<T, Held>) {
    return held;
  } else if constexpr (std::is_arithmetic_v<T> && std::is_arithmetic_v<Held>) {
    const bool fits = !std::is_integral_v<T> || std::is_integral_v<Held>;
    return fits ? std::optional(static_cast<T>(held)) : std::nullopt;
  } else {
    return std::nullopt;
  }
}
template <class T, class Held>
std::optional<std::vector<T>> list_of(const Held& held) {
  const auto one = value_as<T>(held);
  return one ? std::optional(std::vector<T>{*one}) : std::nullopt;
}
template <class T, class Held>
std::optional<std::vector<T>> list_of(const std::vector<Held>& held) {
  std::vector<T> values;
  for (const Held& one : held) {
    const auto value = value_as<T>(one);
    if (!value) {
      return std::nullopt;
    }
    values.push_back(*value);
  }
  return values;
}

class FileSource : public SpinSource {
 public:
  FileSource(const Context& context, const std::string& path)
      : input_(context.transport, context.storage, path, Options{}) {}

  bool has(const std::string& name, int rank) const {
    for (const auto& variable : input_.variables()) {
      if (variable.definition.name == name) {
        return variable.definition.shape.rank() == rank;
      }
    }
    return false;
  }
  bool has_spins() const {
    return has(names::spins, 2) && has(names::coordinates, 2) && definition(names::spins).stepped &&
           definition(names::spins).shape[1] == 3 &&
           definition(names::spins).shape == definition(names::coordinates).shape;
  }
  /// The values of the attributes.
  void describe() {
    require_places();
    find_others();
    atoms = definition(names::spins).shape[0];
    frames = static_cast<std::uint32_t>(input_.steps());
    non_magnetic_atoms =
        has(names::nm_coordinates, 2) ? definition(names::nm_coordinates).shape[0] : 0;
    describe_materials();
    std::uint64_t left = atoms;
    for (const std::int64_t rows : attribute_list<std::int64_t>(names::rows)) {
      if (rows < 0 || static_cast<std::uint64_t>(rows) > left) {
        refuse(names::rows, std::to_string(rows) + ": the files have at most the " +
                                std::to_string(atoms) + " atoms together");
      }
      left -= static_cast<std::uint64_t>(rows);
      rows_of_file.push_back(static_cast<std::uint64_t>(rows));
    }
    const auto snapshots = attribute_list<std::int64_t>(names::snapshots);
    if (snapshots.size() == frames && is_ascending(snapshots)) {
      numbers.assign(snapshots.begin(), snapshots.end());
    }
    has_times = frames > 0 && std::isfinite(input_.time(0));
    require_shapes();
    has_temperatures = is_there(names::temperature);
    const auto text = attribute_list<std::int64_t>(names::text);
    was_text = !text.empty() && text[0] != 0;
    const auto mode = attribute_list<std::string>(names::mode);
    was_legacy = !mode.empty() && mode[0] == vampire::mode_name(vampire::Mode::legacy);
    const auto box = attribute_list<double>(names::box);
    std::copy_n(box.begin(), std::min(box.size(), box_angstrom.size()), box_angstrom.begin());
  }

  vampire::Coordinates coordinates(std::uint64_t first, std::uint64_t count) override {
    return read(names::coordinates, names::material, names::category, first, count);
  }
  vampire::Coordinates non_magnetic(std::uint64_t first, std::uint64_t count) override {
    return read(names::nm_coordinates, names::nm_material, names::nm_category, first, count);
  }
  std::vector<double> spins(std::uint32_t frame, std::uint64_t first,
                            std::uint64_t count) override {
    return rows<double>(names::spins, 3, frame, first, count);
  }
  vampire::SpinsMeta meta(std::uint32_t frame) override {
    vampire::SpinsMeta meta;
    const double time_ps = input_.time(frame);
    meta.time_s = std::isfinite(time_ps) ? time_ps * 1e-12 : 0;
    const auto field = of_step(names::field, 3, frame);
    const auto temperature = of_step(names::temperature, 1, frame);
    std::copy(field.begin(), field.end(), meta.field_t.begin());
    meta.temperature_k = temperature[0];
    if (is_there(names::magnetisation)) {
      const auto m = rows<double>(names::magnetisation, 1, frame, 0, 3);
      for (std::size_t i = 0; i < 3; ++i) {
        vampire::append_number(meta.magnetisation[i], m[i]);
      }
    }
    return meta;
  }

 private:
  /// Atoms are read once, for all frames.
  void require_places() const {
    for (const char* name : {names::coordinates, names::material, names::category,
                             names::nm_coordinates, names::nm_material, names::nm_category}) {
      const bool is_there = has(name, 1) || has(name, 2);
      if (is_there && definition(name).stepped && input_.steps() > 1) {
        throw Error(Code::unsupported, input_.path() + ": " + name +
                                           " changes from step to step: only spins may; write it "
                                           "once, without steps");
      }
    }
  }
  void find_others() {
    const std::set<std::string> known{
        names::spins,       names::coordinates, names::material,      names::category,
        names::field,       names::temperature, names::magnetisation, names::nm_coordinates,
        names::nm_material, names::nm_category};
    for (const auto& variable : input_.variables()) {
      const model::Definition& d = variable.definition;
      if (known.count(d.name) == 0 && !commit::is_companion(input_, d)) {
        others.push_back(d.name);
      }
    }
  }
  const model::Definition& definition(const std::string& name) const {
    return input_.variables()[input_.find(name)].definition;
  }
  bool is_there(const std::string& name) const {
    return std::any_of(input_.variables().begin(), input_.variables().end(),
                       [&](const auto& v) { return v.definition.name == name; });
  }
  /// Error format where a variable that is known by its name has another shape: what it says would
  /// not be read.
  void require_shape(const char* name, const model::Dims& wanted) const {
    if (is_there(name) && !(definition(name).shape == wanted) &&
        !(wanted == model::Dims{1} && definition(name).shape.empty())) {
      throw Error(Code::format, input_.path() + ": " + name + " has the shape " +
                                    definition(name).shape.text() + ", and should have " +
                                    wanted.text() + ": give it another name");
    }
  }
  void require_shapes() const {
    require_shape(names::material, {atoms});
    require_shape(names::category, {atoms});
    require_shape(names::nm_material, {non_magnetic_atoms});
    require_shape(names::nm_category, {non_magnetic_atoms});
    require_shape(names::field, {3});
    require_shape(names::temperature, {1});
    require_shape(names::magnetisation, {3});
  }
  void describe_materials() {
    const auto moments = attribute_list<double>(names::moments);
    const auto elements = attribute_list<std::string>(names::elements);
    const auto material_names = attribute_list<std::string>(names::material_names);
    const std::size_t count =
        std::max({std::size_t{1}, moments.size(), elements.size(), material_names.size()});
    require_count(names::moments, moments.size(), count);
    require_count(names::elements, elements.size(), count);
    require_count(names::material_names, material_names.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      materials.push_back(
          {static_cast<std::int32_t>(i), moments.empty() ? 1 : moments[i],
           elements.empty() ? "Ag" : elements[i],
           material_names.empty() ? "material" + std::to_string(i) : material_names[i]});
    }
  }
  /// Error format where an attribute has values, and not as many as wanted.
  void require_count(const char* name, std::size_t values, std::size_t wanted) const {
    if (values != 0 && values != wanted) {
      refuse(name, std::to_string(values) + " values, and should have " + std::to_string(wanted));
    }
  }
  [[noreturn]] void refuse(const std::string& name, const std::string& has) const {
    throw Error(Code::format, input_.path() + ": attribute " + name + " has " + has);
  }
  /// The values of an attribute of the file, whatever type other programs gave it: a value alone is
  /// a list of one. Empty: there is none. Error format where T cannot hold them.
  template <class T>
  std::vector<T> attribute_list(const std::string& name) const {
    for (const model::Attribute& attribute : input_.attributes()) {
      if (attribute.owner.empty() && attribute.name == name) {
        auto values =
            std::visit([](const auto& held) { return list_of<T>(held); }, attribute.value);
        if (!values) {
          refuse(name, std::is_same_v<T, std::string>    ? "no text"
                       : std::is_same_v<T, std::int64_t> ? "no integers"
                                                         : "no numbers");
        }
        return *values;
      }
    }
    return {};
  }
  template <class T>
  std::vector<T> rows(const std::string& name, std::uint64_t columns, std::uint64_t step,
                      std::uint64_t first, std::uint64_t count) {
    std::vector<T> values(count * columns);
    const std::uint32_t variable = input_.find(name);
    model::Box box{{first}, {count}};
    if (definition(name).shape.rank() == 2) {
      box = {{first, 0}, {count, columns}};
    } else if (definition(name).shape.empty()) {
      box = {};
    }
    input_.get(commit::dense_request(variable, step, box,
                                     reinterpret_cast<std::byte*>(values.data()), type_of<T>()));
    return values;
  }
  vampire::Coordinates read(const char* xyz, const char* material, const char* category,
                            std::uint64_t first, std::uint64_t count) {
    vampire::Coordinates result;
    result.xyz = rows<double>(xyz, 3, 0, first, count);
    result.material = has(material, 1) ? rows<std::int32_t>(material, 1, 0, first, count)
                                       : std::vector<std::int32_t>(count);
    result.category = has(category, 1) ? rows<std::int32_t>(category, 1, 0, first, count)
                                       : std::vector<std::int32_t>(count);
    return result;
  }
  /// A variable with steps, or an attribute of the whole run, or zeros.
  std::vector<double> of_step(const char* name, std::uint64_t count, std::uint32_t frame) {
    if (is_there(name)) {
      return rows<double>(name, 1, frame, 0, count);
    }
    std::vector<double> values = attribute_list<double>(name);
    require_count(name, values.size(), count);
    values.resize(count);
    return values;
  }

  commit::Input input_;
};

}  // namespace

std::array<std::uint32_t, 2> SpinSource::frames_between(std::uint32_t first,
                                                        std::uint32_t end) const {
  if (numbers.empty()) {
    return {first, std::min(end, frames)};
  }
  const auto at = [&](std::uint32_t number) {
    return static_cast<std::uint32_t>(std::lower_bound(numbers.begin(), numbers.end(), number) -
                                      numbers.begin());
  };
  return {at(first), at(end)};
}

std::string SpinSource::frames_text() const {
  return numbers.empty() || numbers.back() + 1 == frames
             ? std::to_string(frames) + ", numbered from 0"
             : "the numbers " + vampire::numbers_text(numbers);
}

std::vector<std::int64_t> SpinSource::numbers_with_gaps(std::uint32_t begin,
                                                        std::uint32_t end) const {
  std::vector<std::int64_t> kept;
  const std::uint32_t from = begin == 0 || end == begin ? 0 : number(begin);
  for (std::uint32_t frame = begin; frame < end; ++frame) {
    kept.push_back(number(frame) - from);
  }
  const bool is_dense = kept.empty() || kept.back() + 1 == static_cast<std::int64_t>(kept.size());
  return is_dense ? std::vector<std::int64_t>{} : kept;
}

bool is_vampire_folder(const Context& context, const std::string& path) {
  const auto found = exec::on_root(context.transport, [&] {
    const bool is_there = context.storage.exists(path + "/atoms-coords.meta") ||
                          context.storage.exists(path + "/atoms-coords.cfg");
    return std::vector<std::byte>{std::byte{is_there}};
  });
  return found[0] != std::byte{0};
}

std::unique_ptr<SpinSource> open_spins(const Context& context, const std::string& path) {
  if (is_vampire_folder(context, path)) {
    return std::make_unique<FolderSource>(context, path);
  }
  auto file = std::make_unique<FileSource>(context, path);
  if (!file->has_spins()) {
    return nullptr;
  }
  file->describe();
  return file;
}

}  // namespace sluice::cli
