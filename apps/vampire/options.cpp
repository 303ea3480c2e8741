#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "comm.hpp"
#include "input_file.hpp"

namespace vampire {
namespace {

const char* const about =
    R"help(vampire: atomistic spin dynamics on any number of MPI ranks, written through Sluice.

Each atom carries a classical spin. Spins feel their neighbours (exchange), the crystal
(anisotropy), an applied field and heat, and move by the Landau-Lifshitz-Gilbert equation.
The same seed gives the same spins, bit for bit, on any number of ranks.)help";

const char* const examples = R"help(
Examples:
  A cube of 20 x 20 x 20 atoms, all up, heated to 300 K for 1000 steps of 1 fs:
    mpirun -n 4 vampire --temperature 300 --output spins.h5

  A film of iron quenched from disorder; watch domains form:
    mpirun -n 4 vampire --lattice bcc --size 64 64 2 --periodic xy --start random \
        --spacing 2.87 --moment 2.2 --anisotropy 0.5 --damping 0.5 --steps 4000 --every 200

  Go on from the last snapshot of a VAMPIRE run (binary or text, any number of files):
    mpirun -n 4 vampire --start-from FOLDER --temperature 300 --steps 500 --every 50

  Look at the result (any HDF5 tool will do):
    sluice ls spins.h5
    python -c "import h5py; print(h5py.File('spins.h5')['spins'][-1].mean(axis=0))"

Signs: exchange > 0 is ferromagnetic; anisotropy > 0 makes --axis easy, < 0 the plane across
it. Environment variables of Sluice (SLUICE_STRATEGY, ...) go before the options here.)help";

/// Options as `--name TYPE   what it is [default]`, the default as one would type it.
class Formatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_size() == 0 ? "" : " " + option->get_type_name();
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    std::string preset = option->get_default_str();
    if (preset.empty()) {
      return option->get_description();
    }
    if (preset.front() == '[') {
      preset = preset.substr(1, preset.size() - 2);
      std::replace(preset.begin(), preset.end(), ',', ' ');
    }
    return option->get_description() + " [" + preset + "]";
  }
};

/// Adds options of one group of the help.
class Group {
 public:
  Group(CLI::App& app, const char* name) : app_(app), name_(name) {}

  /// With the target's present value as its default.
  template <class T>
  CLI::Option* add(const char* name, const char* type, T& target, const char* text) {
    return bare(name, type, target, text)->capture_default_str();
  }
  /// Without a default to show.
  template <class T>
  CLI::Option* bare(const char* name, const char* type, T& target, const char* text) {
    return app_.add_option(name, target, text)->type_name(type)->group(name_);
  }

 private:
  CLI::App& app_;
  const char* name_;
};

void add_sample(CLI::App& app, Options& o) {
  Group group(app, "The sample");
  group.add("--lattice", "KIND", o.lattice, "sc, bcc or fcc")
      ->check(CLI::IsMember({"sc", "bcc", "fcc"}).description(""));
  group.add("--size", "NX NY NZ", o.size, "cubic cells along x, y, z")->expected(3);
  group.add("--spacing", "LENGTH", o.spacing_angstrom, "edge of the cubic cell, Angstrom");
  group.add("--moment", "MU", o.moment_mub, "magnetic moment of an atom, Bohr magnetons");
  group.bare("--periodic", "AXES", o.periodic,
             "periodic axes, e.g. xy, or none [xyz; none for a "
             "snapshot]");
  group.add("--start", "HOW", o.start, "first spins: up (along +z) or random")
      ->check(CLI::IsMember({"up", "random"}).description(""));
  group.bare("--start-from", "FOLDER", o.start_from, "VAMPIRE snapshots instead of a lattice")
      ->excludes("--lattice")
      ->excludes("--size")
      ->excludes("--start");
  group.bare("--snapshot", "K", o.snapshot, "which snapshot, from 0 [the last]")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{99999999}).description(""))
      ->needs("--start-from");
  group.bare("--cutoff", "LENGTH", o.cutoff_angstrom,
             "atoms so close interact, Angstrom [1.05 nearest distances]");
  group
      .bare("--box", "LX LY LZ", o.box_angstrom,
            "a snapshot's periodic box, Angstrom [from its layers]")
      ->expected(3)
      ->needs("--start-from");
}

void add_physics(CLI::App& app, Physics& p, std::vector<double>& axis, std::vector<double>& field) {
  Group group(app, "The physics");
  group.add("--exchange", "J", p.exchange_mev, "exchange of a bond, meV");
  group.add("--anisotropy", "K", p.anisotropy_mev, "uniaxial anisotropy of an atom, meV");
  group.add("--axis", "X Y Z", axis, "axis of the anisotropy, of any length")->expected(3);
  group.add("--field", "BX BY BZ", field, "applied field, tesla")->expected(3);
  group.add("--temperature", "T", p.temperature_k, "kelvin");
  group.add("--damping", "LAMBDA", p.damping, "Gilbert damping");
  group.add("--dt", "TIME", p.dt_fs, "time step, femtoseconds");
  group.add("--seed", "N", p.seed, "seed of the random numbers");
}

