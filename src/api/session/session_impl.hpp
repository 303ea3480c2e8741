// The implementation of sluice::SessionFile.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "api/open_context.hpp"
#include "commit/session/sessions.hpp"
#include "exec/transport/at_finalize.hpp"
#include "sluice/session.hpp"
#include "storage/own_process.hpp"

namespace sluice::detail {

/// A session as the ranks know it.
inline commit::SessionPart part_of(const Session& session) {
  return {{session.home, session.number, 0}, {session.offset, session.bytes}};
}

class SessionImpl {
 public:
  /// Collective.
  SessionImpl(OpenContext context, const std::string& path, Mode mode);
  /// The same over a transport of the caller's, which must outlive the file (tests).
  SessionImpl(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
              const std::string& path, Mode mode, const Options& options);

  /// Error wrong_state once MPI_Finalize has ended them, and in a forked process.
  commit::Sessions& sessions();
  bool is_here() const noexcept { return process_.is_here(); }
  /// Has an exception started to unwind since the file was opened?
  bool unwinds() const noexcept { return std::uncaught_exceptions() > exceptions_; }
  /// For a rank that an exception makes give up a file that is open: what the others wait for fails
  /// with `why`. Nothing but the destructor may follow. Local.
  void leave(const std::string& why = {}) noexcept;

 private:
  void open(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
            const std::string& path, Mode mode, const settings::Settings& settings);
  void drop_at_finalize() noexcept;

  const storage::OwnProcess process_;
  std::string path_;
  std::unique_ptr<exec::Transport> owned_;
  std::unique_ptr<commit::Sessions> sessions_;
  int exceptions_ = std::uncaught_exceptions();
  std::optional<exec::AtFinalize> at_finalize_;  ///< if it uses MPI
};

}  // namespace sluice::detail
