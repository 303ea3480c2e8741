// By sluice::File: H5MD in HDF5, VTKHDF, DCD, or a NAMDBIN file a step.
#include <numeric>
#include <optional>

#include "sluice/sluice.hpp"
#include "ways.hpp"

namespace namd {
namespace {

constexpr double time_step_ps = 0.001;
constexpr double edge = 65536;  ///< of the box

bool ends_in(const std::string& path, const std::string& ending) {
  return path.size() >= ending.size() &&
         path.compare(path.size() - ending.size(), ending.size(), ending) == 0;
}

bool is_namdbin(const std::string& path) { return ends_in(path, ".coor"); }
bool is_dcd(const std::string& path) { return ends_in(path, ".dcd"); }
bool is_vtkhdf(const std::string& path) { return ends_in(path, ".vtkhdf"); }

constexpr const char* vtk_points = "VTKHDF/Points";

template <class Target>
void put_patches(Target& target, sluice::Variable variable, const Patches& patches) {
  for (const Patch& patch : patches.mine()) {
    target.put_rows(variable, patch.ids.data(), patch.ids.size(),
                    patch.ids.empty() ? nullptr : patch.positions.front().data());
  }
}

/// NAME.000003.coor
std::string coor_of_step(const std::string& path, std::uint64_t step) {
  return path_of_step(path.substr(0, path.size() - 5), step) + ".coor";
}

/// The format holds one array, so each step has its own file. The last one stays open during the
/// next computation, so that it is written in the background if the strategy does that.
class CoorTrajectory : public Trajectory {
 public:
  CoorTrajectory(MPI_Comm comm, const TrajectoryOptions& options)
      : comm_(comm), options_(options) {}

  void write(const Patches& patches) override {
    close();
    last_.emplace(comm_, coor_of_step(options_.path, patches.step()), sluice::Mode::write,
                  options_.sluice);
    const auto positions = last_->define<double>("positions", {options_.atoms, 3});
    put_patches(*last_, positions, patches);
    last_->flush();
  }
  void poll() override {
    if (last_) {
      last_->poll();
    }
  }
  void close() override {
    if (last_) {
      last_->close();
      last_.reset();
    }
  }

 private:
  MPI_Comm comm_;
  TrajectoryOptions options_;
  std::optional<sluice::File> last_;
};

/// Points that move, with the number of each atom.
class VtkTrajectory : public Trajectory {
 public:
  VtkTrajectory(MPI_Comm comm, const TrajectoryOptions& options)
      : share_(share_of(options.atoms, rank_of(comm), size_of(comm))),
        file_(comm, options.path, sluice::Mode::write, options.sluice) {
    file_.set_attribute("VTKHDF", "Type", std::string("UnstructuredGrid"));
    positions_ = file_.define<double>(vtk_points, {options.atoms, 3}, {.steps = true});
    const auto numbers = file_.define<std::int64_t>("VTKHDF/PointData/atom", {options.atoms});
    std::vector<std::int64_t> mine(share_.count);
    std::iota(mine.begin(), mine.end(), static_cast<std::int64_t>(share_.first));
    file_.put(numbers, mine.data(), {.start = {share_.first}, .count = {share_.count}});
    file_.flush();
  }

  void write(const Patches& patches) override {
    auto step = file_.begin_step({.time = time_step_ps * static_cast<double>(patches.step())});
    put_patches(step, positions_, patches);
    step.end();
  }
  void poll() override { file_.poll(); }
  void close() override { file_.close(); }

 private:
  Share share_;
  sluice::File file_;
  sluice::Variable positions_;
};

class SluiceTrajectory : public Trajectory {
 public:
  SluiceTrajectory(MPI_Comm comm, const TrajectoryOptions& options)
      : is_first_(rank_of(comm) == 0),
        is_dcd_(is_dcd(options.path)),
        file_(comm, options.path, sluice::Mode::write, options.sluice) {
    if (is_dcd_) {
      positions_ = file_.define<float>("positions", {options.atoms, 3}, {.steps = true});
      box_ = file_.define<double>("cell", {6}, {.steps = true});
      file_.set_attribute("", "timestep", static_cast<float>(time_step_ps * 1000 / 48.88821));
    } else {
      define_h5md(options.atoms);
    }
  }

