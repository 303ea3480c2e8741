#include "dialect/vampire/snapshot.hpp"

#include <cstdio>
#include <cstring>
#include <span>
#include <type_traits>

#include "dialect/vampire/files.hpp"
#include "exec/agree.hpp"
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
  }
  void fields(FileSet& set) {
    walk(set.text);
    walk(set.files);
  }
  void fields(SpinsMeta& meta) {
    walk(meta.time_s);
    walk(meta.field_t);
    walk(meta.temperature_k);
    walk(meta.magnetisation);
    walk(meta.files);
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

/// Rank 0 finds out, every rank knows.
template <class Find, class... Fields>
void from_root(exec::Transport& transport, Find&& find, Fields&... fields) {
  Archive in(exec::on_root(transport, 0, [&] {
    find();
    Archive out;
    (out.walk(fields), ...);
    return std::move(out.bytes());
  }));
  (in.walk(fields), ...);
}

std::string spins_stem(std::uint32_t index) {
  char name[32];
  std::snprintf(name, sizeof name, "spins-%08u", index);
  return name;
}

void check_range(std::uint64_t first, std::uint64_t count, std::uint64_t atoms) {
  if (first > atoms || count > atoms - first) {
    throw Error(Code::out_of_bounds, "atoms [" + std::to_string(first) + ", " +
                                         std::to_string(first + count) + ") of a snapshot of " +
                                         std::to_string(atoms));
  }
}

/// The text of atoms-coords.meta, or in words why this is no folder of snapshots.
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

/// Integers that went through the parser of numbers.
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

Snapshot open(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
              const std::string& folder) {
  Snapshot snapshot(transport, std::move(storage), folder);
  storage::Storage& door = *snapshot.storage_;
  from_root(
      transport,
      [&] {
        const std::string path = folder + "/atoms-coords.meta";
        const CoordinatesMeta meta =
            parse_coordinates_meta(coordinates_meta_text(door, folder), path);
        const Listed listed{
            Kind::coordinates, folder,   "atoms-coords.meta", "atoms-coords.data", meta.files,
            !meta.text,        meta.text};
        snapshot.coordinates_ = resolve(door, listed, meta.atoms, snapshot.notes_);
        snapshot.atoms_ = meta.atoms;
        snapshot.materials_ = meta.materials;
        if (door.exists(folder + "/non-magnetic-atoms.meta")) {
          snapshot.notes_.push_back(folder +
                                    ": its non-magnetic atoms carry no spin and are left out");
        }
        constexpr std::uint32_t names_end = 100'000'000;  // eight digits
        while (snapshot.frames_ < names_end &&
               door.exists(folder + "/" + spins_stem(snapshot.frames_) + ".meta")) {
          ++snapshot.frames_;
        }
      },
      snapshot.coordinates_, snapshot.atoms_, snapshot.materials_, snapshot.frames_,
      snapshot.notes_);
  return snapshot;
}

Frame Snapshot::frame(std::uint32_t index) {
  Frame frame;
  frame.index = index;
  from_root(
      *transport_,
      [&] {
        if (index >= frames_) {
          throw Error(Code::not_found,
                      folder_ + ": no snapshot " + std::to_string(index) + ": " +
                          (frames_ == 0 ? "there is none (spins-00000000.meta is not there)"
                                        : "they are 0 to " + std::to_string(frames_ - 1)));
        }
        const std::string stem = spins_stem(index);
        const std::string path = folder_ + "/" + stem + ".meta";
        frame.meta = parse_spins_meta(read_small(*storage_, path), path);
        const Listed listed{Kind::spins,      folder_, stem + ".meta", stem + ".data",
                            frame.meta.files, false,   false};
        frame.data = resolve(*storage_, listed, atoms_, frame.notes);
      },
      frame.meta, frame.data, frame.notes);
  return frame;
}

Coordinates Snapshot::read_coordinates(std::uint64_t first, std::uint64_t count) {
  Coordinates atoms;
  exec::together(*transport_, [&] {
    check_range(first, count, atoms_);
    if (!coordinates_.text) {
      read_binary_coordinates(*storage_, coordinates_, first, count, atoms);
    }
  });
  if (!coordinates_.text) {
    return atoms;
  }
  const std::vector<double> rows =
      read_text_rows(*transport_, *storage_, coordinates_, 5, first, count);
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
