#include "dialect/vampire/snapshot.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "dialect/vampire/legacy.hpp"
#include "exec/transport/agree.hpp"
#include "sluice/error.hpp"

namespace sluice::dialect::vampire {
namespace {

/// Packs what rank 0 found out, and unpacks it: one walk over the fields for both directions.
class Archive {
 public:
  Archive() = default;
  explicit Archive(std::vector<std::byte> bytes) : bytes_(std::move(bytes)), reading_(true) {}
  std::vector<std::byte>& bytes() { return bytes_; }

  template <class T>
  void walk(T& value) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      raw(&value, sizeof value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      resize(value);
      raw(value.data(), value.size());
    } else {
      fields(value);
    }
  }

 private:
  template <class T>
  void resize(T& list) {
    std::uint64_t size = list.size();
    walk(size);
    list.resize(size);
  }
  template <class T>
  void fields(std::vector<T>& list) {
    resize(list);
    for (T& item : list) {
      walk(item);
    }
  }
  void fields(std::array<std::string, 3>& list) {
    for (std::string& item : list) {
      walk(item);
    }
  }
  void fields(Material& material) {
    walk(material.id);
    walk(material.moment_mub);
    walk(material.element);
    walk(material.name);
  }
  void fields(DataFile& file) {
    walk(file.path);
    walk(file.first_row);
    walk(file.rows);
    walk(file.bytes);
    walk(file.begin);
  }
  void fields(FileSet& set) {
    walk(set.text);
    walk(set.has_elements);
    walk(set.files);
  }
  void fields(SpinsMeta& meta) {
    walk(meta.time_s);
    walk(meta.field_t);
    walk(meta.temperature_k);
    walk(meta.magnetisation);
    walk(meta.files);
    walk(meta.box_angstrom);
  }
  void raw(void* value, std::size_t size) {
    if (size == 0) {
      return;
    }
    if (reading_) {
      std::memcpy(value, bytes_.data() + used_, size);
      used_ += size;
    } else {
      const auto* begin = static_cast<const std::byte*>(value);
      bytes_.insert(bytes_.end(), begin, begin + size);
    }
  }

  std::vector<std::byte> bytes_;
  std::size_t used_ = 0;
  bool reading_ = false;
};

/// Determined on rank 0 and sent to all.
template <class Find, class... Fields>
void from_root(exec::Transport& transport, Find&& find, Fields&... fields) {
  Archive in(exec::on_root(transport, [&] {
    find();
    Archive out;
    (out.walk(fields), ...);
    return std::move(out.bytes());
  }));
  (in.walk(fields), ...);
}

constexpr const char* legacy_coordinates = "atoms-coords.cfg";

/// The file that identifies a snapshot of spins.
std::string frame_name(std::uint32_t index, bool is_legacy) {
  char name[32];
  std::snprintf(name, sizeof name, is_legacy ? "atoms-%08u.cfg" : "spins-%08u.meta", index);
  return name;
}

void check_range(std::uint64_t first, std::uint64_t count, std::uint64_t atoms) {
  if (first > atoms || count > atoms - first) {
    throw Error(Code::out_of_bounds, "atoms [" + std::to_string(first) + ", " +
                                         std::to_string(first + count) + ") of a snapshot of " +
                                         std::to_string(atoms));
  }
}

/// The text of atoms-coords.meta, or why this is not a folder of snapshots.
std::string coordinates_meta_text(storage::Storage& storage, const std::string& folder) {
  const std::string path = folder + "/atoms-coords.meta";
  if (!storage.exists(path)) {
    throw Error(Code::not_found,
                storage.exists(folder)
                    ? path + ": not found: not a folder of VAMPIRE snapshots (config:atoms)"
                    : folder + ": no such folder");
  }
  return read_small(storage, path);
}

/// Integers that were parsed as numbers.
std::int32_t to_int32(double value, std::uint64_t row, const char* what) {
  if (!(value >= -2147483648.0 && value <= 2147483647.0) ||
      value != static_cast<double>(static_cast<std::int32_t>(value))) {
    throw Error(Code::format, std::string("atom ") + std::to_string(row) + ": its " + what +
                                  " is not an integer of 32 bits");
  }
  return static_cast<std::int32_t>(value);
}

}  // namespace

std::array<std::uint64_t, 2> share(std::uint64_t rows, int rank, int ranks) {
  const auto cut = [&](int r) {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(rows) *
                                      static_cast<unsigned>(r) / static_cast<unsigned>(ranks));
  };
  return {cut(rank), cut(rank + 1)};
}

