#include "constraints.hpp"

#include <algorithm>
#include <span>
#include <type_traits>

#include "text.hpp"

namespace parabmu {
namespace {

static_assert(std::is_trivially_copyable_v<Constraint>);

[[noreturn]] void refuse(const std::string& path, std::uint64_t line, const std::string& why) {
  throw Error(Code::format, path + ":" + std::to_string(line) + ": " + why);
}

Constraint constraint_of(const std::string& path, std::uint64_t line, const std::string& name,
                         std::span<const std::string> words) {
  if (name != "SELECT_NODE_3D" && name != "PRESERVE_NODE_3D") {
    refuse(path, line, "no constraint " + name + ": SELECT_NODE_3D or PRESERVE_NODE_3D");
  }
  if (words.size() != 9) {
    refuse(path, line, name + " takes 9 numbers, not " + std::to_string(words.size()));
  }
  Constraint result;
  result.line = line;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::int64_t node = 0;
    std::int64_t fixed = 0;
    if (!parse(words[axis], node) || node < 1 || !parse(words[3 + axis], result.value[axis]) ||
        !parse(words[6 + axis], fixed) || (fixed != 0 && fixed != 1)) {
      refuse(path, line, "not `x y z vx vy vz cx cy cz`: nodes count from 1, c is 0 or 1");
    }
    result.node[axis] = static_cast<std::uint64_t>(node);
    result.fixed[axis] = fixed == 1;
  }
  return result;
}

}  // namespace

void Constraints::add_file(MPI_Comm comm, const std::string& path) {
  std::vector<Constraint> found;
  agree(comm, [&] {
    if (rank_of(comm) != 0) {
      return;
    }
    LineReader reader(path);
    std::string_view line;
    while (reader.next(line)) {
      const auto words = words_of(line);
      if (!words.empty()) {
        found.push_back(
            constraint_of(path, reader.number(), words[0], std::span(words).subspan(1)));
        found.back().file = static_cast<std::uint32_t>(files.size());
      }
    }
  });
  std::uint64_t count = found.size();
  MPI_Bcast(&count, 1, MPI_UINT64_T, 0, comm);
  found.resize(count);
  broadcast(comm, std::as_writable_bytes(std::span(found)), 0);
  all.insert(all.end(), found.begin(), found.end());
  files.push_back(path);
}

void Constraints::add_command(const std::string& script, const Command& command) {
  auto file = std::find(files.begin(), files.end(), script);
  if (file == files.end()) {
    file = files.insert(file, script);
  }
  all.push_back(constraint_of(script, command.line, command.name, command.arguments));
  all.back().file = static_cast<std::uint32_t>(file - files.begin());
}

Load load_of(MPI_Comm comm, const Constraints& constraints, const Mesh& mesh) {
  Load load;
  load.force.resize(3 * mesh.owned);
  load.displacement.resize(3 * mesh.owned);
  load.fixed.resize(3 * mesh.owned);
  agree(comm, [&] {
    for (const Constraint& c : constraints.all) {
      bool is_inside = true;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        is_inside = is_inside && c.node[axis] <= mesh.nodes[axis];
      }
      const std::uint64_t z = c.node[2] - 1;
      const bool is_own = z >= mesh.first && z < mesh.first + mesh.planes;
      if (is_inside && !is_own) {
        continue;
      }
      const std::int32_t node = is_inside ? mesh.local(c.node[0] - 1, c.node[1] - 1, z) : -1;
      if (node < 0) {
        refuse(constraints.files[c.file], c.line,
               "the node " + std::to_string(c.node[0]) + " " + std::to_string(c.node[1]) + " " +
                   std::to_string(c.node[2]) + " belongs to no voxel");
      }
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::size_t at = 3 * static_cast<std::size_t>(node) + axis;
        if (c.fixed[axis]) {
          load.fixed[at] = 1;
          load.displacement[at] = c.value[axis];
        } else {
          load.force[at] += c.value[axis];
        }
      }
    }
  });
  return load;
}

}  // namespace parabmu
