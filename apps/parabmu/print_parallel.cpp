#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "dialect/voxfe/xdmf.hpp"
#include "results.hpp"
#include "sluice/sluice.hpp"

namespace parabmu {
namespace {

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

/// What a rank writes beside the displacements themselves.
struct Places {
  std::vector<std::int64_t> ids;
  std::vector<float> along[3];
};

Places places_of(const Results& results) {
  const Mesh& mesh = results.mesh;
  Places places;
  places.ids.assign(mesh.ids.begin(), mesh.ids.end());
  for (auto& column : places.along) {
    column.reserve(mesh.owned);
  }
  const std::uint64_t plane = mesh.nodes[0] * mesh.nodes[1];
  for (const std::uint64_t id : mesh.ids) {
    const std::uint64_t at[3] = {id % mesh.nodes[0], id / mesh.nodes[0] % mesh.nodes[1],
                                 id / plane};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      places.along[axis].push_back(
          static_cast<float>(static_cast<double>(at[axis]) * results.voxel_size[axis]));
    }
  }
  return places;
}

void write_xdmf(const std::string& file, std::uint64_t nodes) {
  const std::string path = file + ".xdmf";
  const std::string text = sluice::dialect::voxfe::nodes_xdmf(file, nodes);
  const std::unique_ptr<std::FILE, Closer> out(std::fopen(path.c_str(), "w"));
  if (!out || std::fwrite(text.data(), 1, text.size(), out.get()) != text.size() ||
      std::fflush(out.get()) != 0) {
    throw Error(Code::io, path + ": " + std::strerror(errno));
  }
}

void describe(sluice::File& file, const Results& results) {
  const Mesh& mesh = results.mesh;
  file.set_attribute("", "Conventions", std::string("CF-1.8"));
  file.set_attribute("", "title", std::string("displacements of the nodes of a voxel model"));
  file.set_attribute("", "materials_file", results.materials_file);
  file.set_attribute("", "nodes",
                     std::vector<std::int64_t>{static_cast<std::int64_t>(mesh.nodes[0]),
                                               static_cast<std::int64_t>(mesh.nodes[1]),
                                               static_cast<std::int64_t>(mesh.nodes[2])});
  file.set_attribute("", "voxel_size",
                     std::vector<double>(results.voxel_size.begin(), results.voxel_size.end()));
  file.set_attribute("displacement", "coordinates", std::string("x y z"));
}

}  // namespace

void print_parallel(MPI_Comm comm, const std::string& path, const Results& results,
                    const std::string& codec) {
  const Mesh& mesh = results.mesh;
  const Places places = places_of(results);
  sluice::Options options;
  options.format = "netcdf4";
  options.strategy = "shared";
  options.compress = "deflate:1";
  sluice::File file(comm, path, sluice::Mode::write, options);
  const sluice::Shape shape{mesh.total};
  const auto id = file.define<std::int64_t>(
      "node_id", shape,
      {.unit = "1", .description = "x + y NX + z NX NY of the node", .dimensions = {"node"}});
  sluice::Variable along[3];
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::string name(1, static_cast<char>('x' + axis));
    along[axis] = file.define<float>(
        name, shape,
        {.unit = "mm", .description = name + " of the node at rest", .dimensions = {"node"}});
  }
  const auto displacement =
      file.define<double>("displacement", {mesh.total, 3},
                          {.unit = "mm", .dimensions = {"node", "axis"}, .compress = codec});
  describe(file, results);
  const sluice::Selection mine{.start = {mesh.offset}, .count = {mesh.owned}};
  file.put(id, places.ids.data(), mine);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    file.put(along[axis], places.along[axis].data(), mine);
  }
  file.put(displacement, results.displacements.data(),
           {.start = {mesh.offset, 0}, .count = {mesh.owned, 3}});
  file.close();
  agree(comm, [&] {
    if (rank_of(comm) == 0) {
      write_xdmf(path, mesh.total);
    }
  });
}

}  // namespace parabmu
