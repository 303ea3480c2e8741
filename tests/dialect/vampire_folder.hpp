// Artificial folders of VAMPIRE snapshots in memory, and their contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "support/memory_storage.hpp"

namespace sluice::dialect::vampire {

/// The form of a folder.
struct Made {
  bool text = false;
  bool meta_says_text = false;
  std::vector<std::uint64_t> rows{10};  ///< of each file
  bool numbered = true;                 ///< names with a number, or the one name without
  std::vector<std::string> listed{};    ///< suffixes in the metas instead of the real ones
  int frames = 2;
};

class Folder {
 public:
  explicit Folder(const Made& made) : made_(made), storage_(storage::make_memory()) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (const std::uint64_t rows : made.rows) {
      atoms += rows;
    }
    for (std::uint64_t i = 0; i < 3 * atoms; ++i) {
      // Seven binary digits after the point are exact in six decimal ones of text.
      xyz.push_back(static_cast<double>(static_cast<int>(100 * uniform(random))) / 4);
    }
    for (std::uint64_t i = 0; i < atoms; ++i) {
      type.push_back(static_cast<std::int32_t>(i % 2));
      category.push_back(static_cast<std::int32_t>(i % 5));
    }
    for (int frame = 0; frame < made.frames; ++frame) {
      auto& values = spins.emplace_back();
      for (std::uint64_t i = 0; i < 3 * atoms; ++i) {
        const double value = uniform(random);
        values.push_back(made.text ? static_cast<double>(static_cast<int>(value * 64)) / 64
                                   : value);
      }
    }
    write();
  }

  std::shared_ptr<storage::MemoryStorage> storage() const { return storage_; }

  std::string text_of(const std::string& name) const {
    const auto bytes = storage_->contents("run/" + name);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  void put(const std::string& name, const std::string& bytes) {
    storage_->put("run/" + name, std::as_bytes(std::span(bytes)));
  }
  void remove(const std::string& name) { storage_->remove("run/" + name); }
  /// Replaces the first `from` in a file; the file must hold it.
  void replace(const std::string& name, const std::string& from, const std::string& to) {
    std::string text = text_of(name);
    text.replace(text.find(from), from.size(), to);
    put(name, text);
  }

  std::uint64_t atoms = 0;
  std::vector<std::int32_t> type;
  std::vector<std::int32_t> category;
  std::vector<double> xyz;
  std::vector<std::vector<double>> spins;

  static std::string name_of(const std::string& stem, int number) {
    char suffix[16];
    std::snprintf(suffix, sizeof suffix, "-%06d.data", number);
    return stem + suffix;
  }

 private:
  template <class T>
  static void append(std::string& bytes, const T* values, std::uint64_t count) {
    bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
  }

  std::string coordinates(std::uint64_t first, std::uint64_t rows) const {
    std::string bytes;
    if (!made_.text) {
      append(bytes, &rows, 1);
      append(bytes, type.data() + first, rows);
      append(bytes, category.data() + first, rows);
      append(bytes, xyz.data() + 3 * first, 3 * rows);
      return bytes;
    }
    bytes = std::to_string(rows) + "\n";
    for (std::uint64_t i = first; i < first + rows; ++i) {
      char line[128];
      std::snprintf(line, sizeof line, "%d\t%d\t%g\t%g\t%g\n", type[i], category[i], xyz[3 * i],
                    xyz[3 * i + 1], xyz[3 * i + 2]);
      bytes += line;
    }
    return bytes;
  }

  std::string frame(const std::vector<double>& values, std::uint64_t first,
                    std::uint64_t rows) const {
    std::string bytes;
    if (!made_.text) {
      append(bytes, &rows, 1);
      append(bytes, values.data() + 3 * first, 3 * rows);
      return bytes;
    }
    bytes = std::to_string(rows) + "\n";
    for (std::uint64_t i = 3 * first; i < 3 * (first + rows); i += 3) {
      char line[128];
      std::snprintf(line, sizeof line, "%.7g\t%.7g\t%.7g\n", values[i], values[i + 1],
                    values[i + 2]);
      bytes += line;
    }
    return bytes;
  }

  std::string list(const std::string& stem) const {
    std::vector<std::string> names;
    for (const std::string& suffix : made_.listed) {
      names.push_back(stem + suffix);
    }
    for (std::size_t i = 0; made_.listed.empty() && i < made_.rows.size(); ++i) {
      names.push_back(made_.numbered ? name_of(stem, static_cast<int>(i)) : stem + ".data");
    }
    std::string text = std::to_string(names.size()) + "\n";
    for (const std::string& name : names) {
      text += name + "\n";
    }
    return text;
  }

  void write() {
    const std::string rule = "#------------------------------------------------------\n";
    const std::string head = rule + "# a made-up snapshot\n" + rule + "# Date: today\n" + rule;
    const std::string format = made_.text || made_.meta_says_text ? "text" : "binary";
    put("atoms-coords.meta", head + "Format: " + format + "\n" + rule +
                                 "Number of atoms: " + std::to_string(atoms) + "\n" + rule +
                                 "Number of materials: 2\n0\t1.72\tAg \tCo\n1\t2.5\tFe\tIron\n" +
                                 rule + "Number of coord files: " + list("atoms-coords"));
    data("atoms-coords", [&](auto first, auto rows) { return coordinates(first, rows); });
    for (std::size_t i = 0; i < spins.size(); ++i) {
      char stem[32];
      std::snprintf(stem, sizeof stem, "spins-%08zu", i);
      put(std::string(stem) + ".meta", head + "Time: " + std::to_string(i + 1) +
                                           "e-14\nField: 1\t-2.5\t0\nTemperature: 300\n" +
                                           "Magnetisation: 0.000955499\t-0.0010324\t0.999999\n" +
                                           rule + "Number of spin files: " + list(stem) + rule);
      data(stem, [&](auto first, auto rows) { return frame(spins[i], first, rows); });
    }
  }

  template <class Content>
  void data(const std::string& stem, Content content) {
    std::uint64_t first = 0;
    for (std::size_t i = 0; i < made_.rows.size(); ++i) {
      put(made_.numbered ? name_of(stem, static_cast<int>(i)) : stem + ".data",
          content(first, made_.rows[i]));
      first += made_.rows[i];
    }
  }

  Made made_;
  std::shared_ptr<storage::MemoryStorage> storage_;
};

}  // namespace sluice::dialect::vampire
