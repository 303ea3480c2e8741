// The base of an open file of any kind: its effective options, its transport, its storage.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/config/settings.hpp"
#include "exec/transport/transport.hpp"
#include "sluice/sluice.hpp"
#include "storage/storage.hpp"

namespace sluice::detail {

struct OpenContext {
  settings::Settings settings;
  std::unique_ptr<exec::Transport> transport;
  std::shared_ptr<storage::Storage> storage;
  bool uses_mpi = false;  ///< transport or storage
};

/// What is opened, and what for; the same on every rank.
struct OpenRequest {
  std::string path;
  const char* purpose;                ///< "to read", for messages
  std::vector<std::string> own = {};  ///< settings::resolve()
};

const char* purpose_of(Mode mode);

/// Collective over `comm`, which is duplicated. The environment and sluice.toml override `options`.
/// Errors as those of same_settings().
OpenContext context_on(const Comm& comm, const OpenRequest& request, const Options& options);
/// The same over a transport that does not use MPI.
OpenContext context_on(std::unique_ptr<exec::Transport> transport, const OpenRequest& request,
                       const Options& options);

/// On rank 0: prints Settings::notice, each once in a process.
void say_notice(const exec::Transport& transport, const settings::Settings& settings);

/// Collective. Error divergent if the ranks open different things, and would wait for each other
/// later.
void require_same(exec::Transport& transport, const OpenRequest& request,
                  const settings::Settings& settings);
/// Collective: settings::resolve(), and require_same() unless they are known to be alike.
settings::Settings same_settings(exec::Transport& transport, const OpenRequest& request,
                                 const Options& options, bool are_alike = false);

}  // namespace sluice::detail
