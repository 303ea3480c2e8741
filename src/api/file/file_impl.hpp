// The implementation of sluice::File: an output or an input, bound to one transport and storage.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <optional>

#include "api/file/file_number.hpp"
#include "api/open_context.hpp"
#include "commit/output/output.hpp"
#include "commit/read/input.hpp"
#include "exec/transport/at_finalize.hpp"
#include "exec/transport/transport.hpp"
#include "sluice/sluice.hpp"
#include "storage/own_process.hpp"
#include "storage/storage.hpp"

namespace sluice::detail {

/// The number of a step that a caller asks for: last_step is the newest. Others stay, also those
/// that there are not.
inline std::uint64_t step_of(const commit::Input& input, std::uint64_t step) {
  return step == last_step ? input.steps() - 1 : step;
}

class FileImpl {
 public:
  /// Collective over `comm`, which is duplicated. The environment and sluice.toml override
  /// `options`, here and below.
  FileImpl(const Comm& comm, const std::string& path, Mode mode, const Options& options);
  /// The same over a transport that the file owns.
  FileImpl(std::unique_ptr<exec::Transport> transport, const std::string& path, Mode mode,
           const Options& options);
  /// The same over a transport of the caller's, which must outlive the file (tests).
  FileImpl(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
           const std::string& path, Mode mode, const Options& options);
  /// The same with settings that are resolved already: nothing overrides them. `needed`: to read.
  FileImpl(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
           const std::string& path, Mode mode, const settings::Settings& settings,
           commit::NeededParts needed);

  commit::Output& output();
  commit::Input& input();
  exec::Transport& transport() noexcept { return transport_; }
  void close();
  /// Takes part in the commit of the other ranks, with the failure `why`: it fails on every rank.
  /// Returns when that has happened. Collective with end_step(), flush() or close().
  void abandon(const std::string& why);
  /// For a rank that an exception makes give up a file that is open for writing. The next commit of
  /// the others, also where they wait in it already, fails with what a call of this rank was
  /// refused for since its last commit, else with `why`. Only drop() may follow. Local.
  void leave(const std::string& why = {}) noexcept;
  /// Closes without committing what is not committed yet. Local.
  void drop() noexcept;
  /// See File::refresh. Collective.
  void refresh();
  /// See File::latest_good. Collective.
  std::optional<std::uint64_t> latest_good();
  /// A variable was defined with this unit and description: for the first time in this file
  /// (`is_new`), or again. Error exists if it was defined with others; where none are given, those
  /// of before are meant.
  void describe(std::uint32_t variable, bool is_new, const VariableOptions& options);
  /// The output of a file that is open for writing, else nullptr.
  commit::Output* writing() noexcept { return output_.get(); }
  bool is_open() const noexcept { return output_ || input_; }
  /// False in a forked process: its copy of the file is not touched, and its calls are Error
  /// wrong_state.
  bool is_here() const noexcept { return process_.is_here(); }
  void require_here() const { process_.require(path_); }
  bool reads() const noexcept { return input_ != nullptr; }
  /// The variable of this file with that index.
  Variable variable(std::uint32_t index) const noexcept { return {index, number_.value()}; }
  /// Also for a variable that belongs to no file in particular.
  bool owns(Variable variable) const noexcept {
    return variable.file() == 0 || variable.file() == number_.value();
  }
  /// Error invalid_argument for a variable of another file, given to `call`; without this file's
  /// path.
  Error foreign(Variable variable, const char* call) const;
  /// Expires with this object.
  std::weak_ptr<void> life() const noexcept { return life_; }
  /// Has an exception started to unwind since the file was opened?
  bool unwinds() const noexcept { return std::uncaught_exceptions() > exceptions_; }
  const std::string& path() const noexcept { return path_; }
  /// The effective options: those of the environment and sluice.toml included.
  const Options& options() const noexcept { return options_; }
  /// Does this rank print the messages of the file?
  bool speaks() const { return options_.log != Log::off && transport_.rank() == 0; }

 private:
  FileImpl(OpenContext context, const std::string& path, Mode mode);
  void open(Mode mode, const settings::Settings& settings,
            commit::NeededParts needed = commit::NeededParts::all);
  void close_at_finalize() noexcept;

  const storage::OwnProcess process_;
  std::unique_ptr<exec::Transport> owned_;
  exec::Transport& transport_;
  std::shared_ptr<storage::Storage> storage_;
  std::string path_;
  const FileNumber number_{path_};
  Options options_;
  std::unique_ptr<commit::Output> output_;
  std::unique_ptr<commit::Input> input_;
  struct Described {
    std::string unit;
    std::string description;
  };
  std::map<std::uint32_t, Described> described_;  ///< what define() got, of variables that are new
  std::shared_ptr<void> life_ = std::make_shared<char>();
  int exceptions_ = std::uncaught_exceptions();
  std::optional<exec::AtFinalize> at_finalize_;  ///< if it uses MPI
};

/// A File over a transport and storage of the caller's choice: local ranks, memory, faults.
std::unique_ptr<FileImpl> open_on(exec::Transport& transport,
                                  std::shared_ptr<storage::Storage> storage,
                                  const std::string& path, Mode mode, const Options& options = {});
/// The same with settings that are resolved already.
std::unique_ptr<FileImpl> open_resolved_on(exec::Transport& transport,
                                           std::shared_ptr<storage::Storage> storage,
                                           const std::string& path, Mode mode,
                                           const settings::Settings& settings,
                                           commit::NeededParts needed = commit::NeededParts::all);

}  // namespace sluice::detail
