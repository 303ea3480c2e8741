#include "api/file_impl.hpp"

#include "api/messages.hpp"
#include "commit/latest_good.hpp"

namespace sluice::detail {

FileImpl::FileImpl(MPI_Comm comm, const std::string& path, Mode mode, const Options& options)
    : FileImpl(ground_on(comm, path, options), path, mode) {}

FileImpl::FileImpl(std::unique_ptr<exec::Transport> transport, const std::string& path, Mode mode,
                   const Options& options)
    : FileImpl(ground_on(std::move(transport), path, options), path, mode) {}

FileImpl::FileImpl(Ground ground, const std::string& path, Mode mode)
    : owned_(std::move(ground.transport)),
      transport_(*owned_),
      storage_(std::move(ground.storage)),
      path_(path) {
  open(mode, ground.settings);
}

FileImpl::FileImpl(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
                   const std::string& path, Mode mode, const Options& options)
    : transport_(transport), storage_(std::move(storage)), path_(path) {
  open(mode, settings::resolve(transport_, path_, options));
}

void FileImpl::open(Mode mode, const settings::Settings& settings) {
  require_same(transport_, path_, mode, settings);
  const Options& options = options_ = settings.options;
  const bool explains = settings.explain && transport_.rank() == 0;
  if (explains) {
    std::string text = settings::explain_options(path_, settings);
    text.pop_back();  // its last newline
    say(text);
  }
  if (mode == Mode::read) {
    input_ = std::make_unique<commit::Input>(transport_, *storage_, path_, options);
    return;
  }
  const commit::Opening opening = mode == Mode::append   ? commit::Opening::append
                                  : mode == Mode::create ? commit::Opening::create
                                                         : commit::Opening::write;
  output_ = commit::open_output(transport_, *storage_, path_, opening, options);
  const auto say_of_file = [path = path_](const std::string& text) {
    say("sluice: " + path + ": " + text);
  };
  if (settings.explain) {
    output_->explain(say_of_file);
  }
  if (options.log != Log::off) {
    output_->report(say_of_file);
  }
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

void FileImpl::drop() noexcept {
  input_.reset();
  output_.reset();
}

void FileImpl::refresh() {
  const commit::Input& old = input();
  auto fresh = std::make_unique<commit::Input>(transport_, *storage_, path_, options_);
  fresh->keep_order_of(old);
  input_ = std::move(fresh);
}

std::optional<std::uint64_t> FileImpl::latest_good() {
  const commit::Input& open = input();
  return commit::latest_good(transport_, *storage_, open.path());
}

std::unique_ptr<FileImpl> open_on(exec::Transport& transport,
                                  std::shared_ptr<storage::Storage> storage,
                                  const std::string& path, Mode mode, const Options& options) {
  return std::make_unique<FileImpl>(transport, std::move(storage), path, mode, options);
}

}  // namespace sluice::detail
