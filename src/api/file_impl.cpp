#include "api/file_impl.hpp"

#include <cstdio>

#include "codec/checksum.hpp"
#include "commit/latest_good.hpp"
#include "exec/agree.hpp"
#include "exec/mpi_transport.hpp"
#include "model/bytes.hpp"
#include "storage/mpiio.hpp"

namespace sluice::detail {

FileImpl::Ground FileImpl::ground_on(MPI_Comm comm, const std::string& path,
                                     const Options& options) {
  Ground ground;
  auto connect = [&](const Options& wanted) {
    exec::MpiOptions mpi;
    mpi.timeout_s = wanted.timeout_s;
    mpi.ranks_per_node = wanted.ranks_per_node;
    ground.transport = exec::make_mpi(comm, mpi);
  };
  connect(options);
  ground.settings = settings::resolve(*ground.transport, path, options);
  const Options& wanted = ground.settings.options;
  if (wanted.timeout_s != options.timeout_s || wanted.ranks_per_node != options.ranks_per_node) {
    connect(wanted);
  }
  ground.storage = wanted.storage == "mpiio" ? storage::make_mpiio(comm, wanted.hints)
                                             : storage::make(wanted.storage);
  return ground;
}

FileImpl::FileImpl(MPI_Comm comm, const std::string& path, Mode mode, const Options& options)
    : FileImpl(ground_on(comm, path, options), path, mode) {}

FileImpl::FileImpl(std::unique_ptr<exec::Transport> transport, const std::string& path, Mode mode,
                   const Options& options)
    : owned_(std::move(transport)), transport_(*owned_), path_(path) {
  const settings::Settings settings = settings::resolve(transport_, path_, options);
  storage_ = settings.options.storage == "mpiio"
                 ? storage::make_mpiio(MPI_COMM_SELF, settings.options.hints)
                 : storage::make(settings.options.storage);
  open(mode, settings);
}

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

namespace {

/// Collective. Ranks that open different things would wait for each other in vain later.
void require_same(exec::Transport& transport, const std::string& path, Mode mode,
                  const settings::Settings& settings) {
  model::ByteWriter out;
  out.put(mode);
  out.put(settings::explain_options(path, settings));
  const auto digest = static_cast<std::int64_t>(codec::checksum(out.take()));
  // The maximum of a value and of its complement tells whether all ranks have the same.
  std::int64_t same[] = {digest, ~digest};
  exec::agree(transport, nullptr, same);
  if (same[0] != ~same[1]) {
    throw Error(Code::divergent, path +
                                     ": the ranks disagree: they open different paths, in "
                                     "different modes or with different options");
  }
}

}  // namespace

void FileImpl::open(Mode mode, const settings::Settings& settings) {
  require_same(transport_, path_, mode, settings);
  const Options& options = options_ = settings.options;
  const bool explains = settings.explain && transport_.rank() == 0;
  if (explains) {
    std::fputs(settings::explain_options(path_, settings).c_str(), stderr);
  }
  if (mode == Mode::read) {
    input_ = std::make_unique<commit::Input>(transport_, *storage_, path_, options);
    return;
  }
  const commit::Opening opening = mode == Mode::append   ? commit::Opening::append
                                  : mode == Mode::create ? commit::Opening::create
                                                         : commit::Opening::write;
  output_ = commit::open_output(transport_, *storage_, path_, opening, options);
  if (settings.explain) {
    output_->explain([path = path_](const std::string& text) {
      std::fprintf(stderr, "sluice: %s: %s\n", path.c_str(), text.c_str());
    });
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
