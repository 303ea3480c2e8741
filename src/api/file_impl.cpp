#include "api/file_impl.hpp"

namespace sluice::detail {

FileImpl::FileImpl(std::unique_ptr<exec::Transport> transport,
                   std::shared_ptr<storage::Storage> storage, const std::string& path, Mode mode,
                   const Options& options)
    : owned_(std::move(transport)), transport_(*owned_), storage_(std::move(storage)), path_(path) {
  open(mode, options);
}

FileImpl::FileImpl(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
                   const std::string& path, Mode mode, const Options& options)
    : transport_(transport), storage_(std::move(storage)), path_(path) {
  open(mode, options);
}

void FileImpl::open(Mode mode, const Options& options) {
  if (mode == Mode::read) {
    input_ = std::make_unique<commit::Input>(transport_, *storage_, path_, options);
    return;
  }
  const commit::Opening opening = mode == Mode::append   ? commit::Opening::append
                                  : mode == Mode::create ? commit::Opening::create
                                                         : commit::Opening::write;
  output_ = std::make_unique<commit::Output>(transport_, *storage_, path_, opening, options);
}

commit::Output& FileImpl::output() {
  if (!output_) {
    throw Error(Code::wrong_state, path_ + (input_ ? ": was opened for reading" : ": is closed"));
  }
  return *output_;
}

commit::Input& FileImpl::input() {
  if (!input_) {
    throw Error(Code::wrong_state, path_ + (output_ ? ": was opened for writing" : ": is closed"));
  }
  return *input_;
}

void FileImpl::close() {
  if (!is_open()) {
    throw Error(Code::wrong_state, path_ + ": is closed already");
  }
  input_.reset();
  if (output_) {
    // Closed afterwards whatever happens: a failed close is reported once, not tried again.
    const std::unique_ptr<commit::Output> output = std::move(output_);
    output->close();
  }
}

std::unique_ptr<FileImpl> open_on(exec::Transport& transport,
                                  std::shared_ptr<storage::Storage> storage,
                                  const std::string& path, Mode mode, const Options& options) {
  return std::make_unique<FileImpl>(transport, std::move(storage), path, mode, options);
}

}  // namespace sluice::detail
