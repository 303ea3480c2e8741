#include "start.hpp"

#include <cmath>
#include <cstdio>

#include "comm.hpp"
#include "decomposition.hpp"
#include "dialect/vampire/snapshot.hpp"
#include "exec/transport/mpi_transport.hpp"
#include "lattice.hpp"
#include "layers.hpp"
#include "measure.hpp"
#include "neighbours.hpp"
#include "noise.hpp"

namespace vampire {
namespace {

/// Limit of one wait while a snapshot is read.
constexpr double timeout_s = 1800;

namespace dialect = sluice::dialect::vampire;

/// Short decimal text of a number.
std::string text(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%g", value);
  return buffer;
}

std::string axes_text(const std::array<bool, 3>& axes) {
  std::string result;
  for (int axis = 0; axis < 3; ++axis) {
    if (axes[static_cast<std::size_t>(axis)]) {
      result += static_cast<char>('x' + axis);
    }
  }
  return result.empty() ? "open" : "periodic along " + result;
}

Sample lattice_sample(MPI_Comm comm, const Options& options) {
  Lattice lattice;
  lattice.kind = options.lattice;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    lattice.cells[axis] = options.size[axis];
  }
  lattice.spacing = options.spacing_angstrom;
  lattice.periodic = periodic_axes(options.periodic.empty() ? "xyz" : options.periodic);
  Sample sample;
  agree(comm, [&] { sample = generate(lattice, rank_of(comm), size_of(comm)); });
  sample.moment_mub = {options.moment_mub};
  for (std::size_t i = 0; i < sample.atoms.size(); ++i) {
    // Three independent normal deviates, brought to length one, point anywhere alike.
    sample.atoms.spin[i] =
        options.start == "up"
            ? Vec3{0, 0, 1}
            : normalised(normal3(options.physics.seed, Stream::initial, sample.atoms.id[i], 0));
  }
  sample.described = lattice.kind + " lattice of " + std::to_string(lattice.cells[0]) + " x " +
                     std::to_string(lattice.cells[1]) + " x " + std::to_string(lattice.cells[2]) +
                     " cells of " + text(lattice.spacing) + " A, " + axes_text(lattice.periodic);
  return sample;
}

/// Moments by material id; gaps in the ids are moments of 0, which no atom may have.
std::vector<double> moments_of(const std::vector<dialect::Material>& materials) {
  constexpr std::int32_t max_material = 1 << 16;
  std::vector<double> moments;
  for (const dialect::Material& material : materials) {
    if (material.id < 0 || material.id >= max_material) {
      throw Error(Code::format, "material " + std::to_string(material.id) + ": ids are 0 to 65535");
    }
    moments.resize(std::max(moments.size(), static_cast<std::size_t>(material.id) + 1));
    moments[static_cast<std::size_t>(material.id)] = material.moment_mub;
  }
  return moments;
}

void check_atoms(const Sample& sample) {
  const auto finite = [](const Vec3& v) {
    return std::isfinite(v.x) && std::isfinite(v.y) && std::isfinite(v.z);
  };
  for (std::size_t i = 0; i < sample.atoms.size(); ++i) {
    const std::string atom = "atom " + std::to_string(sample.atoms.id[i]) + " of the snapshot: ";
    const std::int32_t material = sample.atoms.material[i];
    if (material < 0 || static_cast<std::size_t>(material) >= sample.moment_mub.size() ||
        !(sample.moment_mub[static_cast<std::size_t>(material)] > 0)) {
      throw Error(Code::format, atom + "its material " + std::to_string(material) +
                                    " has no magnetic moment in atoms-coords.meta");
    }
    if (!finite(sample.atoms.position[i])) {
      throw Error(Code::format, atom + "its position is not finite");
    }
    const double square = dot(sample.atoms.spin[i], sample.atoms.spin[i]);
    if (!(std::abs(square - 1) < 1e-3)) {
      throw Error(Code::format,
                  atom + "its spin has length " + text(std::sqrt(square)) + ", not 1");
    }
  }
}

/// The box around the atoms: from --box, else half a layer beyond the outermost atoms.
void infer_box(MPI_Comm comm, const Options& options, Sample& sample) {
  Box& box = sample.box;
  box.periodic = periodic_axes(options.periodic);
  std::string lengths;
  for (int axis = 0; axis < 3; ++axis) {
    const Layers layers = layers_along(comm, sample.atoms.position, axis);
    const double extent = layers.high - layers.low;
    box.low[axis] = layers.low - layers.gap / 2;
    box.length[axis] = extent + layers.gap;
    const bool periodic = box.periodic[static_cast<std::size_t>(axis)];
    const std::string name(1, static_cast<char>('x' + axis));
    if (periodic && !options.box_angstrom.empty()) {
      box.length[axis] = options.box_angstrom[static_cast<std::size_t>(axis)];
      if (box.length[axis] < extent) {
        throw Error(Code::invalid_argument,
                    "--box: the atoms extend over " + text(extent) + " Angstrom along " + name);
      }
    } else if (periodic && layers.gap == 0) {
      throw Error(Code::invalid_argument,
                  "--periodic " + name + ": there are no regular layers of atoms: give --box");
    }
    lengths += axis == 0 ? "" : " x ";
    lengths += text(box.length[axis]);
  }
  sample.described += "; box " + lengths + " A" +
                      (options.box_angstrom.empty() ? " inferred from its layers, " : ", ") +
                      axes_text(box.periodic);
}

void compare_magnetisation(MPI_Comm comm, const dialect::Frame& frame, Sample& sample) {
  const Measured found = measure(comm, sample, sample.atoms.spin.data(),
                                 std::vector<double>(sample.atoms.size(), 0.0));
  const auto& said = frame.meta.magnetisation;
  const std::string expected = said[0] + " " + said[1] + " " + said[2];
  const std::string here = direction_text(found.magnetisation);
  std::string verdict = ", as its meta file says";
  if (here != expected) {
    verdict = "; its meta file says " + expected;
    verdict += frame.data.text ? ", from spins that were not yet rounded to text" : "";
  }
  sample.described += "\nmagnetisation direction " + here + verdict;
}

Sample snapshot_sample(MPI_Comm comm, const Options& options) {
  const auto transport = sluice::exec::make_mpi(comm, timeout_s);
  dialect::Snapshot snapshot =
      dialect::open(*transport, sluice::storage::make_posix(), options.start_from);
  const std::vector<std::uint32_t>& there = snapshot.frames();
  const std::uint32_t last = there.empty() ? 0 : there.back();
  const dialect::Frame frame =
      snapshot.frame(options.snapshot >= 0 ? static_cast<std::uint32_t>(options.snapshot) : last);
  Sample sample;
  sample.total = snapshot.atoms();
  if (sample.total == 0) {
    throw Error(Code::format, options.start_from + ": the snapshot holds no atoms");
  }
  const auto mine = dialect::share(sample.total, rank_of(comm), size_of(comm));
  const std::uint64_t first = mine[0];
  const std::uint64_t count = mine[1] - first;
  dialect::Coordinates atoms = snapshot.read_coordinates(first, count);
  const std::vector<double> spins = snapshot.read_spins(frame, first, count);
  agree(comm, [&] {
    for (std::uint64_t i = 0; i < count; ++i) {
      const double* x = atoms.xyz.data() + 3 * i;
      const double* s = spins.data() + 3 * i;
      sample.atoms.id.push_back(first + i);
      sample.atoms.position.push_back({x[0], x[1], x[2]});
      sample.atoms.spin.push_back({s[0], s[1], s[2]});
    }
    sample.atoms.material = std::move(atoms.material);
    sample.moment_mub = moments_of(snapshot.materials());
    check_atoms(sample);
  });
  sample.notes = snapshot.notes();
  sample.notes.insert(sample.notes.end(), frame.notes.begin(), frame.notes.end());
  sample.described = options.start_from + ", snapshot " + std::to_string(frame.index) + " of " +
                     dialect::numbers_text(there) + " (" + text(frame.meta.time_s * 1e12) +
                     " ps, " + text(frame.meta.temperature_k) + " K)";
  infer_box(comm, options, sample);
  compare_magnetisation(comm, frame, sample);
  return sample;
}

}  // namespace

std::string direction_text(const Vec3& magnetisation) {
  const bool none = dot(magnetisation, magnetisation) == 0;
  const Vec3 unit = none ? magnetisation : normalised(magnetisation);
  return text(unit.x) + " " + text(unit.y) + " " + text(unit.z);
}

Sample make_sample(MPI_Comm comm, const Options& options) {
  Sample sample =
      options.start_from.empty() ? lattice_sample(comm, options) : snapshot_sample(comm, options);
  sample.atoms = to_owners(comm, sample.atoms, sample.box);
  if (options.cutoff_angstrom > 0) {
    sample.cutoff = options.cutoff_angstrom;
  } else if (!options.start_from.empty()) {
    // A little generous, so that the last digits of a coordinate decide nothing.
    sample.cutoff = 1.05 * nearest_distance(comm, sample.atoms, sample.box, sample.total);
  }
  return sample;
}

}  // namespace vampire
