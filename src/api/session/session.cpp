#include <utility>

#include "api/messages.hpp"
#include "api/session/session_impl.hpp"

namespace sluice {

using commit::SessionPart;
using commit::Sessions;
using detail::part_of;

namespace {

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
  throw Error(Code::invalid_argument, "open: unknown mode");
}

}  // namespace

namespace detail {

SessionImpl::SessionImpl(OpenContext context, const std::string& path, Mode mode)
    : path_(path), owned_(std::move(context.transport)) {
  open(*owned_, std::move(context.storage), path, mode, context.settings);
  if (context.uses_mpi) {
    at_finalize_.emplace(path_, [this] { drop_at_finalize(); });
  }
}

SessionImpl::SessionImpl(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
                         const std::string& path, Mode mode, const Options& options)
    : path_(path) {
  open(transport, std::move(storage), path, mode,
       same_settings(transport, {path, purpose_of(mode)}, options));
}

void SessionImpl::open(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
                       const std::string& path, Mode mode, const settings::Settings& settings) {
  say_notice(transport, settings);
  sessions_ = std::make_unique<Sessions>(transport, std::move(storage), path, opening_of(mode),
                                         settings.options);
}

commit::Sessions& SessionImpl::sessions() {
  process_.require(path_);
  if (!sessions_) {
    throw Error(Code::wrong_state, "this file of sessions ended at MPI_Finalize");
  }
  return *sessions_;
}

void SessionImpl::leave(const std::string& why) noexcept {
  if (sessions_ && sessions_->is_open() && is_here()) {
    sessions_->leave(why);
  }
}

/// Incomplete sessions cannot be waited for here: their completion calls back into the program.
void SessionImpl::drop_at_finalize() noexcept {
  try {
    if (sessions_->is_open() && !sessions_->reads()) {
      say("rank " + std::to_string(owned_->rank()) + ": " + sessions_->path() +
          ": was still open at MPI_Finalize: what was not written by then is lost: close() it "
          "before MPI_Finalize");
    }
  } catch (...) {
    // no memory for the message
  }
  sessions_.reset();
}

}  // namespace detail

SessionFile::SessionFile(const Comm& comm, const std::string& path, Mode mode,
                         const Options& options)
    : impl_(std::make_unique<detail::SessionImpl>(
          detail::context_on(comm, {path, detail::purpose_of(mode)}, options), path, mode)) {}
SessionFile::SessionFile(std::unique_ptr<detail::SessionImpl> impl) : impl_(std::move(impl)) {}
SessionFile::SessionFile(SessionFile&&) noexcept = default;
SessionFile& SessionFile::operator=(SessionFile&& other) noexcept {
  if (this != &other) {
    const SessionFile old(std::move(*this));  // ends the previous file
    impl_ = std::move(other.impl_);
  }
  return *this;
}
SessionFile::~SessionFile() {
  if (impl_ && !impl_->is_here()) {
    static_cast<void>(impl_.release());  // its threads, ranks and files belong to the parent
  } else if (impl_ && impl_->unwinds()) {
    impl_->leave();
  }
}

detail::SessionImpl& SessionFile::impl() const {
  if (!impl_) {
    throw Error(Code::wrong_state,
                "this SessionFile was moved from: use the object that it was moved to");
  }
  return *impl_;
}

Session SessionFile::start(std::uint64_t offset, std::uint64_t bytes, SessionHandlers handlers) {
  Sessions::Handlers inner;
  inner.ready = std::move(handlers.ready);
  inner.complete = done_of(std::move(handlers.complete));
  inner.after_offset = handlers.after_offset;
  inner.after = std::move(handlers.after);
  const SessionPart part = impl().sessions().start({offset, bytes}, std::move(inner));
  return {part.key.home, part.key.number, offset, bytes};
}

void SessionFile::write(const Session& session, const void* data, std::size_t bytes,
                        std::uint64_t offset) {
  impl().sessions().write(part_of(session), offset, {static_cast<const std::byte*>(data), bytes});
}

void SessionFile::read(const Session& session, void* data, std::size_t bytes, std::uint64_t offset,
                       std::function<void(const Error*)> done) {
  impl().sessions().read(part_of(session), offset, {static_cast<std::byte*>(data), bytes},
                         done_of(std::move(done)));
}

void SessionFile::end(const Session& session) { impl().sessions().end(part_of(session)); }
void SessionFile::poll() { impl().sessions().poll(); }
void SessionFile::wait(const Session& session) { impl().sessions().wait(part_of(session)); }
void SessionFile::wait_for_reads() { impl().sessions().wait_for_reads(); }
void SessionFile::close(const Session& session) { impl().sessions().close(part_of(session)); }
void SessionFile::close() { impl().sessions().close(); }

}  // namespace sluice
