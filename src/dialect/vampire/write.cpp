#include "dialect/vampire/write.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <numeric>

#include "dialect/vampire/files.hpp"
#include "dialect/vampire/legacy.hpp"
#include "dialect/vampire/row_files.hpp"
#include "exec/transport/agree.hpp"
#include "model/clock.hpp"
#include "sluice/error.hpp"
#include "storage/durable_folder.hpp"

namespace sluice::dialect::vampire {

/// The rows of a file that a rank has.
struct FilePart {
  std::size_t file = 0;
  std::uint64_t row_in_file = 0;
  std::uint64_t own_row = 0;
  std::uint64_t rows = 0;
};

namespace {

constexpr std::array<const char*, 4> mode_names{"file-per-process", "mpi-io", "file-per-node",
                                                "legacy"};

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &parts)};
}

std::string padded(std::uint64_t number, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%0*llu", digits, static_cast<unsigned long long>(number));
  return text;
}

int group_of(int rank, int ranks, int groups) {
  return static_cast<int>(static_cast<std::int64_t>(rank) * groups / ranks);
}

/// Collective. Rows of each file where the ranks decide that.
std::vector<std::uint64_t> rows_by_rank(exec::Transport& transport, std::uint64_t rows,
                                        const WriteOptions& options) {
  const int ranks = transport.size();
  const bool is_by_rank = options.mode == Mode::file_per_process || options.mode == Mode::legacy;
  const int groups = is_by_rank                     ? ranks
                     : options.mode == Mode::mpi_io ? 1
                                                    : std::clamp(options.nodes, 1, ranks);
  std::vector<std::int64_t> sums(static_cast<std::size_t>(groups));
  sums[static_cast<std::size_t>(group_of(transport.rank(), ranks, groups))] =
      static_cast<std::int64_t>(rows);
  transport.allreduce(sums, exec::Op::sum);
  return {sums.begin(), sums.end()};
}

std::string count_head(std::uint64_t rows, bool text) {
  if (text) {
    return std::to_string(rows) + "\n";
  }
  return {reinterpret_cast<const char*>(&rows), sizeof rows};
}

double longest(exec::Transport& transport, double seconds) {
  std::int64_t longest_ns = model::to_ns(seconds);
  transport.allreduce({&longest_ns, 1}, exec::Op::max);
  return model::from_ns(longest_ns);
}

std::vector<FilePart> parts_of(const std::vector<std::uint64_t>& rows_of_file, std::uint64_t first,
                               std::uint64_t rows) {
  std::vector<FilePart> parts;
  std::uint64_t begin = 0;
  for (std::size_t file = 0; file < rows_of_file.size() && begin < first + rows; ++file) {
    const std::uint64_t end = begin + rows_of_file[file];
    const std::uint64_t from = std::max(begin, first);
    const std::uint64_t to = std::min(end, first + rows);
    if (from < to) {
      parts.push_back({file, from - begin, from - first, to - from});
    }
    begin = end;
  }
  return parts;
}

}  // namespace

Mode mode_of(const std::string& name) {
  for (std::size_t i = 0; i < mode_names.size(); ++i) {
    if (name == mode_names[i]) {
      return static_cast<Mode>(i);
    }
  }
  throw Error(Code::invalid_argument, "output mode '" + name +
                                          "': use one of file-per-process, mpi-io, file-per-node "
                                          "or legacy");
}

const char* mode_name(Mode mode) { return mode_names[static_cast<std::size_t>(mode)]; }

/// The rows of one kind, of this rank, and how they are stored.
struct SnapshotWriter::Rows {
  std::string stem;             ///< "spins-00000003"
  std::string meta;             ///< written at the end; none in legacy mode
  std::string header;           ///< legacy: of the first file, before the count
  std::uint64_t bytes_per_row;  ///< binary
  std::function<void(std::string& out, std::uint64_t own_row)> append_text;
  /// Binary: the extents of a part, where the file has `rows_in_file`.
  std::function<void(std::vector<Extent>& out, const FilePart& part, std::uint64_t rows_in_file)>
      add_binary;
};

