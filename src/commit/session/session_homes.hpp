// The sessions that this rank has begun, until each is settled: complete, or failed. For a file
// that is read: until its beginning is in the readers' memory.
//
// Invariants: a session is settled once; a failed one is kept, so that a later wait for it reports
// the failure; callbacks are queued, not called.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "commit/session/session_writer.hpp"

namespace sluice::commit {

/// The callbacks of a session's home.
struct SessionHandlers {
  std::function<void()> ready = {};
  std::function<void(const std::exception_ptr& failure)> complete = {};
  std::uint64_t after_offset = 0;
  std::vector<std::byte> after = {};  ///< bytes to be written when all others are
};

/// A session, on the rank that has begun it.
struct SessionHome {
  SessionPart part;
  SessionHandlers handlers;
  std::set<int> owners_left;
  bool is_settled = false;
  std::exception_ptr failure;
};

class SessionHomes {
 public:
  using Calls = std::deque<std::function<void()>>;

  /// `calls` gets the callbacks and must outlive the object.
  SessionHomes(int rank, bool reads, Calls& calls) : rank_(rank), reads_(reads), calls_(calls) {}

  SessionHome& begin(const plan::ByteRange& range, SessionHandlers handlers,
                     const std::vector<int>& owners);
  /// Nullptr if it is not one of this rank's, or complete.
  SessionHome* find(const SessionPart& part);
  void forget(const SessionPart& part) { homes_.erase(part.key.number); }

  /// An owner has finished its share, or failed. If it was the last one and bytes are to be written
  /// after all others, returns the home whose bytes these are; otherwise the session may be
  /// settled.
  SessionHome* note_outcome(const SessionKey& key, int owner, const std::exception_ptr& failure);
  void settle(SessionHome& home);

  bool all_settled() const;
  /// Those, of one session or of all, whose owners wait for bytes that will not come.
  std::vector<const SessionHome*> unsettled(const std::optional<SessionKey>& only) const;
  /// The failure of the session, or, for all, the first one.
  std::exception_ptr failure_of(const std::optional<SessionKey>& only) const;

 private:
  const int rank_;
  const bool reads_;
  Calls& calls_;
  std::uint32_t started_ = 0;
  std::map<std::uint32_t, SessionHome> homes_;  ///< not settled, or failed
  std::exception_ptr first_failure_;
};

}  // namespace sluice::commit
