// Node-local storage in front of a file of checkpoints: a checkpoint's parts are written there, and
// drained to the folder of the file in the background while the run goes on.
//
// Invariants: the index, in the folder of the file, names each part where it is, so a checkpoint is
// there from its commit on; at most one checkpoint is not drained, because the next one is not
// written before; where no rank finds its parts, the one before it, which is drained, is the
// newest.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "commit/parts/parts_drain.hpp"
#include "commit/parts/parts_output.hpp"
#include "exec/transport/transport.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::detail {

/// `text` with the values of the environment variables in it: $NAME, ${NAME}. Error
/// invalid_argument where one is not set.
std::string with_environment(const std::string& text);

class Scratch {
 public:
  static constexpr double forever_s = 1e8;
  /// Local. `folder`: node-local, as the user named it. Errors invalid_argument: as
  /// with_environment(); other strategies than auto, file-per-node and file-per-process; keep 0.
  Scratch(exec::Transport& transport, std::shared_ptr<storage::Storage> storage, std::string path,
          const std::string& folder, const Options& file, std::uint64_t keep);

  /// Relative names are those of the folder `current`, whatever chdir() the program calls later.
  void complete_paths(const std::string& current);
  const std::string& folder() const noexcept { return folder_; }
  /// How the file is opened to save.
  Options options(Options file) const;

  /// Collective, when the file was opened to append: is there anything left to be drained?
  void adopt(commit::PartsOutput& output);
  /// Collective, after a commit: begins to drain. A failure is left to finish().
  void begin(commit::PartsOutput& output);
  /// The same on every rank: is there something that finish() has to wait for?
  bool is_behind() const noexcept { return is_behind_; }
  /// The same on every rank: has finish() failed since begin()? It may be called again, which
  /// copies everything again.
  bool has_failed() const noexcept { return has_failed_; }
  /// Local: has this rank copied what it has to?
  bool is_done() const noexcept { return !drain_ || drain_->is_done(); }
  /// Collective: waits at most so long, on the slowest rank; then the index names the new places.
  /// False: it is not done. What a copy met is an Error on every rank; the next call tries again.
  bool finish(commit::PartsOutput& output, double seconds);
  /// Local: the file is closed or lost.
  void stop() noexcept;

 private:
  void start(commit::PartsOutput& output);

  exec::Transport& transport_;
  std::shared_ptr<storage::Storage> storage_;
  std::string path_;
  std::string folder_;
  std::uint64_t keep_;
  std::unique_ptr<commit::PartsDrain> drain_;
  bool is_behind_ = false;
  bool has_failed_ = false;
};

/// Collective, while nobody has the file open: what a run before has left on node-local storage is
/// drained, and what it has left in `scratch` (unless that is empty) beside goes. Where the newest
/// checkpoint is on no node that takes part, it is taken out of the index; the answer then says
/// why.
std::optional<std::string> bring_home(exec::Transport& transport, storage::Storage& storage,
                                      const std::string& path, const std::string& scratch);

}  // namespace sluice::detail