SnapshotWriter::SnapshotWriter(exec::Transport& transport,
                               std::shared_ptr<storage::Storage> storage, const std::string& folder,
                               std::vector<Material> materials, std::uint64_t rows,
                               WriteOptions options)
    : transport_(transport),
      storage_(std::move(storage)),
      folder_(folder),
      materials_(std::move(materials)),
      options_(std::move(options)),
      rows_(rows) {
  options_.text |= options_.mode == Mode::legacy;
  const exec::PrefixSum sums = transport.prefix_sum(static_cast<std::int64_t>(rows));
  first_ = static_cast<std::uint64_t>(sums.below);
  atoms_ = static_cast<std::uint64_t>(sums.all);
  is_assigned_ = !options_.rows_of_file.empty();
  rows_of_file_ = is_assigned_ ? options_.rows_of_file : rows_by_rank(transport, rows, options_);
  exec::together(transport_, [&] {
    const auto sum = std::accumulate(rows_of_file_.begin(), rows_of_file_.end(), std::uint64_t{0});
    if (sum != atoms_) {
      throw Error(Code::invalid_argument, folder_ + ": the files were announced with " +
                                              std::to_string(sum) + " rows, there are " +
                                              std::to_string(atoms_) + " atoms");
    }
    require_words(materials_, folder_);
    if (transport_.rank() == 0) {
      if (options_.durable) {
        storage::make_durable_folder(*storage_, folder_);
      } else {
        storage_->make_folder(folder_);
      }
    }
  });
}

std::string SnapshotWriter::name(const std::string& stem, std::size_t file) const {
  if (options_.mode == Mode::legacy) {
    // "atoms-coords" or "atoms-<snapshot>": the rank goes behind the first, into the second.
    const std::string rank = file == 0 ? "" : "-" + padded(file, 5);
    const bool is_coordinates = stem == "atoms-coords";
    return (is_coordinates ? stem + rank : "atoms" + rank + stem.substr(5)) + ".cfg";
  }
  return stem + (rows_of_file_.size() == 1 ? "" : "-" + padded(file, 6)) + ".data";
}

std::vector<std::string> SnapshotWriter::names(const std::string& stem) const {
  std::vector<std::string> all;
  for (std::size_t file = 0; file < rows_of_file_.size(); ++file) {
    all.push_back(name(stem, file));
  }
  return all;
}

void SnapshotWriter::replace_meta(const std::string& name, const std::string* text) {
  exec::together(transport_, [&] {
    const std::string path = folder_ + "/" + name;
    if (transport_.rank() != 0 || name.empty()) {
      return;
    }
    if (text == nullptr) {
      if (storage_->exists(path)) {
        storage_->remove(path);
      }
      return;
    }
    const std::string fresh = path + ".new";
    if (storage_->exists(fresh)) {
      storage_->remove(fresh);
    }
    {
      const auto file = storage_->open(fresh, storage::Access::create);
      file->write(0, std::as_bytes(std::span(*text)));
      if (options_.durable) {
        file->sync();
      }
    }
    storage_->rename(fresh, path);
    if (options_.durable) {
      storage_->sync_directory(path);
    }
  });
}

void SnapshotWriter::text_extents(const Rows& rows, const std::vector<FilePart>& parts,
                                  std::vector<std::string>& texts, std::vector<Extent>& extents) {
  // Bytes of all files in sequence, without headers: where does a file begin, and where this rank's
  // part?
  std::int64_t own = 0;
  for (const FilePart& part : parts) {
    std::string& text = texts.emplace_back();
    for (std::uint64_t i = 0; i < part.rows; ++i) {
      rows.append_text(text, part.own_row + i);
    }
    own += static_cast<std::int64_t>(text.size());
  }
  std::int64_t at = transport_.prefix_sum(own).below;
  std::vector<std::int64_t> file_begin(rows_of_file_.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].row_in_file == 0) {
      file_begin[parts[i].file] = at;
    }
    extents.push_back(
        {parts[i].file, static_cast<std::uint64_t>(at), std::as_bytes(std::span(texts[i]))});
    at += static_cast<std::int64_t>(texts[i].size());
  }
  transport_.allreduce(file_begin, exec::Op::sum);
  for (Extent& extent : extents) {
    extent.offset -= static_cast<std::uint64_t>(file_begin[extent.file]);
    extent.offset += head(rows, extent.file).size();
  }
}

std::string SnapshotWriter::head(const Rows& rows, std::size_t file) const {
  return (file == 0 ? rows.header : "") + count_head(rows_of_file_[file], options_.text);
}

