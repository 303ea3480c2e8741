// What stands behind sluice::SessionFile.
#pragma once

#include <memory>
#include <string>

#include "api/ground.hpp"
#include "commit/sessions.hpp"
#include "sluice/session.hpp"

namespace sluice::detail {

class SessionImpl {
 public:
  /// Collective.
  SessionImpl(Ground ground, const std::string& path, Mode mode);
  /// The same over a transport of the caller's, which must outlive the file (tests).
  SessionImpl(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
              const std::string& path, Mode mode, const Options& options);

  commit::Sessions& sessions() noexcept { return *sessions_; }

 private:
  void open(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
            const std::string& path, Mode mode, const settings::Settings& settings);

  std::unique_ptr<exec::Transport> owned_;
  std::unique_ptr<commit::Sessions> sessions_;
};

}  // namespace sluice::detail
