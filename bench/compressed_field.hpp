// The field of the case `compress`: 4-byte floats, smooth with some noise, so that shuffle and
// deflate have about as much to do as with fields of simulations. Rank r has `mib` planes of 1 MiB
// from plane r * mib on; chunks are of `chunk_mib` planes.
#pragma once

#include <algorithm>
#include <cmath>
#include <fcntl.h>
#include <span>
#include <unistd.h>
#include <vector>

#include "hdf5_check.hpp"

namespace sluice::bench {

struct CompressedField {
  static constexpr std::uint64_t rows = 256;
  static constexpr std::uint64_t columns = 1024;
  static constexpr std::uint64_t plane = rows * columns;

  std::uint64_t planes = 0;  ///< of a rank
  std::uint64_t first = 0;   ///< this rank's
  std::uint64_t all = 0;
  std::uint64_t chunk = 1;

  CompressedField(const World& world, const Job& job)
      : planes(job.number("mib")),
        first(planes * static_cast<std::uint64_t>(world.rank())),
        all(planes * static_cast<std::uint64_t>(world.ranks())),
        chunk(std::min(planes, job.number("chunk_mib"))) {}

  /// The same arithmetic as write_gzip.py.
  static float value(std::uint64_t z, std::uint64_t y, std::uint64_t x) {
    static const std::vector<double> waves = [] {
      std::vector<double> all(1024);
      for (std::size_t i = 0; i < all.size(); ++i) {
        all[i] = std::sin(static_cast<double>(i) * 0.01);
      }
      return all;
    }();
    const std::uint64_t index = (z * rows + y) * columns + x;
    const auto noise = static_cast<double>((index * 2654435761U & 0xffffffffU) >> 16);
    return static_cast<float>(waves[z % 1024] + waves[y] + waves[x] + noise * 0x1p-16 * 1e-4);
  }

  /// This rank's part; kept from job to job.
  std::span<const float> data() const {
    static std::vector<float> values;
    static std::uint64_t made = ~std::uint64_t{0};
    if (made != first || values.size() != planes * plane) {
      values.resize(planes * plane);
      for (std::uint64_t i = 0; i < values.size(); ++i) {
        values[i] = value(first + i / plane, i / columns % rows, i % columns);
      }
      made = first;
    }
    return values;
  }

  /// Compares one row of every plane of the next rank with what it must hold. Collective.
  void verify(const World& world, const std::string& path) const {
    const hid_t file = checked(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "H5Fopen");
    const hid_t dataset = checked(H5Dopen2(file, "field", H5P_DEFAULT), "H5Dopen2");
    const hid_t space = checked(H5Dget_space(dataset), "H5Dget_space");
    const hsize_t length = columns;
    const hid_t memory = checked(H5Screate_simple(1, &length, nullptr), "H5Screate_simple");
    const std::uint64_t other =
        (first + planes) % (planes * static_cast<std::uint64_t>(world.ranks()));
    std::vector<float> row(columns);
    for (std::uint64_t z = other; z < other + planes; ++z) {
      const std::array<hsize_t, 3> start{z, z * 37 % rows, 0};
      const std::array<hsize_t, 3> count{1, 1, columns};
      checked(
          H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
          "H5Sselect_hyperslab");
      checked(H5Dread(dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, row.data()),
              "H5Dread");
      for (std::uint64_t x = 0; x < columns; ++x) {
        if (row[x] != value(z, start[1], x)) {
          throw std::runtime_error("verify: " + path + ": wrong value in plane " +
                                   std::to_string(z));
        }
      }
    }
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(dataset);
    H5Fclose(file);
  }
};

/// The file is on the disk.
inline void sync_file(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("open", path);
  if (fsync(descriptor) != 0) fail("fsync", path);
  close(descriptor);
}

}  // namespace sluice::bench
