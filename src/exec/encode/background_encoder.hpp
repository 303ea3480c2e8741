// RoundEncoder in the background: the writer's thread sends the sizes of a round to rank 0 by the
// tracker, waits for the places, and writes. What is not compressed comes to provisional addresses
// of its own, and is moved to its places once they are known.
//
// The last round of a commit, if it is not small, is encoded when the ranks have left the call: on
// cores that are encoding, copies and messages of the others would take several times as long. If
// the ring has room for all of it, it is not taken out of there before that either.
//
// Invariants: all but the constructor and end_call() is called by the thread (or in the order) that
// carries out the writer's jobs; of each round one message leaves and one comes, whatever failed;
// memory is the tiles of one round, and what comes of other variables before places are known.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>

#include "exec/encode/provisional_file.hpp"
#include "exec/encode/round_encoder.hpp"
#include "exec/notify/completion_tracker.hpp"
#include "storage/storage.hpp"

namespace sluice::exec {

class BackgroundEncoder {
 public:
  /// `plain`: provisional addresses of what is not encoded. `may_wait`: for places; else they are
  /// there when take_places() is called. What is given must outlive the object.
  BackgroundEncoder(const RoundEncoder::Config& config, storage::File& file,
                    CompletionTracker& tracker, bool may_wait, std::uint64_t commit,
                    const EncodedRounds& rounds, std::span<const model::Definition> definitions,
                    std::shared_ptr<const layout::CommitPlan> plain);

  /// Takes the dense bytes of the round under way.
  storage::File& dense_file() noexcept { return encoder_.dense_file(); }
  /// Takes what is not encoded.
  RelocatedFile& plain_file() noexcept { return plain_; }

  /// This rank leaves the call that gave the last round. Any thread.
  void end_call();
  /// Returns soon after that, or after a bounded time; once it has seen the end, at once.
  /// `held_bytes`: of the call, for which there is memory whatever the thread does.
  void wait_for_end_of_call(std::uint64_t held_bytes);
  /// All of the round has come. `earlier`: what went wrong with it.
  void send_sizes(const std::exception_ptr& earlier);
  bool has_places() const { return tracker_.has_message_from_root(); }
  /// Takes the places and writes the round. `earlier` as above.
  void take_places(const std::exception_ptr& earlier);
  /// After the last round: throws what went wrong.
  void rethrow() const { encoder_.rethrow(); }

 private:
  RoundPlaces await_places();

  storage::File& file_;
  CompletionTracker& tracker_;
  const bool may_wait_;
  bool waits_for_call_;
  const int rank_;
  RoundEncoder encoder_;
  RelocatedFile plain_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_call_ended_ = false;
};

}  // namespace sluice::exec
