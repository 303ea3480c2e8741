// env: prints the settings by which HDF5 programs of a shell load the driver.
#include <fmt/format.h>
#include <memory>

#include "hdf5_driver.hpp"
#include "help.hpp"
#include "mpiio_interface.hpp"
#include "text/text.hpp"
#include "verb.hpp"

namespace sluice::cli {

namespace {

/// Quoted as one word for a shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return out + "'";
}

}  // namespace

void add_env(CLI::App& app, Run& run) {
  CLI::App* verb =
      add_verb(app, "env", "print the settings of 'run' for a whole shell",
               "Prints the lines by which a shell makes programs of HDF5 1.14 and later write\n"
               "through Sluice's driver: each flush becomes a durable, atomic commit. `sluice\n"
               "run` does the same for one program. With --mpiio instead: MPI-IO of every\n"
               "program goes through Sluice.\n",
               R"help(
Examples:
  eval "$(sluice env)"
  python script.py
  eval "$(sluice env --mpiio)"
  mpirun -n 64 ./simulation)help");
  const auto is_mpiio = std::make_shared<bool>(false);
  verb->add_flag("--mpiio", *is_mpiio, "for programs of MPI-IO, not of HDF5's driver");
  verb->callback([&run, is_mpiio] {
    run = [is_mpiio](const Context& context) -> int {
      if (context.is_root()) {
        for (const auto& [name, value] : *is_mpiio ? mpiio_environment() : driver_environment()) {
          tell("export {}={}\n", name, quoted(value));
        }
      }
      return fine;
    };
  });
}

}  // namespace sluice::cli
