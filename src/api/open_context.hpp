// What an open file of any kind stands on: its options as they count, its transport, its storage.
#pragma once

#include <memory>
#include <string>

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

/// Collective over `comm`, which is duplicated. What the environment and sluice.toml say counts
/// more than `options`.
OpenContext context_on(const Comm& comm, const std::string& path, const Options& options);
/// The same over a transport of other ranks than MPI's.
OpenContext context_on(std::unique_ptr<exec::Transport> transport, const std::string& path,
                       const Options& options);

/// On rank 0: says Settings::notice, each once in a process.
void say_notice(const exec::Transport& transport, const settings::Settings& settings);

/// Collective. Error divergent where the ranks open different things, for which they would wait in
/// vain later.
void require_same(exec::Transport& transport, const std::string& path, Mode mode,
                  const settings::Settings& settings);

}  // namespace sluice::detail
