// What a file's options come to: environment over sluice.toml over code.
//
// Invariants: the environment and the file are read on rank 0 only and reach the other ranks from
// there; a key that is not known is an error that names the nearest known one, never ignored.
#pragma once

#include <string>
#include <vector>

#include "exec/transport/transport.hpp"
#include "plan/plan.hpp"
#include "sluice/options.hpp"

namespace sluice {

/// Options from TOML text ("strategy = \"collective\"\nwriters = 4") over `base`; keys as in
/// sluice.toml, without tables for outputs. Error invalid_argument for unknown keys and values that
/// do not fit, Error format where it is no TOML (with the line).
Options parse_options(const std::string& text, const Options& base = {});

}  // namespace sluice

namespace sluice::settings {

/// An option whose value did not come from the code.
struct Override {
  std::string name;
  std::string value;
  std::string from;        ///< "SLUICE_WRITERS", "sluice.toml [spins]", ...
  bool was_found = false;  ///< in the sluice.toml of the current folder, which nobody has named
};

struct Settings {
  Options options;
  bool explain = false;
  std::vector<Override> overrides;  ///< the last one of a name counts
  /// A line for the user where the sluice.toml of the current folder, which nobody has named,
  /// changes what becomes of the steps or where files are put; else empty.
  std::string notice;
};

/// Collective. The options for the file at `path`, given those of the code. sluice.toml is looked
/// for where SLUICE_CONFIG says (empty: nowhere), else in the current folder; a table there with
/// the name of the file, with or without its ending, counts for that file only. One of the current
/// folder is refused (Error permission) where it belongs to neither this user nor root.
Settings resolve(exec::Transport& transport, const std::string& path, const Options& code);

/// For SLUICE_EXPLAIN: every option, its value and where it came from.
std::string explain_options(const std::string& path, const Settings& settings);

// -- the parts of resolve(), without ranks --------------------------------------------------------
/// What `text`, read from `file`, says for the output at `path`.
std::vector<Override> overrides_of_toml(const std::string& text, const std::string& file,
                                        const std::string& path);
/// What the environment says; `environment` is a list of "NAME=value" that ends with nullptr.
std::vector<Override> overrides_of_environment(const char* const* environment);
/// Error invalid_argument names where a value came from that does not fit.
void override_with(const std::vector<Override>& overrides, Options& options);

}  // namespace sluice::settings
