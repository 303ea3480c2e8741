#include <utility>

#include "api/session_impl.hpp"

namespace sluice {

using commit::SessionPart;
using commit::Sessions;

namespace {

SessionPart part_of(const Session& session) {
  return {{session.home, session.number, 0}, {session.offset, session.bytes}};
}

/// Calls back with the Error, or nullptr.
Sessions::Done done_of(std::function<void(const Error*)> call) {
  if (!call) {
    return {};
  }
  return [call = std::move(call)](const std::exception_ptr& failure) {
    try {
      if (failure) {
        std::rethrow_exception(failure);
      }
    } catch (const Error& e) {
      call(&e);
      return;
    } catch (const std::exception& e) {
      const Error error(Code::internal, e.what());
      call(&error);
      return;
    }
    call(nullptr);
  };
}

Sessions::Opening opening_of(Mode mode) {
  switch (mode) {
    case Mode::read:
      return Sessions::Opening::read;
    case Mode::write:
      return Sessions::Opening::write;
    case Mode::create:
      return Sessions::Opening::create;
    case Mode::append:
      return Sessions::Opening::append;
  }
  throw Error(Code::invalid_argument, "open: no such mode");
}

}  // namespace

namespace detail {

SessionImpl::SessionImpl(Ground ground, const std::string& path, Mode mode)
    : owned_(std::move(ground.transport)) {
  open(*owned_, std::move(ground.storage), path, mode, ground.settings);
}

SessionImpl::SessionImpl(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
                         const std::string& path, Mode mode, const Options& options) {
  open(transport, std::move(storage), path, mode, settings::resolve(transport, path, options));
}

void SessionImpl::open(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
                       const std::string& path, Mode mode, const settings::Settings& settings) {
  require_same(transport, path, mode, settings);
  sessions_ = std::make_unique<Sessions>(transport, std::move(storage), path, opening_of(mode),
                                         settings.options);
}

}  // namespace detail

SessionFile::SessionFile(MPI_Comm comm, const std::string& path, Mode mode, const Options& options)
    : impl_(std::make_unique<detail::SessionImpl>(detail::ground_on(comm, path, options), path,
                                                  mode)) {}
SessionFile::SessionFile(std::unique_ptr<detail::SessionImpl> impl) : impl_(std::move(impl)) {}
SessionFile::SessionFile(SessionFile&&) noexcept = default;
SessionFile& SessionFile::operator=(SessionFile&&) noexcept = default;
SessionFile::~SessionFile() = default;

Session SessionFile::start(std::uint64_t offset, std::uint64_t bytes, SessionHandlers handlers) {
  Sessions::Handlers inner;
  inner.ready = std::move(handlers.ready);
  inner.complete = done_of(std::move(handlers.complete));
  inner.after_offset = handlers.after_offset;
  inner.after = std::move(handlers.after);
  const SessionPart part = impl_->sessions().start({offset, bytes}, std::move(inner));
  return {part.key.home, part.key.number, offset, bytes};
}

void SessionFile::write(const Session& session, const void* data, std::size_t bytes,
                        std::uint64_t offset) {
  impl_->sessions().write(part_of(session), offset, {static_cast<const std::byte*>(data), bytes});
}

void SessionFile::read(const Session& session, void* data, std::size_t bytes, std::uint64_t offset,
                       std::function<void(const Error*)> done) {
  impl_->sessions().read(part_of(session), offset, {static_cast<std::byte*>(data), bytes},
                         done_of(std::move(done)));
}

void SessionFile::end(const Session& session) { impl_->sessions().end(part_of(session)); }
void SessionFile::poll() { impl_->sessions().poll(); }
void SessionFile::wait(const Session& session) { impl_->sessions().wait(part_of(session)); }
void SessionFile::wait_for_reads() { impl_->sessions().wait_for_reads(); }
void SessionFile::close(const Session& session) { impl_->sessions().close(part_of(session)); }
void SessionFile::close() { impl_->sessions().close(); }

}  // namespace sluice
