// The parallel method: every rank reads its own part of a netCDF file, through Sluice.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>

#include "model.hpp"
#include "sluice/sluice.hpp"

namespace parabmu {
namespace {

struct Record {
  std::int32_t x = 0;
  std::int32_t y = 0;
  std::int32_t z = 0;
  std::uint8_t material = 0;
};

bool has_variable(const sluice::File& file, const std::string& name) {
  const auto all = file.variables();
  return std::any_of(all.begin(), all.end(), [&](const auto& v) { return v.name == name; });
}

std::uint64_t share(std::uint64_t all, int rank, int ranks) {
  return all * static_cast<std::uint64_t>(rank) / static_cast<std::uint64_t>(ranks);
}

Distribution equal_planes(std::uint64_t planes, int ranks) {
  Distribution result;
  for (int rank = 0; rank <= ranks; ++rank) {
    result.starts.push_back(share(planes, rank, ranks));
  }
  return result;
}

/// Own planes and the halo below them.
void read_planes(sluice::File& file, sluice::Variable variable, int rank, Voxels& voxels) {
  const std::uint64_t begin = voxels.planes.begin(rank);
  const std::uint64_t end = voxels.planes.end(rank);
  voxels.first = begin != end && begin != 0 ? begin - 1 : begin;
  voxels.count = begin == end ? 0 : end - voxels.first;
  voxels.materials.resize(voxels.count * voxels.plane_size());
  file.get(variable, voxels.materials.data(),
           {.start = {voxels.count == 0 ? 0 : voxels.first, 0, 0},
            .count = {voxels.count, voxels.grid[1], voxels.grid[0]}});
}

Voxels load_grid(MPI_Comm comm, sluice::File& file, const std::string& path, const Grid& grid,
                 bool balance) {
  const sluice::Variable variable = file.find("material");
  const sluice::Shape shape = file.info(variable).shape;
  if (shape != sluice::Shape{grid[2], grid[1], grid[0]}) {
    std::string found;
    for (const std::uint64_t extent : shape) {
      found = std::to_string(extent) + (found.empty() ? "" : " x ") + found;
    }
    throw Error(Code::format, path + ": holds a grid of " + found + ", not " + grid_text(grid));
  }
  const int rank = rank_of(comm);
  Voxels voxels;
  voxels.grid = grid;
  voxels.planes = equal_planes(grid[2], size_of(comm));
  std::vector<std::uint64_t> counts(grid[2]);
  const bool is_counted = has_variable(file, "plane_voxels") &&
                          file.info(file.find("plane_voxels")).shape == sluice::Shape{grid[2]};
  if (balance && is_counted) {
    file.get(file.find("plane_voxels"), counts.data());
    voxels.planes = balanced(counts, size_of(comm));
  }
  read_planes(file, variable, rank, voxels);
  const std::uint64_t halo = (voxels.planes.begin(rank) - voxels.first) * voxels.plane_size();
  std::span<const std::uint8_t> own = voxels.materials;
  own = own.subspan(voxels.count == 0 ? 0 : halo);
  counts = count_planes(comm, grid, voxels.planes.begin(rank), own);
  voxels.total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  if (balance && !is_counted) {
    voxels.planes = balanced(counts, size_of(comm));
    read_planes(file, variable, rank, voxels);
  }
  return voxels;
}

std::vector<Record> read_records(MPI_Comm comm, sluice::File& file, const std::string& path,
                                 const Grid& grid) {
  const std::uint64_t all = file.info(file.find("voxel_x")).shape.at(0);
  for (const char* name : {"voxel_y", "voxel_z", "voxel_material"}) {
    if (file.info(file.find(name)).shape != sluice::Shape{all}) {
      throw Error(Code::format, path + ": " + name + " has another number of voxels than voxel_x");
    }
  }
  const std::uint64_t first = share(all, rank_of(comm), size_of(comm));
  const std::uint64_t count = share(all, rank_of(comm) + 1, size_of(comm)) - first;
  const sluice::Selection mine{.start = {first}, .count = {count}};
  std::vector<Record> records(count);
  std::vector<std::int32_t> column(count);
  const auto read = [&](const char* name, auto member) {
    file.get(file.find(name), column.data(), mine);
    for (std::uint64_t i = 0; i < count; ++i) {
      records[i].*member = column[i];
    }
  };
  read("voxel_x", &Record::x);
  read("voxel_y", &Record::y);
  read("voxel_z", &Record::z);
  file.get(file.find("voxel_material"), column.data(), mine);
  agree(comm, [&] {
    for (std::uint64_t i = 0; i < count; ++i) {
      Record& r = records[i];
      const std::int32_t at[3] = {r.x, r.y, r.z};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (at[axis] < 1 || static_cast<std::uint64_t>(at[axis]) > grid[axis]) {
          throw Error(Code::format, path + ": record " + std::to_string(first + i + 1) +
                                        ": the voxel lies outside the grid " + grid_text(grid));
        }
      }
      if (column[i] < 1 || column[i] > 255) {
        throw Error(Code::format, path + ": record " + std::to_string(first + i + 1) +
                                      ": material is not 1 to 255");
      }
      r.material = static_cast<std::uint8_t>(column[i]);
    }
  });
  return records;
}

/// A plane that two ranks have read in part belongs to the higher of them.
Distribution as_read(MPI_Comm comm, const std::vector<Record>& records, std::uint64_t planes) {
  const auto none = std::numeric_limits<std::int64_t>::max();
  std::int64_t first = records.empty() ? none : records.front().z - 1;
  std::vector<std::int64_t> firsts(static_cast<std::size_t>(size_of(comm)));
  MPI_Allgather(&first, 1, MPI_INT64_T, firsts.data(), 1, MPI_INT64_T, comm);
  Distribution result;
  result.starts.assign(firsts.size() + 1, planes);
  for (std::size_t r = firsts.size(); r-- > 1;) {
    const std::uint64_t above = result.starts[r + 1];
    result.starts[r] =
        firsts[r] == none ? above : std::min(above, static_cast<std::uint64_t>(firsts[r]));
  }
  result.starts[0] = 0;
  return result;
}

/// Records to the owners of their planes; what arrives as dense planes.
std::vector<std::uint8_t> pass_on(MPI_Comm comm, const std::vector<Record>& records,
                                  const Voxels& voxels, const std::string& path) {
  std::vector<std::vector<std::byte>> out(static_cast<std::size_t>(size_of(comm)));
  for (const Record& r : records) {
    auto& to =
        out[static_cast<std::size_t>(voxels.planes.owner(static_cast<std::uint64_t>(r.z - 1)))];
    const auto* const bytes = reinterpret_cast<const std::byte*>(&r);
    to.insert(to.end(), bytes, bytes + sizeof r);
  }
  const auto in = all_to_all(comm, out);
  const int rank = rank_of(comm);
  const std::uint64_t begin = voxels.planes.begin(rank);
  std::vector<std::uint8_t> own((voxels.planes.end(rank) - begin) * voxels.plane_size());
  agree(comm, [&] {
    for (const auto& bytes : in) {
      for (std::size_t at = 0; at < bytes.size(); at += sizeof(Record)) {
        Record r;
        std::memcpy(&r, bytes.data() + at, sizeof r);
        const auto z = static_cast<std::uint64_t>(r.z - 1) - begin;
        const auto y = static_cast<std::uint64_t>(r.y - 1);
        std::uint8_t& cell =
            own[(z * voxels.grid[1] + y) * voxels.grid[0] + static_cast<std::uint64_t>(r.x - 1)];
        if (cell != 0) {
          throw Error(Code::format, path + ": a second voxel at " + std::to_string(r.x) + " " +
                                        std::to_string(r.y) + " " + std::to_string(r.z));
        }
        cell = r.material;
      }
    }
  });
  return own;
}

Voxels load_records(MPI_Comm comm, sluice::File& file, const std::string& path, const Grid& grid,
                    bool balance) {
  const std::vector<Record> records = read_records(comm, file, path, grid);
  Voxels voxels;
  voxels.grid = grid;
  std::vector<std::uint64_t> counts(grid[2]);
  for (const Record& r : records) {
    ++counts[static_cast<std::size_t>(r.z - 1)];
  }
  MPI_Allreduce(MPI_IN_PLACE, counts.data(), static_cast<int>(counts.size()), MPI_UINT64_T, MPI_SUM,
                comm);
  voxels.total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  voxels.planes = balance ? balanced(counts, size_of(comm)) : as_read(comm, records, grid[2]);
  fetch_halo(comm, voxels, pass_on(comm, records, voxels, path));
  return voxels;
}

}  // namespace

