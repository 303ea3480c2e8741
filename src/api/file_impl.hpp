// What stands behind sluice::File: the rooms that a file needs, bound to one transport and storage.
#pragma once

#include <memory>

#include "commit/input.hpp"
#include "commit/output.hpp"
#include "exec/transport.hpp"
#include "sluice/sluice.hpp"
#include "storage/storage.hpp"

namespace sluice::detail {

class FileImpl {
 public:
  /// Collective over `transport`.
  FileImpl(std::unique_ptr<exec::Transport> transport, std::shared_ptr<storage::Storage> storage,
           const std::string& path, Mode mode, const Options& options);
  /// The same over a transport of the caller's, which must outlive the file (tests).
  FileImpl(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
           const std::string& path, Mode mode, const Options& options);

  commit::Output& output();
  commit::Input& input();
  exec::Transport& transport() noexcept { return transport_; }
  void close();
  bool is_open() const noexcept { return output_ || input_; }
  bool reads() const noexcept { return input_ != nullptr; }
  const std::string& path() const noexcept { return path_; }

 private:
  void open(Mode mode, const Options& options);

  std::unique_ptr<exec::Transport> owned_;
  exec::Transport& transport_;
  std::shared_ptr<storage::Storage> storage_;
  std::string path_;
  std::unique_ptr<commit::Output> output_;
  std::unique_ptr<commit::Input> input_;
};

/// A File over a transport and storage of the caller's choice: local ranks, memory, faults.
std::unique_ptr<FileImpl> open_on(exec::Transport& transport,
                                  std::shared_ptr<storage::Storage> storage,
                                  const std::string& path, Mode mode, const Options& options = {});

}  // namespace sluice::detail
