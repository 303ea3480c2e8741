#include "snapshots.hpp"

#include <cstdio>
#include <sstream>

#include "comm.hpp"
#include "exec/transport/mpi_transport.hpp"
#include "start.hpp"

namespace vampire {
namespace {

namespace dialect = sluice::dialect::vampire;

/// Limit of one wait while a snapshot is written.
constexpr double timeout_s = 1800;

std::vector<dialect::Material> materials_of(const Sample& sample, const Options& options) {
  std::vector<dialect::Material> materials;
  for (const double moment : sample.moment_mub) {
    const auto id = static_cast<std::int32_t>(materials.size());
    materials.push_back(
        {id, moment, options.element, options.material_name + (id == 0 ? "" : std::to_string(id))});
  }
  return materials;
}

/// Own atoms that lie in the part of the box that is to be written.
std::vector<std::size_t> chosen_of(const Sample& sample, const Options& options) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < sample.atoms.size(); ++i) {
    bool inside = sample.atoms.id[i] % options.atoms_every == 0;
    for (int axis = 0; axis < 3; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      const double length = sample.box.length[axis];
      const double place = length > 0
                               ? (sample.atoms.position[i][axis] - sample.box.low[axis]) / length
                               : options.output_low[a];
      inside = inside && place >= options.output_low[a] && place <= options.output_high[a];
    }
    if (inside) {
      chosen.push_back(i);
    }
  }
  return chosen;
}

dialect::Coordinates coordinates_of(const Sample& sample, const std::vector<std::size_t>& chosen) {
  dialect::Coordinates result;
  result.category.assign(chosen.size(), 0);
  for (const std::size_t i : chosen) {
    const Vec3& place = sample.atoms.position[i];
    result.material.push_back(sample.atoms.material[i]);
    result.xyz.insert(result.xyz.end(), {place.x, place.y, place.z});
  }
  return result;
}

}  // namespace

SnapshotOutput::SnapshotOutput(MPI_Comm comm, const Sample& sample, const Options& options)
    : comm_(comm),
      options_(options),
      chosen_(chosen_of(sample, options)),
      transport_(sluice::exec::make_mpi(comm, timeout_s)) {
  const double began_s = MPI_Wtime();
  dialect::WriteOptions how;
  how.mode = dialect::mode_of(options.mode);
  how.text = options.text;
  how.nodes = options.writers > 0 ? options.writers : 1;
  const Vec3& length = sample.box.length;
  how.box_angstrom = {length.x, length.y, length.z};
  writer_ = std::make_unique<dialect::SnapshotWriter>(*transport_, sluice::storage::make("auto"),
                                                      options.output, materials_of(sample, options),
                                                      chosen_.size(), how);
  const dialect::WriteCost cost = writer_->write_coordinates(coordinates_of(sample, chosen_));
  cost_.bytes = cost.bytes;
  cost_.seconds = MPI_Wtime() - began_s;
}

void SnapshotOutput::write(double time_ps, const Vec3* spins, const Vec3& magnetisation) {
  const double began_s = MPI_Wtime();
  const Physics& physics = options_.physics;
  dialect::SpinsMeta meta;
  meta.time_s = time_ps * 1e-12;
  meta.field_t = {physics.field_t.x, physics.field_t.y, physics.field_t.z};
  meta.temperature_k = physics.temperature_k;
  std::istringstream direction(direction_text(magnetisation));
  direction >> meta.magnetisation[0] >> meta.magnetisation[1] >> meta.magnetisation[2];
  std::vector<double> values;
  values.reserve(3 * chosen_.size());
  for (const std::size_t i : chosen_) {
    values.insert(values.end(), {spins[i].x, spins[i].y, spins[i].z});
  }
  const dialect::WriteCost cost =
      writer_->write_spins(static_cast<std::uint32_t>(cost_.steps), meta, values);
  cost_.bytes += cost.bytes;
  ++cost_.steps;
  cost_.seconds += MPI_Wtime() - began_s;
  say(cost);
}

void SnapshotOutput::say(const dialect::WriteCost& cost) const {
  if (rank_of(comm_) != 0) {
    return;
  }
  const auto rate = [&](double seconds) {
    return seconds > 0 ? static_cast<double>(cost.bytes) * 1e-6 / seconds : 0;
  };
  std::printf("snapshot %llu: %llu bytes; cached %.0f MB/s, durable %.0f MB/s, all %.0f MB/s\n",
              static_cast<unsigned long long>(cost_.steps - 1),
              static_cast<unsigned long long>(cost.bytes), rate(cost.write_seconds),
              rate(cost.write_seconds + cost.sync_seconds), rate(cost.all_seconds));
}

OutputCost SnapshotOutput::close() {
  cost_.seconds = reduce(comm_, cost_.seconds, MPI_MAX);
  return cost_;
}

}  // namespace vampire
