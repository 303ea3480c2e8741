#include "commit/session/session_homes.hpp"

#include <algorithm>
#include <utility>

namespace sluice::commit {

SessionHome& SessionHomes::begin(const plan::ByteRange& range, SessionHandlers handlers,
                                 const std::vector<int>& owners) {
  const SessionKey key{rank_, ++started_, 0};
  SessionHome& home = homes_[key.number];
  home.part = {key, range};
  home.handlers = std::move(handlers);
  home.owners_left.insert(owners.begin(), owners.end());
  if (!reads_ && home.handlers.ready) {
    calls_.push_back(std::move(home.handlers.ready));
  }
  return home;
}

SessionHome* SessionHomes::find(const SessionPart& part) {
  const auto found = homes_.find(part.key.number);
  return part.key.home != rank_ || found == homes_.end() ? nullptr : &found->second;
}

SessionHome* SessionHomes::note_outcome(const SessionKey& key, int owner,
                                        const std::exception_ptr& failure) {
  const auto found = homes_.find(key.number);
  if (found == homes_.end() || found->second.is_settled ||
      found->second.part.key.phase != key.phase) {
    return nullptr;  // of a session that has failed already
  }
  SessionHome& home = found->second;
  home.owners_left.erase(owner);
  home.failure = home.failure ? home.failure : failure;
  if (home.failure) {
    settle(home);
  } else if (home.owners_left.empty()) {
    if (key.phase == 0 && !home.handlers.after.empty()) {
      return &home;
    }
    settle(home);
  }
  return nullptr;
}

void SessionHomes::settle(SessionHome& home) {
  home.is_settled = true;
  if (reads_) {
    if (home.handlers.ready) {
      calls_.push_back(std::move(home.handlers.ready));
    }
    return;
  }
  first_failure_ = first_failure_ ? first_failure_ : home.failure;
  if (home.handlers.complete) {
    calls_.push_back(
        [done = std::move(home.handlers.complete), failure = home.failure] { done(failure); });
  }
  if (!home.failure) {
    homes_.erase(home.part.key.number);  // `home` ends here
  }
}

bool SessionHomes::all_settled() const {
  return std::all_of(homes_.begin(), homes_.end(),
                     [](const auto& entry) { return entry.second.is_settled; });
}

std::vector<const SessionHome*> SessionHomes::unsettled(
    const std::optional<SessionKey>& only) const {
  std::vector<const SessionHome*> all;
  for (const auto& [number, home] : homes_) {
    // The bytes that are written after all others belong to its home, and have been sent.
    if (!home.is_settled && home.part.key.phase == 0 &&
        (!only || *only == SessionKey{home.part.key.home, number, 0})) {
      all.push_back(&home);
    }
  }
  return all;
}

std::exception_ptr SessionHomes::failure_of(const std::optional<SessionKey>& only) const {
  if (!only) {
    return first_failure_;
  }
  const auto found = homes_.find(only->number);
  return only->home == rank_ && found != homes_.end() ? found->second.failure : nullptr;
}

}  // namespace sluice::commit