  void write(const Patches& patches) override {
    auto step = file_.begin_step();
    put_patches(step, positions_, patches);
    const double cell[] = {edge, 0, edge, 0, 0, edge};
    const double edges[] = {edge, edge, edge};
    const auto number = static_cast<std::int64_t>(patches.step());
    const double time_ps = time_step_ps * static_cast<double>(number);
    if (is_first_) {
      step.put(box_, is_dcd_ ? cell : edges);
    }
    if (is_first_ && !is_dcd_) {
      for (const sluice::Variable variable : numbers_) {
        step.put(variable, &number);
      }
      for (const sluice::Variable variable : times_) {
        step.put(variable, &time_ps);
      }
    }
    step.end();
  }
  void poll() override { file_.poll(); }
  void close() override { file_.close(); }

 private:
  void define_h5md(std::uint64_t atoms) {
    const std::string all = "particles/all/";
    positions_ = file_.define<double>(all + "position/value", {atoms, 3},
                                      {.steps = true, .unit = "Angstrom"});
    box_ = file_.define<double>(all + "box/edges/value", {3}, {.steps = true});
    for (const char* what : {"position/", "box/edges/"}) {
      numbers_.push_back(file_.define<std::int64_t>(all + what + "step", {}, {.steps = true}));
      times_.push_back(
          file_.define<double>(all + what + "time", {}, {.steps = true, .unit = "ps"}));
    }
    file_.set_attribute("h5md", "version", std::vector<std::int32_t>{1, 1});
    file_.set_attribute("h5md/author", "name", std::string("unknown"));
    file_.set_attribute("h5md/creator", "name", std::string("namd_io"));
    file_.set_attribute("h5md/creator", "version", std::string("1"));
    file_.set_attribute(all + "box", "dimension", std::int32_t{3});
    file_.set_attribute(all + "box", "boundary",
                        std::vector<std::string>{"periodic", "periodic", "periodic"});
  }

  bool is_first_;
  bool is_dcd_;
  sluice::File file_;
  sluice::Variable positions_;
  sluice::Variable box_;
  std::vector<sluice::Variable> numbers_;
  std::vector<sluice::Variable> times_;
};

}  // namespace

std::unique_ptr<Trajectory> make_sluice(MPI_Comm comm, const TrajectoryOptions& options) {
  if (is_namdbin(options.path)) {
    return std::make_unique<CoorTrajectory>(comm, options);
  }
  if (is_vtkhdf(options.path)) {
    return std::make_unique<VtkTrajectory>(comm, options);
  }
  return std::make_unique<SluiceTrajectory>(comm, options);
}

void verify_sluice(MPI_Comm comm, const TrajectoryOptions& options) {
  const Share share = share_of(options.atoms, rank_of(comm), size_of(comm));
  std::vector<Position> found(share.count);
  double* const into = found.empty() ? nullptr : found.front().data();
  const sluice::Selection selection{.start = {share.first, 0}, .count = {share.count, 3}};
  const auto same = [&](std::uint64_t step) {
    agree(comm, [&] { compare(options.path, step, share.first, found); });
  };
  if (is_namdbin(options.path)) {
    for (std::uint64_t step = 0; step < options.steps; ++step) {
      sluice::File in(comm, coor_of_step(options.path, step), sluice::Mode::read);
      in.get(in.find("positions"), into, selection);
      same(step);
      in.close();
    }
    return;
  }
  sluice::File in(comm, options.path, sluice::Mode::read);
  const auto positions = in.find(is_dcd(options.path)      ? "positions"
                                 : is_vtkhdf(options.path) ? vtk_points
                                                           : "particles/all/position/value");
  if (in.steps() != options.steps) {
    throw Error(Code::damaged, options.path + ": holds " + std::to_string(in.steps()) + " steps");
  }
  for (std::uint64_t step = 0; step < options.steps; ++step) {
    in.get(positions, into, selection, step);
    same(step);
  }
  in.close();
}

}  // namespace namd