std::string numbers_text(const std::vector<std::uint32_t>& numbers) {
  constexpr int most_ranges = 20;
  std::string text;
  int ranges = 0;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) {
      ++end;
    }
    if (++ranges > most_ranges) {
      return text + ", ...";
    }
    text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
    text += end > i + 1 ? " to " + std::to_string(numbers[end - 1]) : "";
    i = end;
  }
  return text;
}

void Snapshot::find_modern(storage::Storage& door) {
  const std::string path = folder_ + "/atoms-coords.meta";
  const CoordinatesMeta meta = parse_coordinates_meta(coordinates_meta_text(door, folder_), path);
  const Listed listed{
      Kind::coordinates, folder_,  "atoms-coords.meta", "atoms-coords.data", meta.files,
      !meta.text,        meta.text};
  coordinates_ = resolve(door, listed, meta.atoms, notes_);
  atoms_ = meta.atoms;
  materials_ = meta.materials;
}

void Snapshot::find_legacy(storage::Storage& door) {
  const std::string path = folder_ + "/" + legacy_coordinates;
  const LegacyHeader header = parse_legacy_coordinates(read_header(door, path), path);
  std::vector<std::string> names{legacy_coordinates};
  names.insert(names.end(), header.others.begin(), header.others.end());
  coordinates_ =
      resolve_legacy(door, folder_, names, header.bytes, Kind::coordinates, header.atoms);
  atoms_ = header.atoms;
  if (!frames_.empty()) {
    const std::string first = folder_ + "/" + frame_name(frames_.front(), true);
    for (const double moment : parse_legacy_spins(read_header(door, first), first).moments_mub) {
      const auto id = static_cast<std::int32_t>(materials_.size());
      materials_.push_back({id, moment, "", "material" + std::to_string(id)});
    }
  }
}

/// By the content of the folder: the number is in the name, and numbers may be missing.
void Snapshot::find_frames(storage::Storage& door, bool is_legacy) {
  for (const std::string& name : door.list(folder_)) {
    const std::size_t digits = name.find_first_of("0123456789");
    std::uint32_t number = 0;
    if (digits != std::string::npos) {
      std::from_chars(name.data() + digits, name.data() + name.size(), number);
      if (name == frame_name(number, is_legacy)) {
        frames_.push_back(number);
      }
    }
  }
  std::sort(frames_.begin(), frames_.end());
  if (frames_.empty() || frames_.back() + 1 == frames_.size()) {
    return;
  }
  std::vector<std::uint32_t> missing;
  std::uint32_t next = 0;
  constexpr std::uint32_t most_named = 1000;
  for (const std::uint32_t number : frames_) {
    for (; next < number && missing.size() < most_named; ++next) {
      missing.push_back(next);
    }
    next = number + 1;
  }
  const std::uint64_t absent = frames_.back() + std::uint64_t{1} - frames_.size();
  notes_.push_back(folder_ + ": no snapshot " + numbers_text(missing) +
                   (absent > missing.size() ? ", ..." : "") + " (" +
                   frame_name(missing[0], is_legacy) + (absent > 1 ? ", ... are" : " is") +
                   " not there): read are " + numbers_text(frames_));
}

void Snapshot::find_non_magnetic(storage::Storage& door) {
  const std::string path = folder_ + "/non-magnetic-atoms.meta";
  if (!door.exists(path)) {
    return;
  }
  const NonMagneticMeta meta = parse_non_magnetic_meta(read_small(door, path), path);
  const Listed listed{
      Kind::coordinates, folder_,  "non-magnetic-atoms.meta", "non-magnetic-atoms.data", meta.files,
      !meta.text,        meta.text};
  non_magnetic_ = resolve(door, listed, meta.atoms, notes_);
  non_magnetic_atoms_ = meta.atoms;
}

