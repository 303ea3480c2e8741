// What stands behind sluice::File: the rooms that a file needs, bound to one transport and storage.
#pragma once

#include <memory>
#include <mpi.h>

#include "api/ground.hpp"
#include "commit/input.hpp"
#include "commit/output.hpp"
#include "exec/transport.hpp"
#include "sluice/sluice.hpp"
#include "storage/storage.hpp"

namespace sluice::detail {

class FileImpl {
 public:
  /// Collective over `comm`, which is duplicated. What the environment and sluice.toml say counts
  /// more than `options`, here and below.
  FileImpl(MPI_Comm comm, const std::string& path, Mode mode, const Options& options);
  /// The same over a transport that the file keeps.
  FileImpl(std::unique_ptr<exec::Transport> transport, const std::string& path, Mode mode,
           const Options& options);
  /// The same over a transport of the caller's, which must outlive the file (tests).
  FileImpl(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
           const std::string& path, Mode mode, const Options& options);

  commit::Output& output();
  commit::Input& input();
  exec::Transport& transport() noexcept { return transport_; }
  void close();
  /// Closes without committing what is not committed yet. Local.
  void drop() noexcept;
  /// See File::refresh. Collective.
  void refresh();
  /// See File::latest_good. Collective.
  std::optional<std::uint64_t> latest_good();
  /// The output of a file that is open for writing, else nullptr.
  commit::Output* writing() noexcept { return output_.get(); }
  bool is_open() const noexcept { return output_ || input_; }
  bool reads() const noexcept { return input_ != nullptr; }
  const std::string& path() const noexcept { return path_; }
  /// As they count: those of the environment and sluice.toml included.
  const Options& options() const noexcept { return options_; }
  /// Does this rank say what there is to say of the file?
  bool speaks() const { return options_.log != Log::off && transport_.rank() == 0; }

 private:
  FileImpl(Ground ground, const std::string& path, Mode mode);
  void open(Mode mode, const settings::Settings& settings);

  std::unique_ptr<exec::Transport> owned_;
  exec::Transport& transport_;
  std::shared_ptr<storage::Storage> storage_;
  std::string path_;
  Options options_;
  std::unique_ptr<commit::Output> output_;
  std::unique_ptr<commit::Input> input_;
};

/// A File over a transport and storage of the caller's choice: local ranks, memory, faults.
std::unique_ptr<FileImpl> open_on(exec::Transport& transport,
                                  std::shared_ptr<storage::Storage> storage,
                                  const std::string& path, Mode mode, const Options& options = {});

}  // namespace sluice::detail
