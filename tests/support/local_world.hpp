// State shared by virtual ranks: groups (communicators), collective calls in progress, messages.
//
// Invariants: accessed only by the rank that holds the run token; a failed group stays failed and
// every later call on it throws; the bytes of a message are copied when both sides are present.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "exec/transport/waiting.hpp"
#include "support/local_scheduler.hpp"

namespace sluice::exec {

class LocalGroup;

/// All ranks of one run.
class LocalWorld {
 public:
  LocalWorld(int ranks, std::uint64_t seed, const LocalOptions& options);

  /// Runs the bodies and rethrows as run_local() promises.
  void run(const std::function<void(Transport&)>& body);

  Scheduler& scheduler() { return scheduler_; }
  const LocalOptions& options() const { return options_; }

  /// Blocks a world rank that waits at `place` of `group`, as `member` of it, until `ready()` or
  /// the group fails. Throws the group's error or the timeout.
  void wait(const std::shared_ptr<LocalGroup>& group, int member, Place place,
            const std::function<bool()>& ready);
  /// Records progress: polling ranks have reason to continue.
  void progressed();
  /// A poll without success. Error timeout after idle_s, and many polls, without progress.
  void polled(const std::shared_ptr<LocalGroup>& group, int member, const Place& place);
  /// "left", "left with an error: ..." for ranks of the world that have ended.
  std::optional<std::string> departure(int rank) const;

 private:
  struct Wait {
    std::shared_ptr<LocalGroup> group;
    int member = 0;
    Place place;
  };

  void judge_all();
  Verdict judge_one(const Wait& wait, double seconds) const;
  void run_rank(int rank, const std::function<void(Transport&)>& body);

  LocalOptions options_;
  Scheduler scheduler_;
  std::shared_ptr<LocalGroup> all_;
  std::map<int, Wait> waits_;               // by world rank
  std::map<int, Verdict> verdicts_;         // of a deadlock, by world rank
  std::vector<std::exception_ptr> errors_;  // by world rank
  std::vector<std::string> farewells_;      // what() of each error, by world rank
  std::chrono::steady_clock::time_point last_progress_;
  std::int64_t polls_ = 0;  // since then
};

/// A collective call in progress.
struct LocalCall {
  std::int64_t number = 0;
  Verb verb = Verb::barrier;
  std::string signature;  ///< must be equal on every rank
  int first = 0;          ///< the rank that arrived first
  bool early = false;     ///< ranks leave as soon as their own result is there
  std::vector<bool> come;
  int left = 0;
  std::vector<std::vector<std::byte>> bytes;         ///< by rank
  std::vector<std::int64_t> values;                  ///< the partial reduction, or one entry a rank
  std::vector<std::vector<Parcel>> parcels;          ///< by destination, named by sender
  std::map<int, std::shared_ptr<LocalGroup>> parts;  ///< of a split, by color
};

/// One side of a message.
struct LocalMessage {
  std::span<const std::byte> from;
  std::span<std::byte> into;
  std::vector<std::byte> buffer;  ///< of a send that ended before its receive
  bool buffered = false;
  bool matched = false;

  bool done() const { return matched || buffered; }
};

/// The ranks of one transport.
class LocalGroup {
 public:
  LocalGroup(LocalWorld& world, std::vector<int> members, std::vector<int> nodes);

  int size() const { return static_cast<int>(members.size()); }
  /// Makes the group unusable; the first error stays.
  void fail(const Error& error) {
    if (!error_) {
      error_ = error;
    }
  }
  const std::optional<Error>& error() const { return error_; }
  /// Throws the error if there is one: the first time a member sees it, the error itself;
  /// afterwards an "earlier failure" that forbids `verb`.
  void throw_if_failed(int member, Verb verb);
  /// fail() and throw, for the member that found the error.
  [[noreturn]] void fail_and_throw(int member, const Error& error);

  /// A member that enters no collective any more, and its error.
  struct Left {
    std::int64_t last_call = 0;
    Error error;
  };
  void leave(int member, const Error& why);
  const std::optional<Left>& left() const { return left_; }
  bool lacks(std::int64_t call) const { return left_ && call > left_->last_call; }

  struct Channel {
    std::deque<std::shared_ptr<LocalMessage>> sends;
    std::deque<std::shared_ptr<LocalMessage>> receives;
  };

  LocalWorld& world;
  std::vector<int> members;         ///< world ranks
  std::vector<int> nodes;           ///< node number of each member
  std::vector<std::int64_t> calls;  ///< collectives entered, by member
  std::map<std::int64_t, LocalCall> open_calls;
  std::map<std::tuple<int, int, int>, Channel> channels;  ///< by (from, to, tag)

 private:
  std::optional<Error> error_;
  std::optional<Left> left_;  // the first
  std::vector<bool> told_;    // by member
};

/// The transport of one member. Keeps the group alive.
std::unique_ptr<Transport> make_local(std::shared_ptr<LocalGroup> group, int member);

}  // namespace sluice::exec