WriteCost SnapshotWriter::write_rows(const Rows& rows) {
  const double began_s = model::now_s();
  replace_meta(rows.meta, nullptr);
  const std::vector<FilePart> parts = parts_of(rows_of_file_, first_, rows_);
  std::vector<std::string> texts;
  std::vector<Extent> extents;
  if (options_.text) {
    text_extents(rows, parts, texts, extents);
  } else {
    for (const FilePart& part : parts) {
      rows.add_binary(extents, part, rows_of_file_[part.file]);
    }
  }
  const int ranks = transport_.size();
  const int rank = transport_.rank();
  const auto groups = static_cast<int>(rows_of_file_.size());
  const bool is_gathered = options_.mode == Mode::file_per_node && !is_assigned_;
  // The last rank of a group: the first of the next one, less one.
  const auto last_of = [=](int group) {
    return static_cast<int>((static_cast<std::int64_t>(group + 1) * ranks + groups - 1) / groups) -
           1;
  };
  RowFiles files;
  files.files = rows_of_file_.size();
  files.path = [&](std::size_t file) { return folder_ + "/" + name(rows.stem, file); };
  files.maker = [=](std::size_t file) {
    const auto number = static_cast<int>(file);
    return is_gathered ? last_of(number) : number % ranks;
  };
  files.head = [&](std::size_t file) { return head(rows, file); };
  files.bytes = [&](std::size_t file) {
    return options_.text ? 0 : count_bytes + rows_of_file_[file] * rows.bytes_per_row;
  };
  const int group = group_of(rank, ranks, groups);
  files.writer = is_gathered ? last_of(group) : rank;
  files.first_member = is_gathered && group > 0 ? last_of(group - 1) + 1 : is_gathered ? 0 : rank;
  files.durable = options_.durable;
  const RowSeconds seconds = write_row_files(transport_, *storage_, files, extents);
  if (rows.meta.empty() && options_.durable) {  // no replace_meta() follows
    exec::on_root(transport_, [&] { storage_->sync_directory(files.path(0)); });
  }
  WriteCost cost;
  std::int64_t bytes = 0;
  for (const Extent& extent : extents) {
    bytes += static_cast<std::int64_t>(extent.bytes.size());
  }
  transport_.allreduce({&bytes, 1}, exec::Op::sum);
  cost.bytes = static_cast<std::uint64_t>(bytes);
  cost.write_seconds = longest(transport_, seconds.write);
  cost.sync_seconds = longest(transport_, seconds.sync);
  cost.all_seconds = model::now_s() - began_s;
  return cost;
}

WriteCost SnapshotWriter::write_atoms(const std::string& stem, const Coordinates& atoms) {
  exec::together(transport_, [&] {
    if (atoms.material.size() != rows_ || atoms.category.size() != rows_ ||
        atoms.xyz.size() != 3 * rows_) {
      throw Error(Code::invalid_argument, "coordinates of " + std::to_string(rows_) +
                                              " atoms were announced, not of " +
                                              std::to_string(atoms.material.size()));
    }
  });
  const bool is_legacy = options_.mode == Mode::legacy;
  Rows rows;
  rows.stem = stem;
  rows.meta = is_legacy ? "" : stem + ".meta";
  rows.header = is_legacy ? legacy_header(stem, nullptr) : "";
  rows.bytes_per_row = row_bytes(Kind::coordinates);
  rows.append_text = [&](std::string& out, std::uint64_t i) {
    out += std::to_string(atoms.material[i]) + "\t" + std::to_string(atoms.category[i]);
    for (std::uint64_t axis = 0; axis < 3; ++axis) {
      out += '\t';
      append_number(out, atoms.xyz[3 * i + axis]);
    }
    if (is_legacy) {
      out += "\t" + element_of(atoms.material[i]);
    }
    out += '\n';
  };
  rows.add_binary = [&](std::vector<Extent>& out, const FilePart& part, std::uint64_t all) {
    const auto bytes = [&](const auto& list, std::uint64_t width) {
      return std::as_bytes(std::span(list).subspan(part.own_row * width, part.rows * width));
    };
    out.push_back({part.file, type_offset(part.row_in_file), bytes(atoms.material, 1)});
    out.push_back({part.file, category_offset(all, part.row_in_file), bytes(atoms.category, 1)});
    out.push_back({part.file, position_offset(all, part.row_in_file), bytes(atoms.xyz, 3)});
  };
  return write_rows(rows);
}

WriteCost SnapshotWriter::write_coordinates(const Coordinates& atoms) {
  const std::string stem = "atoms-coords";
  WriteCost cost = write_atoms(stem, atoms);
  if (options_.mode != Mode::legacy) {
    const std::string text =
        coordinates_meta_text({options_.text, atoms_, materials_, names(stem)}, now_text());
    replace_meta(stem + ".meta", &text);
  }
  return cost;
}

