#include "mesh.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace parabmu {
namespace {

/// Materials as numbers 1, 2, …, one for each stiffness; 0: no voxel.
struct Stiffnesses {
  std::array<std::uint8_t, 256> number{};
  std::vector<ElementMatrix> matrices{1};
};

Stiffnesses stiffnesses_of(const Materials& materials, const std::array<double, 3>& size) {
  Stiffnesses result;
  for (std::size_t id = 1; id < materials.size(); ++id) {
    if (!materials[id]) {
      continue;
    }
    std::size_t same = 1;
    while (same < id && !(materials[same] && materials[same]->same_stiffness(*materials[id]))) {
      ++same;
    }
    if (same < id) {
      result.number[id] = result.number[same];
      continue;
    }
    result.number[id] = static_cast<std::uint8_t>(result.matrices.size());
    result.matrices.push_back(element_matrix(*materials[id], size));
  }
  return result;
}

/// `around`: the stiffnesses of the voxels at dx + 2 dy + 4 dz, each 0 (below the node) or 1.
Pattern make_pattern(std::uint64_t around, const Stiffnesses& stiffnesses) {
  Pattern pattern;
  for (std::size_t voxel = 0; voxel < 8; ++voxel) {
    const auto kind = static_cast<std::uint8_t>(around >> (8 * voxel));
    if (kind == 0) {
      continue;
    }
    const ElementMatrix& matrix = stiffnesses.matrices[kind];
    const std::size_t a = 7 - voxel;  // the node's own corner of that voxel
    for (std::size_t b = 0; b < 8; ++b) {
      std::size_t n = 0;
      for (std::size_t axis = 0, step = 1; axis < 3; ++axis, step *= 3) {
        n += step * ((voxel >> axis & 1) + (b >> axis & 1));
      }
      for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 3; ++j) {
          pattern.blocks[(3 * n + j) * 4 + i] += matrix[(3 * a + i) * 24 + 3 * b + j];
        }
      }
    }
  }
  for (std::size_t i = 0; i < 3; ++i) {
    pattern.diagonal[i] = pattern.blocks[(3 * 13 + i) * 4 + i];
  }
  return pattern;
}

class Builder {
 public:
  Builder(MPI_Comm comm, const Voxels& voxels, const Materials& materials,
          const std::array<double, 3>& size)
      : comm_(comm),
        rank_(rank_of(comm)),
        voxels_(voxels),
        stiffnesses_(stiffnesses_of(materials, size)) {}

  Mesh build() {
    agree(comm_, [&] {
      mesh_.nodes = {voxels_.grid[0] + 1, voxels_.grid[1] + 1, voxels_.grid[2] + 1};
      const Distribution& planes = voxels_.planes;
      mesh_.first = planes.begin(rank_);
      mesh_.planes = planes.end(rank_) - planes.begin(rank_);
      is_top_ = mesh_.planes != 0 && planes.end(rank_) == voxels_.grid[2];
      mesh_.planes += is_top_ ? 1 : 0;
      if (mesh_.planes == 0) {
        mesh_.plane_starts = {0};
        mesh_.locals = 1;
        return;
      }
      mesh_.local_of.assign((mesh_.planes + 2) * mesh_.nodes[1] * mesh_.nodes[0], -1);
      number_own();
      find_ghosts();
      connect();
    });
    mesh_.offset = sum_below(comm_, mesh_.owned);
    mesh_.total = static_cast<std::uint64_t>(sum(comm_, static_cast<std::int64_t>(mesh_.owned)));
    return std::move(mesh_);
  }

