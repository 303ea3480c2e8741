#include "output.hpp"

#include "comm.hpp"
#include "snapshots.hpp"

namespace vampire {

std::unique_ptr<Output> open_output(MPI_Comm comm, const Sample& sample, const Options& options,
                                    std::int64_t outputs) {
  if (options.mode.empty()) {
    return std::make_unique<FileOutput>(comm, sample, options, outputs);
  }
  return std::make_unique<SnapshotOutput>(comm, sample, options);
}

namespace {

/// What the arrays are called. In VTKHDF they are those of a grid of points, and dimensions have no
/// names.
struct Names {
  bool is_vtkhdf;
  std::string coordinates = is_vtkhdf ? "VTKHDF/Points" : "coordinates";
  std::string material = is_vtkhdf ? "VTKHDF/PointData/material" : "material";
  std::string spins = is_vtkhdf ? "VTKHDF/PointData/spins" : "spins";

  std::vector<std::string> dimensions(std::vector<std::string> names) const {
    return is_vtkhdf ? std::vector<std::string>{} : std::move(names);
  }
};

Names names_for(const Options& options) { return {options.output.ends_with(".vtkhdf")}; }

}  // namespace

FileOutput::FileOutput(MPI_Comm comm, const Sample& sample, const Options& options,
                       std::int64_t outputs)
    : comm_(comm),
      began_s_(MPI_Wtime()),
      id_(sample.atoms.id),
      total_(sample.total),
      file_(comm, options.output, outputs > 0 ? sluice::Mode::append : sluice::Mode::write,
            {.strategy = options.strategy,
             .writers = options.writers,
             .restart_after = outputs - 1}) {
  const bool scattered = !id_.empty() && id_.back() - id_.front() + 1 != id_.size();
  contiguous_ = reduce(comm, std::int64_t{scattered}, MPI_MAX) == 0;
  if (outputs > 0) {
    spins_ = file_.find(names_for(options).spins);
  } else {
    begin(sample, options);
  }
  cost_.seconds = MPI_Wtime() - began_s_;
}

void FileOutput::begin(const Sample& sample, const Options& options) {
  const Names names = names_for(options);
  const auto coordinates = file_.define<double>(names.coordinates, {sample.total, 3},
                                                {.unit = "Angstrom",
                                                 .description = "places of the atoms",
                                                 .dimensions = names.dimensions({"atom", "xyz"})});
  const auto material = file_.define<std::int32_t>(
      names.material, {sample.total},
      {.description = "number of each atom's material", .dimensions = names.dimensions({"atom"})});
  spins_ = file_.define<double>(names.spins, {sample.total, 3},
                                {.steps = true,
                                 .unit = "1",
                                 .description = "direction of each atom's magnetic moment",
                                 .dimensions = names.dimensions({"atom", "xyz"})});
  if (names.is_vtkhdf) {
    file_.set_attribute("VTKHDF", "Type", std::string("UnstructuredGrid"));
  }
  describe(sample, options);
  put(file_, coordinates, reinterpret_cast<const double*>(sample.atoms.position.data()), 3);
  put(file_, material, sample.atoms.material.data(), 1);
  file_.flush();
  cost_.bytes = sample.total * (3 * sizeof(double) + sizeof(std::int32_t));
}

/// Everything needed to run this again.
void FileOutput::describe(const Sample& sample, const Options& options) {
  const Physics& physics = options.physics;
  const auto list = [](const Vec3& v) { return std::vector<double>{v.x, v.y, v.z}; };
  const auto set = [this](const char* name, const sluice::Value& value) {
    file_.set_attribute("", name, value);
  };
  set("title", std::string("atomistic spin dynamics"));
  set("sample", sample.described);
  set("box_low_angstrom", list(sample.box.low));
  set("box_length_angstrom", list(sample.box.length));
  set("cutoff_angstrom", sample.cutoff);
  set("moment_mub", sample.moment_mub);
  set("exchange_mev", physics.exchange_mev);
  set("anisotropy_mev", physics.anisotropy_mev);
  set("axis", list(physics.axis));
  set("field_t", list(physics.field_t));
  set("temperature_k", physics.temperature_k);
  set("damping", physics.damping);
  set("dt_fs", physics.dt_fs);
  set("seed", static_cast<std::int64_t>(physics.seed));
  set("steps_between_outputs", static_cast<std::int64_t>(options.every));
  set("time_units", std::string("ps"));
}

template <class Target, class T>
void FileOutput::put(Target& target, sluice::Variable variable, const T* data,
                     std::uint64_t columns) {
  if (!contiguous_) {
    target.put_rows(variable, id_.data(), id_.size(), data);
    return;
  }
  sluice::Selection mine{.start = {id_.empty() ? 0 : id_.front()}, .count = {id_.size()}};
  if (columns > 1) {
    mine.start.push_back(0);
    mine.count.push_back(columns);
  }
  target.put(variable, data, mine);
}

void FileOutput::write(double time_ps, const Vec3* spins, const Vec3&) {
  const double began_s = MPI_Wtime();
  sluice::Step step = file_.begin_step({.time = time_ps});
  put(step, spins_, &spins->x, 3);
  step.end();
  cost_.bytes += total_ * 3 * sizeof(double);
  ++cost_.steps;
  cost_.seconds += MPI_Wtime() - began_s;
}

void FileOutput::settle() {
  const double began_s = MPI_Wtime();
  // With strategy `forward` steps are on their way when their end returns. The ranks wait
  // together: where they are of several nodes, each needs the others meanwhile.
  bool is_there = false;
  while (!is_there) {
    app::agree(comm_, [&] { is_there = file_.drain(1); });
    is_there = reduce(comm_, std::int64_t{is_there}, MPI_MIN) != 0;
  }
  cost_.seconds += MPI_Wtime() - began_s;
}

OutputCost FileOutput::close() {
  const double began_s = MPI_Wtime();
  file_.close();
  cost_.seconds = reduce(comm_, cost_.seconds + (MPI_Wtime() - began_s), MPI_MAX);
  return cost_;
}

}  // namespace vampire