void check_cells(const std::string& path, const Voxels& voxels, const Materials& materials) {
  std::array<bool, 256> met{};
  // Voxels of one material lie side by side: a word like the last one has nothing new.
  std::uint64_t last = 0;
  const std::size_t bytes = voxels.materials.size();
  for (std::size_t at = 0; at < bytes; at += sizeof last) {
    std::uint64_t word = 0;
    std::memcpy(&word, voxels.materials.data() + at, std::min(sizeof word, bytes - at));
    for (std::size_t i = 0; word != last && i < sizeof word; ++i) {
      met[word >> (8 * i) & 0xFF] = true;
    }
    last = word;
  }
  for (std::size_t id = 1; id < met.size(); ++id) {
    if (met[id] && !materials[id]) {
      throw Error(Code::format,
                  path + ": material " + std::to_string(id) + " is not in the materials file");
    }
  }
}

Voxels load_parallel(MPI_Comm comm, const std::string& path, const Grid& grid,
                     const Materials& materials, bool balance) {
  sluice::File file(comm, path, sluice::Mode::read, {.format = "netcdf4"});
  const bool has_grid = has_variable(file, "material");
  if (!has_grid && !has_variable(file, "voxel_x")) {
    throw Error(Code::format, path + ": neither the variable material(z, y, x) nor voxel_x");
  }
  Voxels voxels = has_grid ? load_grid(comm, file, path, grid, balance)
                           : load_records(comm, file, path, grid, balance);
  file.close();
  agree(comm, [&] { check_cells(path, voxels, materials); });
  return voxels;
}

}  // namespace parabmu
