#include "spins/spin_source.hpp"

#include <algorithm>
#include <cmath>
#include <set>

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
    const auto moments = attribute<std::vector<double>>(names::moments);
    const auto elements = attribute<std::vector<std::string>>(names::elements);
    const auto material_names = attribute<std::vector<std::string>>(names::material_names);
    for (std::size_t i = 0; i < std::max<std::size_t>(1, moments.size()); ++i) {
      materials.push_back(
          {static_cast<std::int32_t>(i), i < moments.size() ? moments[i] : 1,
           i < elements.size() ? elements[i] : "Ag",
           i < material_names.size() ? material_names[i] : "material" + std::to_string(i)});
    }
    for (const std::int64_t rows : attribute<std::vector<std::int64_t>>(names::rows)) {
      rows_of_file.push_back(static_cast<std::uint64_t>(rows));
    }
    const auto snapshots = attribute<std::vector<std::int64_t>>(names::snapshots);
    if (snapshots.size() == frames && is_ascending(snapshots)) {
      numbers.assign(snapshots.begin(), snapshots.end());
    }
    has_times = frames > 0 && std::isfinite(input_.time(0));
    has_temperatures = has(names::temperature, 1);
    was_text = attribute<bool>(names::text);
    was_legacy = attribute<std::string>(names::mode) == vampire::mode_name(vampire::Mode::legacy);
    const auto box = attribute<std::vector<double>>(names::box);
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
    if (has(names::magnetisation, 1)) {
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
  template <class T>
  T attribute(const std::string& name) const {
    for (const model::Attribute& attribute : input_.attributes()) {
      if (attribute.owner.empty() && attribute.name == name) {
        if (const T* value = std::get_if<T>(&attribute.value)) {
          return *value;
        }
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
    if (has(name, 1)) {
      return rows<double>(name, 1, frame, 0, count);
    }
    std::vector<double> values = attribute<std::vector<double>>(name);
    if (values.empty()) {
      values.push_back(attribute<double>(name));
    }
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
  std::int64_t found = 0;
  if (context.is_root()) {
    found = context.storage.exists(path + "/atoms-coords.meta") ||
            context.storage.exists(path + "/atoms-coords.cfg");
  }
  context.transport.allreduce({&found, 1}, exec::Op::max);
  return found != 0;
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