 private:
  /// The voxel at dx, dy, dz in {0, 1} of a node: below it in an axis where 0.
  std::uint8_t kind(std::uint64_t x, std::uint64_t y, std::uint64_t z, std::size_t voxel) const {
    const std::uint64_t at[3] = {x + (voxel & 1), y + (voxel >> 1 & 1), z + (voxel >> 2)};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (at[axis] == 0 || at[axis] > voxels_.grid[axis]) {
        return 0;
      }
    }
    const std::uint64_t plane = at[2] - 1;
    if (plane < voxels_.first || plane >= voxels_.first + voxels_.count) {
      return 0;
    }
    return stiffnesses_.number[voxels_.plane(plane)[(at[1] - 1) * voxels_.grid[0] + at[0] - 1]];
  }

  std::uint64_t around(std::uint64_t x, std::uint64_t y, std::uint64_t z) const {
    std::uint64_t result = 0;
    for (std::size_t voxel = 0; voxel < 8; ++voxel) {
      result |= std::uint64_t{kind(x, y, z, voxel)} << (8 * voxel);
    }
    return result;
  }

  template <class Visit>
  void each_of_plane(const Visit& visit) const {
    for (std::uint64_t y = 0; y < mesh_.nodes[1]; ++y) {
      for (std::uint64_t x = 0; x < mesh_.nodes[0]; ++x) {
        visit(x, y);
      }
    }
  }

  std::int32_t& local(std::uint64_t x, std::uint64_t y, std::uint64_t z) {
    return mesh_.local_of[((z + 1 - mesh_.first) * mesh_.nodes[1] + y) * mesh_.nodes[0] + x];
  }

  void number_own() {
    for (std::uint64_t z = mesh_.first; z < mesh_.first + mesh_.planes; ++z) {
      mesh_.plane_starts.push_back(mesh_.owned);
      each_of_plane([&](std::uint64_t x, std::uint64_t y) {
        const std::uint64_t key = around(x, y, z);
        if (key == 0) {
          return;
        }
        const auto [found, is_new] =
            pattern_by_key_.try_emplace(key, static_cast<std::uint32_t>(mesh_.patterns.size()));
        if (is_new) {
          mesh_.patterns.push_back(make_pattern(key, stiffnesses_));
        }
        mesh_.pattern_of.push_back(found->second);
        mesh_.ids.push_back((z * mesh_.nodes[1] + y) * mesh_.nodes[0] + x);
        local(x, y, z) = static_cast<std::int32_t>(mesh_.owned++);
      });
    }
    mesh_.plane_starts.push_back(mesh_.owned);
    if (mesh_.owned * 3 > std::numeric_limits<std::int32_t>::max()) {
      throw Error(Code::over_budget, "more than 700 million nodes on one rank: use more ranks");
    }
  }

  /// Nodes on both sides of the boundary between node planes `low` and `low + 1`, as the voxels
  /// between them say; both ranks find the same.
  void meet(std::uint64_t low, bool own_is_low, Interface& side) {
    const std::uint64_t own = own_is_low ? low : low + 1;
    const std::uint64_t other = own_is_low ? low + 1 : low;
    side.first_ghost = static_cast<std::int32_t>(mesh_.locals);
    each_of_plane([&](std::uint64_t x, std::uint64_t y) {
      const std::uint64_t key = around(x, y, low) >> 32;  // the four voxels above plane `low`
      if (key == 0) {
        return;
      }
      side.own.push_back(local(x, y, own));
      local(x, y, other) = static_cast<std::int32_t>(mesh_.locals++);
      ++side.ghosts;
    });
  }

  void find_ghosts() {
    mesh_.locals = mesh_.owned;
    const std::uint64_t begin = voxels_.planes.begin(rank_);
    const std::uint64_t end = voxels_.planes.end(rank_);
    if (begin != 0) {
      mesh_.below.rank = voxels_.planes.owner(begin - 1);
      meet(begin - 1, false, mesh_.below);
    }
    if (!is_top_) {
      mesh_.above.rank = voxels_.planes.owner(end);
      meet(end - 1, true, mesh_.above);
    }
    ++mesh_.locals;  // the zero node
  }

  void connect() {
    const auto zero = static_cast<std::int32_t>(mesh_.locals - 1);
    mesh_.neighbours.resize(mesh_.owned);
    for (std::uint64_t node = 0; node < mesh_.owned; ++node) {
      const std::uint64_t id = mesh_.ids[node];
      const std::uint64_t x = id % mesh_.nodes[0];
      const std::uint64_t y = id / mesh_.nodes[0] % mesh_.nodes[1];
      const std::uint64_t z = id / (mesh_.nodes[0] * mesh_.nodes[1]);
      for (std::size_t n = 0; n < 27; ++n) {
        // Unsigned: what lies below zero wraps to beyond the grid.
        const std::uint64_t nx = x + n % 3 - 1;
        const std::uint64_t ny = y + n / 3 % 3 - 1;
        const std::uint64_t nz = z + n / 9 - 1;
        const bool is_there = nx < mesh_.nodes[0] && ny < mesh_.nodes[1] && nz < mesh_.nodes[2];
        const std::int32_t found = is_there ? local(nx, ny, nz) : -1;
        mesh_.neighbours[node][n] = found < 0 ? zero : found;
      }
    }
  }

  MPI_Comm comm_;
  int rank_;
  const Voxels& voxels_;
  Stiffnesses stiffnesses_;
  bool is_top_ = false;
  std::unordered_map<std::uint64_t, std::uint32_t> pattern_by_key_;
  Mesh mesh_;
};

}  // namespace

Mesh make_mesh(MPI_Comm comm, const Voxels& voxels, const Materials& materials,
               const std::array<double, 3>& size) {
  return Builder(comm, voxels, materials, size).build();
}

}  // namespace parabmu