void add_run(CLI::App& app, Options& o, std::string& input) {
  Group group(app, "The run");
  group.bare("--input", "FILE", input, "VAMPIRE's input file; options here go before it");
  group.add("--steps", "N", o.steps, "time steps");
  group.add("--every", "N", o.every, "steps between two outputs")
      ->check(CLI::Range(1U, 4294967295U).description(""));
  group.add("--output", "FILE", o.output,
            "file of coordinates and spins: .h5, .nc, or .vtkhdf for ParaView; with --mode a "
            "folder");
  group
      .bare("--mode", "NAME", o.mode,
            "VAMPIRE's own files: file-per-process, mpi-io, file-per-node (--writers) or legacy")
      ->check(
          CLI::IsMember({"file-per-process", "mpi-io", "file-per-node", "legacy"}).description(""));
  app.add_flag("--text", o.text, "VAMPIRE's files as text")->group("The run");
  group.add("--every-atom", "K", o.atoms_every, "with --mode: one atom of K, by its number")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62).description(""));
  group.add("--strategy", "NAME", o.strategy,
            "who writes: serial, shared, collective, file-per-process, file-per-node or auto");
  group
      .bare("--writers", "N", o.writers,
            "ranks that write (collective) or files (file-per-node) [the nodes]")
      ->check(CLI::Range(1, 1 << 30).description(""));
  group.bare("--checkpoint", "FILE", o.checkpoint,
             "checkpoints: the run goes on from the newest good one, on any number of ranks");
  group.add("--checkpoint-every", "N", o.checkpoint_every,
            "steps between checkpoints; 0: by what one costs");
  app.add_flag("--digest", o.digest, "end with a digest of the last spins, to compare runs")
      ->group("The run");
}

void require(bool good, const char* what) {
  if (!good) {
    throw Error(Code::invalid_argument, what);
  }
}

void check(Options& o, const std::vector<double>& axis, const std::vector<double>& field) {
  const auto positive = [](double value) { return std::isfinite(value) && value > 0; };
  const auto finite = [](double value) { return std::isfinite(value); };
  Physics& p = o.physics;
  require(positive(o.spacing_angstrom), "--spacing must be positive");
  require(positive(o.moment_mub), "--moment must be positive");
  require(positive(p.dt_fs), "--dt must be positive");
  require(finite(p.exchange_mev) && finite(p.anisotropy_mev),
          "--exchange and --anisotropy must be finite");
  require(finite(p.temperature_k) && p.temperature_k >= 0, "--temperature must not be negative");
  require(finite(p.damping) && p.damping >= 0, "--damping must not be negative");
  require(finite(o.cutoff_angstrom) && o.cutoff_angstrom >= 0, "--cutoff must not be negative");
  require(std::all_of(field.begin(), field.end(), finite), "--field must be finite");
  require(std::all_of(o.box_angstrom.begin(), o.box_angstrom.end(), positive),
          "--box must be three positive lengths");
  p.field_t = {field[0], field[1], field[2]};
  p.axis = normalised({axis[0], axis[1], axis[2]});
  require(finite(p.axis.x) && finite(p.axis.y) && finite(p.axis.z), "--axis must not be zero");
  periodic_axes(o.periodic);
  const std::array<double, 3> zeros{0, 0, 0};
  const std::array<double, 3> ones{1, 1, 1};
  require(!o.mode.empty() || (o.atoms_every == 1 && o.output_low == zeros && o.output_high == ones),
          "a part of the atoms is written in VAMPIRE's own formats only: give --mode");
  require(o.checkpoint.empty() || o.mode.empty(),
          "--checkpoint goes on with a file of Sluice's: leave --mode out");
  for (std::size_t a = 0; a < 3; ++a) {
    require(o.output_low[a] <= o.output_high[a], "the part of the box to be written is empty");
  }
}

/// What `--input` names, before anything else is parsed; "" where it is not there.
std::string input_of(int argc, char** argv) {
  const std::string option = "--input";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == option && i + 1 < argc) {
      return argv[i + 1];
    }
    if (word.starts_with(option + "=")) {
      return word.substr(option.size() + 1);
    }
  }
  return "";
}

}  // namespace

std::array<bool, 3> periodic_axes(const std::string& text) {
  std::array<bool, 3> axes{};
  if (text == "none") {
    return axes;
  }
  for (const char c : text) {
    if (c < 'x' || c > 'z') {
      throw Error(Code::invalid_argument, "--periodic " + text + ": some of x, y, z, or none");
    }
    axes[static_cast<std::size_t>(c - 'x')] = true;
  }
  return axes;
}

Parsed parse(int argc, char** argv, const ReadText& read) {
  Parsed parsed;
  Options& options = parsed.options;
  options.physics.exchange_mev = 30;
  std::string input = input_of(argc, argv);
  if (!input.empty()) {
    options.output = ".";
    parsed.notes = apply_input(input, read, options);
  }
  const Physics& physics = options.physics;
  std::vector<double> axis{physics.axis.x, physics.axis.y, physics.axis.z};
  std::vector<double> field{physics.field_t.x, physics.field_t.y, physics.field_t.z};
  CLI::App app(about, "vampire");
  app.footer(examples);
  app.formatter(std::make_shared<Formatter>());
  app.get_formatter()->column_width(28);
  // A script's own options can be followed by those of its caller.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_sample(app, options);
  add_physics(app, options.physics, axis, field);
  add_run(app, options, input);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    parsed.help = app.help();
    return parsed;
  } catch (const CLI::ParseError& error) {
    throw Error(Code::invalid_argument, std::string(error.what()) + " (see vampire --help)");
  }
  if (!input.empty() && (options.output.ends_with(".h5") || options.output.ends_with(".nc") ||
                         options.output.ends_with(".vtkhdf"))) {
    options.mode.clear();  // the same run through Sluice
  }
  check(options, axis, field);
  return parsed;
}

}  // namespace vampire
