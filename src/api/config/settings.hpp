// The effective options of a file: environment over sluice.toml over code.
//
// Invariants: the environment and the file are read on rank 0 only and sent to the other ranks; an
// unknown key is an error that names the nearest known one, and never ignored; what is set for all
// files never changes an option that a file has kept for itself (`own`).
#pragma once

#include <string>
#include <vector>

#include "exec/transport/transport.hpp"
#include "plan/plan.hpp"
#include "sluice/options.hpp"

namespace sluice {

/// Options from TOML text ("strategy = \"collective\"\nwriters = 4") over `base`; keys as in
/// sluice.toml, without tables for outputs. Error invalid_argument for unknown keys and invalid
/// values, Error format, with the line, if it is not TOML.
Options parse_options(const std::string& text, const Options& base = {});

}  // namespace sluice

namespace sluice::settings {

/// An option whose value did not come from the code.
struct Override {
  std::string name;
  std::string value;
  std::string from;         ///< "SLUICE_WRITERS", "sluice.toml [spins]", ...
  bool is_of_file = false;  ///< in a table of that file: not for every file that is opened
  bool was_found = false;   ///< in the sluice.toml of the current folder, which the user did not
                            ///< name
};

struct Settings {
  Options options;
  bool explain = false;
  std::vector<Override> overrides;  ///< the last one of a name counts
  /// A line for the user if the sluice.toml of the current folder, which the user did not name,
  /// changes what happens to steps or where files are put, or if that folder could not be searched
  /// for it; else empty.
  std::string notice;
};

/// Collective. The options for the file at `path`, over those of the code. The settings file is the
/// one that SLUICE_CONFIG names (empty: none), else sluice.toml in the current folder; a table with
/// the name of the file, with or without its ending, applies to that file only. One in the current
/// folder is refused (Error permission) if it belongs to neither this user nor root. Options named
/// in `own` change only by a table of that file.
Settings resolve(exec::Transport& transport, const std::string& path, const Options& code,
                 const std::vector<std::string>& own = {});

/// For SLUICE_EXPLAIN: every option, its value and its origin.
std::string explain_options(const std::string& path, const Settings& settings);

// -- the parts of resolve(), without ranks --------------------------------------------------------
/// The settings in `text`, read from `file`, for the output at `path`.
std::vector<Override> overrides_of_toml(const std::string& text, const std::string& file,
                                        const std::string& path);
/// The settings in the environment; `environment` is a list of "NAME=value" that ends with nullptr.
std::vector<Override> overrides_of_environment(const char* const* environment);
/// Error invalid_argument names the origin of an invalid value.
void override_with(const std::vector<Override>& overrides, Options& options);

}  // namespace sluice::settings