WriteCost SnapshotWriter::write_spins(std::uint32_t index, SpinsMeta meta,
                                      std::span<const double> spins) {
  exec::together(transport_, [&] {
    if (spins.size() != 3 * rows_) {
      throw Error(Code::invalid_argument, "spins of " + std::to_string(rows_) +
                                              " atoms were announced, not " +
                                              std::to_string(spins.size()) + " numbers");
    }
  });
  const bool is_legacy = options_.mode == Mode::legacy;
  Rows rows;
  rows.stem = (is_legacy ? "atoms-" : "spins-") + padded(index, 8);
  rows.meta = is_legacy ? "" : rows.stem + ".meta";
  meta.files = names(rows.stem);
  rows.header = is_legacy ? legacy_header(rows.stem, &meta) : "";
  rows.bytes_per_row = row_bytes(Kind::spins);
  rows.append_text = [&](std::string& out, std::uint64_t i) {
    for (std::uint64_t axis = 0; axis < 3; ++axis) {
      append_number(out, spins[3 * i + axis]);
      out += axis < 2 ? '\t' : '\n';
    }
  };
  rows.add_binary = [&](std::vector<Extent>& out, const FilePart& part, std::uint64_t) {
    out.push_back({part.file, spin_offset(part.row_in_file),
                   std::as_bytes(spins.subspan(3 * part.own_row, 3 * part.rows))});
  };
  WriteCost cost = write_rows(rows);
  if (!is_legacy) {
    const std::string text = spins_meta_text(meta, now_text());
    replace_meta(rows.meta, &text);
  }
  return cost;
}

std::string SnapshotWriter::element_of(std::int32_t type) const {
  for (const Material& material : materials_) {
    if (material.id == type && !material.element.empty()) {
      return material.element;
    }
  }
  return "Ag";
}

std::string SnapshotWriter::legacy_header(const std::string& stem, const SpinsMeta* spins) const {
  const std::string rule = "#------------------------------------------------------\n";
  const auto numbers = [](std::initializer_list<double> values) {
    std::string out;
    for (const double value : values) {
      out += out.empty() ? "" : "\t";
      append_number(out, value);
    }
    return out + "\n";
  };
  const auto& box = options_.box_angstrom;
  std::string out = rule + "# Atomistic " + (spins != nullptr ? "spin" : "coordinates") +
                    " configuration file for vampire\n" + rule + "# Date: " + now_text() + "\n" +
                    rule;
  out += (spins != nullptr ? "Number of spins: " : "Number of atoms: ") + std::to_string(atoms_) +
         "\n";
  if (spins != nullptr) {
    const auto& field = spins->field_t;
    out += "System dimensions:" + numbers({box[0], box[1], box[2]}) +
           "Coordinates-file: atoms-coord.cfg\n" + "Time: " + numbers({spins->time_s}) +
           "Field: " + numbers({std::hypot(field[0], field[1], field[2])}) +
           "Temperature: " + numbers({spins->temperature_k}) +
           "Magnetisation: " + spins->magnetisation[0] + "\t" + spins->magnetisation[1] + "\t" +
           spins->magnetisation[2] + "\n" +
           "Number of Materials: " + std::to_string(materials_.size()) + "\n";
    for (const Material& material : materials_) {
      out += numbers({material.moment_mub * bohr_magneton});
    }
  }
  out += rule + "Number of spin files: " + std::to_string(rows_of_file_.size() - 1) + "\n";
  for (std::size_t file = 1; file < rows_of_file_.size(); ++file) {
    out += name(stem, file) + "\n";
  }
  return out + rule;
}

WriteCost write_non_magnetic(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
                             const std::string& folder, const Coordinates& atoms,
                             WriteOptions options) {
  exec::together(transport, [&] {
    if (options.mode == Mode::legacy) {
      throw Error(Code::unsupported, folder + ": legacy mode has no non-magnetic atoms");
    }
  });
  options.rows_of_file.clear();
  SnapshotWriter writer(transport, std::move(storage), folder, {}, atoms.material.size(), options);
  const std::string stem = "non-magnetic-atoms";
  WriteCost cost = writer.write_atoms(stem, atoms);
  const std::string text =
      non_magnetic_meta_text({options.text, writer.atoms(), writer.names(stem)}, now_text());
  writer.replace_meta(stem + ".meta", &text);
  return cost;
}

}  // namespace sluice::dialect::vampire
