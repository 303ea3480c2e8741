#include "simulation.hpp"

#include <algorithm>
#include <cstdio>

#include "text.hpp"

namespace parabmu {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(Code::invalid_argument, why); }

double positive(const std::string& word, const char* what) {
  double value = 0;
  if (!parse(word, value) || !(value > 0)) {
    refuse(std::string(what) + " must be a positive number, not " + word);
  }
  return value;
}

std::uint64_t whole(const std::string& word) {
  std::int64_t value = 0;
  if (!parse(word, value) || value < 0) {
    refuse("the iterations must be a whole number, not " + word);
  }
  return static_cast<std::uint64_t>(value);
}

Grid grid_of(const Command& command) {
  constexpr std::int64_t largest_extent = 1 << 20;
  Grid grid{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::int64_t extent = 0;
    if (!parse(command.arguments[axis], extent) || extent < 1 || extent > largest_extent) {
      refuse("the grid's extents are 1 to 1048576, not " + command.arguments[axis]);
    }
    grid[axis] = static_cast<std::uint64_t>(extent);
  }
  return grid;
}

std::string number(double value, const char* form = "%.3e") {
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, form, value);
  return buffer;
}

}  // namespace

Simulation::Simulation(MPI_Comm comm, std::string script, std::string residuals)
    : comm_(comm), script_(std::move(script)), residuals_path_(std::move(residuals)) {}

void Simulation::run(const std::vector<Command>& commands) {
  for (const Command& command : commands) {
    if (stopped()) {
      return;
    }
    try {
      carry_out(command);
    } catch (const Error& error) {
      throw Error(
          error.code(),
          script_ + ":" + std::to_string(command.line) + ": " + command.name + ": " + error.what(),
          error.rank());
    }
  }
}

void Simulation::carry_out(const Command& command) {
  const std::string& name = command.name;
  if (name == "LOAD_MATERIALS_FILE") {
    materials_file_ = command.arguments[0];
    Materials found;
    agree(comm_, [&] {
      found = read_materials(materials_file_);
      if (voxels_) {
        check_cells(model_file_, *voxels_, found);
      }
    });
    materials_ = found;
    mesh_.reset();
    solution_.reset();
  } else if (name == "LOAD_MCTSCAN" || name == "LOAD_MCTSCANPAR") {
    load(command);
  } else if (name == "SELECTION_OF_NODES") {
    constraints_ = {};
    solution_.reset();
  } else if (name == "SELECT_NODE_FILE" || name == "PRESERVE_NODE_FILE") {
    time("constraints", [&] { constraints_.add_file(comm_, command.arguments[0]); });
    solution_.reset();
  } else if (name == "SELECT_NODE_3D" || name == "PRESERVE_NODE_3D") {
    constraints_.add_command(script_, command);
    solution_.reset();
  } else if (name == "COMPUTE_SED") {
    if (need_solution()) {
      time("energy", [&] { compute_energy(); });
    }
  } else if (name == "COMPRESS") {
    codec_ = command.arguments[0];
  } else if (name == "PRINT_X" || name == "PARPRINT_X") {
    print(command);
  } else {
    set_number(command);
  }
}

void Simulation::set_number(const Command& command) {
  const std::string& word = command.arguments[0];
  if (command.name == "VOXEL_SIZE") {
    const double scale =
        command.arguments.size() == 4 ? positive(command.arguments[3], "the scale") : 1;
    std::array<double, 3> size{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      size[axis] = scale * positive(command.arguments[axis], "an edge");
    }
    voxel_size_ = size;
    mesh_.reset();
  } else if (command.name == "ALGORITHM_FEA") {
    if (word != "JAPCG") {
      refuse("no algorithm " + word + ": JAPCG is the one");
    }
  } else if (command.name == "MAX_ITER") {
    solver_.most_iterations = whole(word);
  } else if (command.name == "TOLERANCE") {
    solver_.tolerance = positive(word, "the tolerance");
  } else if (command.name == "CHECKPOINT") {
    solver_.checkpoint = word;
    solver_.checkpoint_every = command.arguments.size() == 2 ? whole(command.arguments[1]) : 0;
  } else if (command.name == "BALANCE") {
    if (word != "on" && word != "off") {
      refuse("on or off, not " + word);
    }
    balance_ = word == "on";
  }
  solution_.reset();
}

void Simulation::load(const Command& command) {
  if (!materials_) {
    refuse("LOAD_MATERIALS_FILE must come before");
  }
  const Grid grid = grid_of(command);
  const std::string& path = command.arguments[3];
  model_file_ = path;
  voxels_.reset();
  mesh_.reset();
  solution_.reset();
  time("input", [&] {
    voxels_ = command.name == "LOAD_MCTSCAN"
                  ? load_text(comm_, path, grid, *materials_)
                  : load_parallel(comm_, path, grid, *materials_, balance_);
  });
  int with_planes = 0;
  std::int64_t most = 0;
  for (int rank = 0; rank < voxels_->planes.ranks(); ++rank) {
    with_planes += voxels_->planes.empty(rank) ? 0 : 1;
  }
  for (const std::uint8_t cell : voxels_->materials) {
    most += cell != 0 ? 1 : 0;
  }
  const double worst = largest(comm_, static_cast<double>(most));
  say("model: " + std::to_string(voxels_->total) + " voxels of a grid " + grid_text(grid) + "; " +
      std::to_string(with_planes) + " of " + std::to_string(size_of(comm_)) +
      " ranks have planes, one at most " + number(worst, "%.0f") + " voxels with its halo");
}

