#include "results.hpp"
#include "sluice/sluice.hpp"

namespace parabmu {
namespace {

/// VTK_HEXAHEDRON: around the lower face, then around the upper one.
constexpr std::uint8_t hexahedron = 12;
constexpr std::uint64_t corners[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                         {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};

/// The voxels of a rank with the nodes around them: its own nodes, then those of the plane above
/// that its voxels touch.
struct Part {
  std::vector<float> points;
  std::vector<double> displacements;
  std::vector<std::int64_t> nodes;  ///< x + y NX + z NX NY of each point
  std::vector<std::int64_t> connectivity;
  std::vector<std::int64_t> offsets{0};
  std::vector<std::uint8_t> types;
  std::vector<std::uint8_t> materials;
};

class PartMaker {
 public:
  PartMaker(const Results& results, const Voxels& voxels)
      : results_(results), mesh_(results.mesh), voxels_(voxels) {
    const std::uint64_t above =
        mesh_.above.rank < 0 ? 0 : static_cast<std::uint64_t>(mesh_.above.ghosts);
    const std::uint64_t count = mesh_.owned + above;
    part_.nodes.resize(count);
    part_.points.resize(3 * count);
    part_.displacements.resize(3 * count);
  }

  Part make(int rank) {
    for (std::uint64_t i = 0; i < mesh_.owned; ++i) {
      place(i, i, mesh_.ids[i]);
    }
    for (std::uint64_t z = voxels_.planes.begin(rank); z < voxels_.planes.end(rank); ++z) {
      const std::uint8_t* cell = voxels_.plane(z);
      for (std::uint64_t y = 0; y < voxels_.grid[1]; ++y) {
        for (std::uint64_t x = 0; x < voxels_.grid[0]; ++x, ++cell) {
          if (*cell != 0) {
            add_cell(x, y, z, *cell);
          }
        }
      }
    }
    return std::move(part_);
  }

 private:
  void add_cell(std::uint64_t x, std::uint64_t y, std::uint64_t z, std::uint8_t material) {
    for (const auto& corner : corners) {
      const std::uint64_t at[3] = {x + corner[0], y + corner[1], z + corner[2]};
      const auto local = static_cast<std::uint64_t>(mesh_.local(at[0], at[1], at[2]));
      std::uint64_t point = local;
      if (local >= mesh_.owned) {
        point = mesh_.owned + local - static_cast<std::uint64_t>(mesh_.above.first_ghost);
        place(point, local, at[0] + mesh_.nodes[0] * (at[1] + mesh_.nodes[1] * at[2]));
      }
      part_.connectivity.push_back(static_cast<std::int64_t>(point));
    }
    part_.offsets.push_back(static_cast<std::int64_t>(part_.connectivity.size()));
    part_.types.push_back(hexahedron);
    part_.materials.push_back(material);
  }
  void place(std::uint64_t point, std::uint64_t local, std::uint64_t id) {
    const std::uint64_t plane = mesh_.nodes[0] * mesh_.nodes[1];
    const std::uint64_t at[3] = {id % mesh_.nodes[0], id / mesh_.nodes[0] % mesh_.nodes[1],
                                 id / plane};
    part_.nodes[point] = static_cast<std::int64_t>(id);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      part_.points[3 * point + axis] =
          static_cast<float>(static_cast<double>(at[axis]) * results_.voxel_size[axis]);
      part_.displacements[3 * point + axis] = results_.displacements[3 * local + axis];
    }
  }

  const Results& results_;
  const Mesh& mesh_;
  const Voxels& voxels_;
  Part part_;
};

std::uint64_t sum(MPI_Comm comm, std::uint64_t own) {
  std::uint64_t all = 0;
  MPI_Allreduce(&own, &all, 1, MPI_UINT64_T, MPI_SUM, comm);
  return all;
}

}  // namespace

void print_vtkhdf(MPI_Comm comm, const std::string& path, const Results& results,
                  const Voxels& voxels, std::uint64_t step, const std::string& codec) {
  const Part part = PartMaker(results, voxels).make(rank_of(comm));
  const std::uint64_t points = sum(comm, part.nodes.size());
  const std::uint64_t cells = sum(comm, part.types.size());
  const auto ranks = static_cast<std::uint64_t>(voxels.planes.ranks());
  sluice::Options options;
  options.format = "vtkhdf";
  options.strategy = "shared";
  options.compress = "deflate:1";
  sluice::File file(comm, path, step == 0 ? sluice::Mode::write : sluice::Mode::append, options);
  const sluice::VariableOptions joined{.steps = true, .varying = true};
  sluice::VariableOptions exact = joined;
  exact.unit = "mm";
  exact.compress = codec;
  if (step == 0) {
    file.set_attribute("VTKHDF", "Type", std::string("UnstructuredGrid"));
    file.set_attribute("", "title", std::string("displacements of the nodes of a voxel model"));
    file.set_attribute("", "materials_file", results.materials_file);
  }
  const auto at = file.define<float>("VTKHDF/Points", {points, 3}, joined);
  const auto ids = file.define<std::int64_t>("VTKHDF/Connectivity", {8 * cells}, joined);
  const auto ends = file.define<std::int64_t>("VTKHDF/Offsets", {cells + ranks}, joined);
  const auto types = file.define<std::uint8_t>("VTKHDF/Types", {cells}, joined);
  const auto node = file.define<std::int64_t>("VTKHDF/PointData/node", {points}, joined);
  const auto moved = file.define<double>("VTKHDF/PointData/displacement", {points, 3}, exact);
  const auto material = file.define<std::uint8_t>("VTKHDF/CellData/material", {cells}, joined);
  sluice::Step out = file.begin_step({.time = static_cast<double>(step)});
  out.put_joined(at, part.points.data(), part.nodes.size());
  out.put_joined(ids, part.connectivity.data(), part.connectivity.size());
  out.put_joined(ends, part.offsets.data(), part.offsets.size());
  out.put_joined(types, part.types.data(), part.types.size());
  out.put_joined(node, part.nodes.data(), part.nodes.size());
  out.put_joined(moved, part.displacements.data(), part.nodes.size());
  out.put_joined(material, part.materials.data(), part.materials.size());
  out.end();
  file.close();
}

}  // namespace parabmu
