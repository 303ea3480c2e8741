#include "parameters.hpp"

#include <CLI/CLI.hpp>
#include <cmath>
#include <map>
#include <stdexcept>

namespace sluice::contended {

namespace {

using Units = std::map<std::string, double>;

const Units byte_units{{"B", 1},           {"kB", 1e3},         {"MB", 1e6},
                       {"GB", 1e9},        {"KiB", 1ULL << 10}, {"MiB", 1ULL << 20},
                       {"GiB", 1ULL << 30}};
const Units second_units{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}};

double quantity(const std::string& text, const Units& units) {
  std::size_t end = 0;
  double number = 0;
  try {
    number = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  const std::size_t unit_at = text.find_first_not_of(' ', end);
  const auto found = units.find(unit_at == std::string::npos ? "" : text.substr(unit_at));
  if (end == 0 || found == units.end() || !std::isfinite(number) || number < 0) {
    std::string names;
    for (const auto& [name, factor] : units) {
      names += " " + name;
    }
    throw std::invalid_argument("\"" + text + "\": a number and one of the units" + names);
  }
  return number * found->second;
}

/// An option of CLI11 that is a quantity of `read`'s kind, above zero where it `must_be_more`.
template <class Read>
void add_quantity(CLI::App& app, const std::string& name, double& value, const std::string& help,
                  Read read, bool must_be_more) {
  app.add_option_function<std::string>(
         name,
         [&value, read, must_be_more, name](const std::string& text) {
           try {
             value = read(text);
           } catch (const std::invalid_argument& error) {
             throw CLI::ValidationError(name, error.what());
           }
           if (must_be_more && value <= 0) {
             throw CLI::ValidationError(name, "must be above zero");
           }
         },
         help)
      ->type_name("QUANTITY");
}

const char* const about =
    "Mounts the folder BACKING at MOUNT as a file system that behaves like a striped parallel one: "
    "see bench/contended/README.md. Stays in the foreground; ends at SIGTERM or when unmounted.";

}  // namespace

double bytes_of(const std::string& text) { return quantity(text, byte_units); }

double bandwidth_of(const std::string& text) {
  Units rates;
  for (const auto& [name, factor] : byte_units) {
    rates[name + "/s"] = factor;
  }
  return quantity(text, rates);
}

double seconds_of(const std::string& text) { return quantity(text, second_units); }

Parameters parse(int argc, char** argv) {
  Parameters wanted;
  double stripe_bytes = static_cast<double>(wanted.stripe_bytes);
  double dirty_bytes = static_cast<double>(wanted.dirty_bytes);
  CLI::App app(about, "contended");
  app.set_config("--config", "", "the same as a file of TOML: bandwidth = \"100MB/s\"");
  app.add_option("--targets", wanted.targets, "storage targets (4)")->check(CLI::Range(1, 4096));
  add_quantity(app, "--stripe", stripe_bytes, "of every file (1MiB)", bytes_of, true);
  add_quantity(app, "--bandwidth", wanted.bandwidth_bytes_per_s, "of a target (100MB/s)",
               bandwidth_of, true);
  add_quantity(app, "--latency", wanted.latency_s, "of a request (0.5ms)", seconds_of, false);
  add_quantity(app, "--lock", wanted.lock_s, "of a lock's hand-over (1.5ms)", seconds_of, false);
  add_quantity(app, "--dirty", dirty_bytes, "of a process, on their way to one target (1MiB)",
               bytes_of, true);
  add_quantity(app, "--metadata", wanted.metadata_s, "of a create, an open ... (0.25ms)",
               seconds_of, false);
  app.add_flag("--silent", wanted.is_silent, "say nobody how files are striped");
  app.add_option("--threads", wanted.threads, "requests served at one time (64)")
      ->check(CLI::Range(1, 1024));
  app.add_option("BACKING", wanted.backing, "folder that holds the data")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("MOUNT", wanted.mount, "empty folder")->required()->check(CLI::ExistingDirectory);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  wanted.stripe_bytes = static_cast<std::uint64_t>(stripe_bytes);
  wanted.dirty_bytes = static_cast<std::uint64_t>(dirty_bytes);
  if (wanted.stripe_bytes % 4096 != 0) {
    std::exit(app.exit(CLI::ValidationError("--stripe", "must be a multiple of 4096 bytes")));
  }
  return wanted;
}

}  // namespace sluice::contended
