// Sessions on virtual ranks, over memory that records who did what.
#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "api/session/session_impl.hpp"
#include "support/errors.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"
#include "support/recording_storage.hpp"

namespace sluice::test {

/// The byte that belongs at `offset` of a file.
inline std::byte byte_at(std::uint64_t offset, std::uint64_t salt = 0) {
  return static_cast<std::byte>((offset * 2654435761U + salt * 40503U) >> 7);
}

inline std::vector<std::byte> bytes_at(std::uint64_t offset, std::uint64_t count,
                                       std::uint64_t salt = 0) {
  std::vector<std::byte> bytes(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    bytes[i] = byte_at(offset + i, salt);
  }
  return bytes;
}

class LocalSessions {
 public:
  explicit LocalSessions(std::uint64_t seed = 1) : seed_(seed) {
    options_.tile_bytes = 64;
    options_.timeout_s = 5;
  }

  Options& options() { return options_; }
  storage::MemoryStorage& memory() { return *memory_; }
  const storage::Log& log() const { return *log_; }

  SessionFile open(exec::Transport& transport, const std::string& path, Mode mode) {
    const auto storage =
        std::make_shared<storage::RecordingStorage>(memory_, log_, transport.rank());
    return SessionFile(
        std::make_unique<detail::SessionImpl>(transport, storage, path, mode, options_));
  }
  void run(int ranks, const std::function<void(exec::Transport&)>& body) {
    exec::run_local(ranks, seed_++, body);
  }
  /// The same; the error that each rank met.
  std::vector<Error> errors(int ranks, const std::function<void(exec::Transport&)>& body) {
    std::vector<Error> all(static_cast<std::size_t>(ranks), Error(Code::ok, ""));
    run(ranks, [&](exec::Transport& transport) {
      all[static_cast<std::size_t>(transport.rank())] = thrown_by([&] { body(transport); });
    });
    return all;
  }

 private:
  std::uint64_t seed_;
  Options options_;
  std::shared_ptr<storage::MemoryStorage> memory_ = storage::make_memory();
  std::shared_ptr<storage::Log> log_ = std::make_shared<storage::Log>();
};

/// Sends a session from its home to all ranks, as a program would.
inline Session share(exec::Transport& transport, int home, const Session& mine) {
  std::vector<std::byte> bytes(sizeof(Session));
  std::memcpy(bytes.data(), &mine, sizeof mine);
  transport.broadcast(bytes, home);
  Session session;
  std::memcpy(&session, bytes.data(), sizeof session);
  return session;
}

}  // namespace sluice::test