Snapshot open(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
              const std::string& folder) {
  Snapshot snapshot(transport, std::move(storage), folder);
  storage::Storage& door = *snapshot.storage_;
  from_root(
      transport,
      [&] {
        const bool is_legacy = !door.exists(folder + "/atoms-coords.meta") &&
                               door.exists(folder + "/" + legacy_coordinates);
        if (is_legacy) {
          snapshot.find_frames(door, is_legacy);
          snapshot.find_legacy(door);
        } else {
          snapshot.find_modern(door);
          snapshot.find_non_magnetic(door);
          snapshot.find_frames(door, is_legacy);
        }
      },
      snapshot.coordinates_, snapshot.atoms_, snapshot.materials_, snapshot.frames_,
      snapshot.non_magnetic_, snapshot.non_magnetic_atoms_, snapshot.notes_);
  if (snapshot.legacy()) {
    const auto elements = elements_of(transport, door, snapshot.coordinates_);
    for (std::size_t i = 0; i < std::min(elements.size(), snapshot.materials_.size()); ++i) {
      snapshot.materials_[i].element = elements[i];
    }
  }
  return snapshot;
}

void Snapshot::resolve_frame(std::uint32_t index, Frame& frame) {
  const std::string name = frame_name(index, legacy());
  const std::string path = folder_ + "/" + name;
  if (legacy()) {
    LegacyHeader header = parse_legacy_spins(read_header(*storage_, path), path);
    frame.meta = header.meta;
    frame.meta.files = {name};
    frame.meta.files.insert(frame.meta.files.end(), header.others.begin(), header.others.end());
    if (header.atoms != atoms_) {
      throw Error(Code::format, path + ": spins of " + std::to_string(header.atoms) +
                                    " atoms, but there are coordinates of " +
                                    std::to_string(atoms_));
    }
    frame.data =
        resolve_legacy(*storage_, folder_, frame.meta.files, header.bytes, Kind::spins, atoms_);
    return;
  }
  frame.meta = parse_spins_meta(read_small(*storage_, path), path);
  const std::string stem = name.substr(0, name.rfind('.'));
  const Listed listed{Kind::spins, folder_, name, stem + ".data", frame.meta.files, false, false};
  frame.data = resolve(*storage_, listed, atoms_, frame.notes);
}

Frame Snapshot::frame(std::uint32_t index) {
  Frame frame;
  frame.index = index;
  from_root(
      *transport_,
      [&] {
        if (!std::binary_search(frames_.begin(), frames_.end(), index)) {
          throw Error(
              Code::not_found,
              folder_ + ": no snapshot " + std::to_string(index) + ": " +
                  (frames_.empty() ? "there is none (" + frame_name(0, legacy()) + " is not there)"
                                   : "there are the numbers " + numbers_text(frames_)));
        }
        resolve_frame(index, frame);
      },
      frame.meta, frame.data, frame.notes);
  return frame;
}

std::vector<std::uint64_t> Snapshot::rows_of_file() const {
  std::vector<std::uint64_t> rows;
  for (const DataFile& file : coordinates_.files) {
    rows.push_back(file.rows);
  }
  return rows;
}

Coordinates Snapshot::read_rows(const FileSet& set, std::uint64_t all, std::uint64_t first,
                                std::uint64_t count) {
  Coordinates atoms;
  exec::together(*transport_, [&] {
    check_range(first, count, all);
    if (!set.text) {
      read_binary_coordinates(*storage_, set, first, count, atoms);
    }
  });
  if (!set.text) {
    return atoms;
  }
  const std::vector<double> rows = read_text_rows(*transport_, *storage_, set, 5, first, count);
  exec::together(*transport_, [&] {
    for (std::uint64_t i = 0; i < count; ++i) {
      const double* row = rows.data() + 5 * i;
      atoms.material.push_back(to_int32(row[0], first + i, "type"));
      atoms.category.push_back(to_int32(row[1], first + i, "category"));
      atoms.xyz.insert(atoms.xyz.end(), row + 2, row + 5);
    }
  });
  return atoms;
}

Coordinates Snapshot::read_coordinates(std::uint64_t first, std::uint64_t count) {
  return read_rows(coordinates_, atoms_, first, count);
}

Coordinates Snapshot::read_non_magnetic(std::uint64_t first, std::uint64_t count) {
  return read_rows(non_magnetic_, non_magnetic_atoms_, first, count);
}

std::vector<double> Snapshot::read_spins(const Frame& frame, std::uint64_t first,
                                         std::uint64_t count) {
  std::vector<double> spins;
  exec::together(*transport_, [&] {
    check_range(first, count, atoms_);
    if (!frame.data.text) {
      read_binary_spins(*storage_, frame.data, first, count, spins);
    }
  });
  return frame.data.text ? read_text_rows(*transport_, *storage_, frame.data, 3, first, count)
                         : spins;
}

}  // namespace sluice::dialect::vampire
