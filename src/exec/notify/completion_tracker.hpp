// Tracks commits in progress over the ranks: each writer reports that its part is in the file or
// has failed; rank 0 reports the outcome of the commit.
//
// Invariants: commits are numbered from 1 and announced by begin() on every rank in the same order;
// for each, every writer arrives once, in order, and rank 0 settles once, in order; no call waits
// longer than its argument says, and no collective is called. Memory is bounded by the commits in
// flight. Writers and rank 0 also send each other messages (sizes of encoded tiles, and their
// addresses), each pair in order; as many from a writer as to it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exec/transport/transport.hpp"
#include "sluice/error.hpp"

namespace sluice::exec {

/// An outcome: success, or an error, with its text truncated to the length of a message.
struct Outcome {
  std::uint64_t number = 0;
  std::uint32_t failed = 0;
  Code code = Code::ok;
  std::int32_t rank = -1;
  char text[484] = {};

  Outcome() = default;
  /// `rank`: named in the error if that names none itself.
  Outcome(std::uint64_t number, const std::exception_ptr& failure, int rank);
  /// The error, or nullptr.
  std::exception_ptr failure() const;
};

class CompletionTracker {
 public:
  virtual ~CompletionTracker() = default;

  /// Announces commit `number`.
  virtual void begin(std::uint64_t number) = 0;
  /// On a writer, by any of its threads: its part of commit `number` is in the file, or failed.
  virtual void arrive(std::uint64_t number, const std::exception_ptr& failure) = 0;
  /// On rank 0, by any thread: empty while writers are missing, else the first failure.
  virtual std::optional<std::exception_ptr> gathered(std::uint64_t number) = 0;
  /// On rank 0, by any thread.
  virtual void settle(std::uint64_t number, const std::exception_ptr& failure) = 0;

  /// Commits up to this number are settled. By any thread.
  virtual std::uint64_t settled() = 0;
  /// The first commit that failed, number 0 if none did; all later ones fail too. By any thread.
  virtual Outcome failed() = 0;
  /// Clears the failure; between two barriers of all ranks, with all commits settled.
  virtual void clear_failure() = 0;

  /// Announces that many more messages from each writer to rank 0, and back.
  virtual void expect_messages(std::uint64_t messages) = 0;
  /// On a writer, by one thread. May wait until rank 0 has received earlier messages; Error timeout
  /// after stop().
  virtual void send_to_root(std::span<const std::byte> message) = 0;
  /// On a writer, by the same thread: the next message of rank 0, if it has arrived.
  virtual std::optional<std::vector<std::byte>> receive_from_root() = 0;
  /// On a writer: by any thread if news need poll(), else by the same one.
  virtual bool has_message_from_root() = 0;
  /// The same on rank 0, for writer number `writer`; by one thread.
  virtual void send_to_writer(std::size_t writer, std::span<const std::byte> message) = 0;
  virtual std::optional<std::vector<std::byte>> receive_from_writer(std::size_t writer) = 0;
  virtual std::size_t writers() const = 0;
  /// Waits for messages end with an error from now on.
  void stop() {
    stopped_.store(true);
    notify();
  }
  bool is_stopped() const { return stopped_.load(); }

  /// Progresses the messages; by the rank's own thread only.
  virtual void poll() = 0;
  /// Has poll() started to send every message that this rank has written? They then arrive without
  /// further calls.
  virtual bool has_sent_messages() = 0;
  /// Does news arrive without poll()?
  virtual bool is_local() const = 0;
  /// Has this rank sent everything? Then the tracker may be destroyed.
  virtual bool is_idle() = 0;
  /// Wakes up waiting threads without news.
  virtual void notify() = 0;
  /// Counts notifications. Read it, look at the state, then wait(): no notification is missed.
  virtual std::uint32_t epoch() = 0;
  /// Waits for news after `epoch`, at most this long; by any thread. May return early.
  virtual void wait(std::uint32_t epoch, double limit_s) = 0;
  /// Writers that have not arrived at commit `number`, as far as this rank knows.
  virtual std::vector<int> missing(std::uint64_t number) = 0;

 private:
  std::atomic<bool> stopped_{false};
};

/// A tracker in shared memory of the node. Collective over all ranks, which must be on one node;
/// nullptr on every rank if one of them cannot attach to the memory.
std::unique_ptr<CompletionTracker> make_node_tracker(Transport& transport,
                                                     const std::vector<int>& writers);
/// A tracker by messages: they advance when both sides poll(); with many ranks, outcomes only where
/// the writers do. Collective.
std::unique_ptr<CompletionTracker> make_message_tracker(Transport& transport,
                                                        const std::vector<int>& writers);

}  // namespace sluice::exec