void Simulation::need_mesh() {
  if (!voxels_) {
    refuse("LOAD_MCTSCAN or LOAD_MCTSCANPAR must come before");
  }
  if (!voxel_size_) {
    refuse("VOXEL_SIZE must come before");
  }
  if (!mesh_) {
    time("mesh", [&] { mesh_ = make_mesh(comm_, *voxels_, *materials_, *voxel_size_); });
    say("mesh: " + std::to_string(mesh_->total) + " nodes");
  }
}

bool Simulation::need_solution() {
  need_mesh();
  if (solution_) {
    return true;
  }
  time("solver", [&] {
    const Load load = load_of(comm_, constraints_, *mesh_);
    solution_ = solve(comm_, *mesh_, load, solver_);
  });
  if (solution_->resumed > 0) {
    say("solver: went on from iteration " + std::to_string(solution_->resumed));
  }
  const std::string reached = "after " + std::to_string(solution_->iterations) +
                              " iterations the residual is " + number(solution_->residuals.back()) +
                              " of the first";
  if (stopped()) {
    say("solver: stopped: " + reached + "; the next run goes on from " + solver_.checkpoint);
    return false;
  }
  converged_ = solution_->converged;
  say(converged_ ? "solver: converged: " + reached
                 : "solver: NOT CONVERGED: " + reached + ", TOLERANCE asks for " +
                       number(solver_.tolerance));
  agree(comm_, [&] { write_residuals(); });
  return true;
}

void Simulation::write_residuals() const {
  if (rank_of(comm_) != 0 || residuals_path_.empty()) {
    return;
  }
  std::FILE* const file = std::fopen(residuals_path_.c_str(), "w");
  if (file == nullptr) {
    throw Error(Code::io, residuals_path_ + ": cannot be written");
  }
  for (const double value : solution_->residuals) {
    std::fprintf(file, "%.17g\n", value);
  }
  std::fclose(file);
}

void Simulation::compute_energy() {
  const Mesh& mesh = *mesh_;
  std::array<std::optional<ElementMatrix>, 256> matrices;
  const double volume = (*voxel_size_)[0] * (*voxel_size_)[1] * (*voxel_size_)[2];
  double most = 0;
  const auto energy_of = [&](std::uint64_t x, std::uint64_t y, std::uint64_t z, std::uint8_t id) {
    auto& matrix = matrices[id];
    if (!matrix) {
      matrix = element_matrix(*(*materials_)[id], *voxel_size_);
    }
    std::array<double, 24> u{};
    for (std::size_t node = 0; node < 8; ++node) {
      const auto local = static_cast<std::size_t>(
          mesh.local(x + (node & 1), y + (node >> 1 & 1), z + (node >> 2)));
      for (std::size_t i = 0; i < 3; ++i) {
        u[3 * node + i] = solution_->displacements[3 * local + i];
      }
    }
    double twice = 0;
    for (std::size_t i = 0; i < 24; ++i) {
      for (std::size_t j = 0; j < 24; ++j) {
        twice += u[i] * (*matrix)[24 * i + j] * u[j];
      }
    }
    return twice / 2;
  };
  const double total = sum_by_planes(comm_, mesh, [&](std::uint64_t z) {
    double sum = 0;
    if (z == voxels_->grid[2]) {
      return sum;  // the top plane of nodes has no voxels above
    }
    const std::uint8_t* cell = voxels_->plane(z);
    for (std::uint64_t y = 0; y < voxels_->grid[1]; ++y) {
      for (std::uint64_t x = 0; x < voxels_->grid[0]; ++x, ++cell) {
        if (*cell != 0) {
          const double energy = energy_of(x, y, z, *cell);
          most = std::max(most, energy / volume);
          sum += energy;
        }
      }
    }
    return sum;
  });
  const double highest = largest(comm_, most);
  say("energy: " + number(total, "%.12e") + " in all; density " +
      number(total / (static_cast<double>(voxels_->total) * volume), "%.6e") + " on average, " +
      number(highest, "%.6e") + " at most");
}

void Simulation::print(const Command& command) {
  if (!need_solution()) {
    return;
  }
  const std::string& path = command.arguments[0];
  const Results results{*mesh_, solution_->displacements, *voxel_size_, materials_file_};
  time("output", [&] {
    if (command.name == "PRINT_X") {
      print_text(comm_, path, results);
    } else if (path.ends_with(".vtkhdf")) {
      print_vtkhdf(comm_, path, results, *voxels_, printed_[path]++, codec_);
    } else {
      print_parallel(comm_, path, results, codec_);
    }
  });
  say("output: " + std::to_string(mesh_->total) + " nodes in " + path);
}

void Simulation::say(const std::string& line) const {
  if (rank_of(comm_) == 0) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }
}

void Simulation::time(const std::string& phase, const std::function<void()>& body) {
  MPI_Barrier(comm_);
  const double began_s = MPI_Wtime();
  body();
  const double seconds = largest(comm_, MPI_Wtime() - began_s);
  const auto found =
      std::find_if(phases_.begin(), phases_.end(), [&](const Phase& p) { return p.name == phase; });
  if (found == phases_.end()) {
    phases_.push_back({phase, seconds});
  } else {
    found->seconds += seconds;
  }
}

}  // namespace parabmu
