#include "api/session/session_service.hpp"

#include <chrono>
#include <utility>

#include "api/config/settings.hpp"
#include "sluice/error.hpp"
#include "storage/background_thread.hpp"

namespace sluice::detail {

namespace {

/// Interval at which the thread checks its writer.
constexpr auto look_at_least = std::chrono::microseconds(1000);

}  // namespace

SessionService::SessionService(int rank, int size, const std::string& path, Mode mode,
                               const Options& options)
    : path_(path), carrier_(std::make_shared<exec::Carrier>(rank, size, options.timeout_s)) {
  thread_ = storage::start_background([this, path, mode, options] { run(path, mode, options); });
}

SessionService::~SessionService() {
  is_ending_ = true;
  carrier_->stop();
  thread_.join();
}

void SessionService::run(const std::string& path, Mode mode, const Options& options) {
  try {
    OpenContext context = context_on(exec::make_carried(carrier_, options.ranks_per_node),
                                     {path, purpose_of(mode)}, options);
    file_ = std::make_unique<SessionImpl>(std::move(context), path, mode);
    state_ = State::open;
    tell(Kind::opened, 0, nullptr);
  } catch (...) {
    state_ = State::closed;
    tell(Kind::opened, 0, std::current_exception());
    return;
  }
  std::exception_ptr failure;
  try {
    serve();
    if (!is_ending_) {
      file_->sessions().close();
    }
  } catch (...) {
    failure = std::current_exception();
  }
  state_ = State::closed;
  tell(Kind::closed, 0, failure);
}

void SessionService::serve() {
  while (state_ == State::open && !is_ending_) {
    file_->sessions().poll();
    carrier_->wait(look_at_least);
  }
}

void SessionService::tell(Kind kind, std::int64_t number, const std::exception_ptr& failure) {
  Event event{kind, Code::ok, number};
  try {
    if (failure) {
      std::rethrow_exception(failure);
    }
  } catch (const Error& e) {
    event.code = e.code();
    event.message = e.what();
  } catch (const std::exception& e) {
    event.code = Code::internal;
    event.message = e.what();
  }
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
}

commit::Sessions& SessionService::opened(const char* what) {
  if (state_ != State::open) {
    throw Error(Code::wrong_state,
                path_ + ": " + what + ": is not open on rank " + std::to_string(carrier_->rank()));
  }
  return file_->sessions();
}

Session SessionService::start(std::uint64_t offset, std::uint64_t bytes,
                              std::vector<std::byte> after, std::uint64_t after_offset) {
  commit::Sessions& sessions = opened("session");
  // Callbacks come from the thread, perhaps before start() has returned: they wait for the number.
  auto number = std::make_shared<std::atomic<std::int64_t>>(-1);
  const auto known = [number] {
    while (*number < 0) {
      std::this_thread::yield();
    }
    return number->load();
  };
  commit::Sessions::Handlers handlers;
  if (sessions.reads()) {
    handlers.ready = [this, known] { tell(Kind::ready, known(), nullptr); };
  }
  handlers.complete = [this, known](const std::exception_ptr& failure) {
    tell(Kind::complete, known(), failure);
  };
  handlers.after = std::move(after);
  handlers.after_offset = after_offset;
  try {
    const commit::SessionPart part = sessions.start({offset, bytes}, std::move(handlers));
    *number = part.key.number;
    return {part.key.home, part.key.number, offset, bytes};
  } catch (...) {
    *number = 0;
    throw;
  }
}

std::uint64_t SessionService::write_some(const Session& session, std::uint64_t offset,
                                         std::span<const std::byte> bytes) {
  return opened("write").write_some(part_of(session), offset, bytes);
}

void SessionService::read(const Session& session, std::uint64_t offset, std::span<std::byte> into,
                          std::int64_t number) {
  opened("read").read(
      part_of(session), offset, into,
      [this, number](const std::exception_ptr& failure) { tell(Kind::read, number, failure); });
}

void SessionService::close() {
  opened("close");
  state_ = State::closing;
}

std::optional<SessionService::Event> SessionService::next() {
  const std::lock_guard lock(mutex_);
  if (events_.empty()) {
    return std::nullopt;
  }
  Event event = std::move(events_.front());
  events_.pop_front();
  return event;
}

}  // namespace sluice::detail
