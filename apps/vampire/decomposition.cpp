#include "decomposition.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "comm.hpp"

namespace vampire {
namespace {

/// An atom as it travels.
struct Travelling {
  std::uint64_t id;
  Vec3 position;
  Vec3 spin;
  std::int32_t material;
  std::int32_t unused = 0;  // no padding of unknown content is sent
};

}  // namespace

std::array<int, 3> grid_of(int ranks, const Vec3& length) {
  // A flat sample has no area in one direction; a floor keeps the comparison meaningful.
  const double floor = 1e-3 * std::max({length.x, length.y, length.z, 1e-300});
  const Vec3 l{std::max(length.x, floor), std::max(length.y, floor), std::max(length.z, floor)};
  std::array<int, 3> best{ranks, 1, 1};
  double least = std::numeric_limits<double>::infinity();
  for (int nx = 1; nx <= ranks; ++nx) {
    for (int ny = 1; ranks % nx == 0 && ny <= ranks / nx; ++ny) {
      if (ranks / nx % ny != 0) {
        continue;
      }
      const int nz = ranks / nx / ny;
      const double area = nx * l.y * l.z + ny * l.x * l.z + nz * l.x * l.y;
      if (area < least) {
        least = area;
        best = {nx, ny, nz};
      }
    }
  }
  return best;
}

int owner_of(const Vec3& position, const Box& box, const std::array<int, 3>& grid) {
  int rank = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const double length = box.length[axis];
    const double place = length > 0 ? (position[axis] - box.low[axis]) / length * grid[axis] : 0.0;
    rank = rank * grid[axis] +
           static_cast<int>(std::clamp(place, 0.0, static_cast<double>(grid[axis] - 1)));
  }
  return rank;
}

Atoms to_owners(MPI_Comm comm, const Atoms& atoms, const Box& box) {
  const auto grid = grid_of(size_of(comm), box.length);
  std::vector<std::vector<std::byte>> out(size_of(comm));
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    const Travelling atom{atoms.id[i], atoms.position[i], atoms.spin[i], atoms.material[i]};
    auto& bytes = out[owner_of(atom.position, box, grid)];
    const auto* begin = reinterpret_cast<const std::byte*>(&atom);
    bytes.insert(bytes.end(), begin, begin + sizeof atom);
  }
  std::vector<Travelling> mine;
  for (const auto& bytes : all_to_all(comm, out)) {
    const std::size_t before = mine.size();
    mine.resize(before + bytes.size() / sizeof(Travelling));
    if (!bytes.empty()) {
      std::memcpy(mine.data() + before, bytes.data(), bytes.size());
    }
  }
  std::sort(mine.begin(), mine.end(),
            [](const Travelling& a, const Travelling& b) { return a.id < b.id; });
  Atoms result;
  for (const Travelling& atom : mine) {
    result.id.push_back(atom.id);
    result.position.push_back(atom.position);
    result.material.push_back(atom.material);
    result.spin.push_back(atom.spin);
  }
  return result;
}

}  // namespace vampire
