// VAMPIRE's own modes as a contestant: one snapshot of the spins, its meta file included.
#include <cmath>
#include <stdexcept>

#include "contestants.hpp"
#include "dialect/vampire/write.hpp"
#include "exec/transport/mpi_transport.hpp"

namespace sluice::bench {
namespace {

namespace vampire = dialect::vampire;

constexpr double timeout_s = 600;

/// The next rank's spins are what it wrote; text has six digits of them.
void verify_snapshot(const World& world, exec::Transport& transport, const std::string& folder,
                     std::uint64_t atoms, bool text) {
  vampire::Snapshot snapshot = vampire::open(transport, storage::make_posix(), folder);
  const int writer = (world.rank() + 1) % world.ranks();
  const vampire::Frame frame = snapshot.frame(0);
  const std::vector<double> found =
      snapshot.read_spins(frame, atoms * static_cast<std::uint64_t>(writer), atoms);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double expected = pattern(writer, i);
    if (!(std::abs(found[i] - expected) <= (text ? 1e-5 : 0.0) * expected)) {
      throw std::runtime_error("verify: number " + std::to_string(i) + " of rank " +
                               std::to_string(writer) + " in " + folder + " is " +
                               std::to_string(found[i]) + ", " + std::to_string(expected) +
                               " was written");
    }
  }
}

vampire::Coordinates places(std::uint64_t atoms) {
  return {std::vector<std::int32_t>(atoms), std::vector<std::int32_t>(atoms),
          std::vector<double>(3 * atoms)};
}

Values write_own(World& world, const Job& job) {
  const std::string folder = job.text("path");
  const auto data = world.data(elements_of(job));
  const std::uint64_t atoms = data.size() / 3;
  const auto transport = exec::make_mpi(world.comm(), timeout_s);
  vampire::WriteOptions options;
  options.mode = vampire::mode_of(job.text("mode"));
  options.nodes = static_cast<int>(job.number("nodes", 1));
  options.text = job.number("text", 0) != 0;
  options.durable = job.number("durable", 1) != 0;
  vampire::SpinsMeta meta;
  meta.magnetisation = {"0", "0", "1"};
  start_afresh(world, folder);

  Stopwatch watch(world.comm());
  vampire::SnapshotWriter writer(*transport, storage::make("auto"), folder, {{0, 1.72, "Co", "Co"}},
                                 atoms, options);
  const vampire::WriteCost cost = writer.write_spins(0, meta, data);
  watch.mark("close_s");
  Values values = watch.finish();
  values.emplace_back("write_s", cost.all_seconds - cost.sync_seconds);

  if (job.number("verify")) {
    writer.write_coordinates(places(atoms));
    verify_snapshot(world, *transport, folder, atoms, options.text);
  }
  return values;
}

}  // namespace

void add_vampire(Contestants& contestants) { contestants["vampire/own"] = write_own; }

}  // namespace sluice::bench
