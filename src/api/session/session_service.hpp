// A session file that is progressed by a thread of its own, for programs whose runtime carries the
// messages and whose calls must not wait.
//
// Invariants: only the service's thread opens, polls and closes, so only it waits for other ranks;
// every other call is short (a write may wait for the disk); events are reported in the order in
// which they happened, `closed` last.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "api/session/session_impl.hpp"
#include "exec/transport/carrier.hpp"
#include "storage/own_process.hpp"

namespace sluice::detail {

class SessionService {
 public:
  enum class Kind : std::uint8_t { none, opened, ready, complete, read, closed };
  struct Event {
    Kind kind = Kind::none;
    Code code = Code::ok;
    std::int64_t number = 0;
    std::string message = {};
  };

  /// Starts to open. The options of SessionFile apply.
  SessionService(int rank, int size, const std::string& path, Mode mode, const Options& options);
  /// In any state.
  ~SessionService();
  SessionService(const SessionService&) = delete;
  SessionService& operator=(const SessionService&) = delete;

  /// False in a forked process, where there is no thread to end: it must be leaked.
  bool is_here() const noexcept { return process_.is_here(); }
  void require_here() const { process_.require(path_); }
  exec::Carrier& carrier() noexcept { return *carrier_; }
  /// `after`: bytes that are written when all others are, at `after_offset`.
  Session start(std::uint64_t offset, std::uint64_t bytes, std::vector<std::byte> after,
                std::uint64_t after_offset);
  std::uint64_t write_some(const Session& session, std::uint64_t offset,
                           std::span<const std::byte> bytes);
  void read(const Session& session, std::uint64_t offset, std::span<std::byte> into,
            std::int64_t number);
  void close();
  std::optional<Event> next();

 private:
  enum class State : std::uint8_t { opening, open, closing, closed };

  void run(const std::string& path, Mode mode, const Options& options);
  void serve();
  void tell(Kind kind, std::int64_t number, const std::exception_ptr& failure);
  commit::Sessions& opened(const char* what);

  const storage::OwnProcess process_;
  const std::string path_;
  const std::shared_ptr<exec::Carrier> carrier_;
  std::unique_ptr<SessionImpl> file_;  ///< made before State::open, by the thread
  std::atomic<State> state_ = State::opening;
  std::atomic<bool> is_ending_ = false;
  std::mutex mutex_;  ///< events_
  std::deque<Event> events_;
  std::thread thread_;
};

}  // namespace sluice::detail
