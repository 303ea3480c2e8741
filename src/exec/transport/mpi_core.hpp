// The base of every verb of the MPI transport: messages in flight, and waits with a deadline.
//
// Invariants: all memory of a collective that MPI may access belongs to its Batch; every failure
// goes through fail(), which makes the core unusable, what it was split from and what was split
// from it, and notifies the other ranks; texts and errors name a rank by its number in the
// transport that all were split from; internal tags are above every tag of the user, and differ
// between consecutive collectives, so that ranks in different collectives never receive each
// other's messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exec/transport/mpi_batch.hpp"
#include "exec/transport/mpi_channels.hpp"
#include "exec/transport/mpi_options.hpp"
#include "exec/transport/mpi_watch.hpp"
#include "exec/transport/waiting.hpp"
#include "mpi/process.hpp"

namespace sluice::exec {

/// A longer message is sent as a head with these first bytes, and a rest. Head and payload together
/// stay below the size up to which MPI sends eagerly (4 KiB within a node).
inline constexpr std::size_t inline_bytes = 4000;

/// One wait: how to make progress and, if it takes long, what is missing.
struct Waiting {
  std::function<bool()> done;               ///< makes progress, never waits
  std::function<std::vector<int>()> peers;  ///< ranks whose message is missing
  std::uint64_t bytes = 0;                  ///< in flight; long transfers are polled closely
};

/// Size: One function for each kind of MPI call that the transports make.
class MpiCore {
 public:
  /// Takes over `channel`. MPI must be initialised.
  MpiCore(MpiChannel channel, const MpiOptions& options);
  /// The same for a part of `whole`. `members`: what its ranks, in their order, are in `whole`;
  /// none: it has the same ranks.
  MpiCore(MpiChannel channel, std::shared_ptr<MpiCore> whole, const std::vector<int>& members = {});
  MpiCore(const MpiCore&) = delete;
  MpiCore& operator=(const MpiCore&) = delete;
  ~MpiCore();

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  mpi::Comm comm() const noexcept { return comm_; }
  const MpiOptions& options() const noexcept { return options_; }
  /// The limit of a wait from now on, 0: none; returns the one before.
  double limit_waits(double timeout_s) { return std::exchange(options_.timeout_s, timeout_s); }
  static constexpr int max_user_tag() noexcept { return MpiChannel::user_tags - 1; }
  /// The tag that MPI sees for that of a caller.
  /// The communicator is never freed.
  void retain() noexcept { channel_.is_retained = true; }
  int tag_of_user(int tag) const noexcept { return channel_.first_tag + tag; }

  /// Tags for another transport of the same ranks over the same communicator; empty: all are lent.
  /// Begins a collective in which no rank waits.
  std::optional<MpiChannel> lend_channel();

  /// Begins a collective. Throws the error that made the transport unusable.
  void enter(Verb verb);
  /// Begins, or continues, a send or receive.
  void enter_point_to_point(Verb verb, int tag);
  /// The tag of messages of the current collective; `phase` < 4 keeps kinds of messages apart.
  int tag(int phase = 0) const noexcept;

  /// Posts a message, split if it is long. `synchronous`: done only when it is being received.
  void post_send(Batch& batch, int to, int tag, std::span<const std::byte> bytes,
                 bool synchronous = false);
  /// Posts a receive. Not `exact`: the message may be shorter than `into` (and is not split).
  void post_receive(Batch& batch, int from, int tag, std::span<std::byte> into, bool exact = true);

  /// Matches the next message of `tag` that has arrived, if there is one: its sender, and memory
  /// for it.
  bool take_any(int tag, mpi::Message& message, int& from, std::vector<std::byte>& into);
  /// Posts the receive of what take_any() found.
  void post_taken(Batch& batch, int from, mpi::Message message, std::span<std::byte> into);

  /// All done? Makes progress; throws what MPI reports.
  bool test(Batch& batch);
  /// Waits for all of a batch, at most the time limit.
  void wait(Batch& batch);
  /// Waits until `waiting.done()`, at most the time limit.
  void wait(const Waiting& waiting);
  /// For polling callers: processes notices of other ranks, without waiting.
  void listen(const std::function<std::vector<int>()>& peers);

  /// Makes the transport unusable, notifies the other ranks and throws.
  [[noreturn]] void fail(Code code, const std::string& text);
  bool failed() const noexcept { return watch_->failed(); }
  MpiWatch& watch() const noexcept { return *watch_; }
  /// The number of a rank in the transport that all were split from.
  int outer_rank(int rank) const;
  /// fail() unless `result` is mpi::success.
  void check(int result);
  /// "sluice: rank 3: exchange: "
  std::string prefix() const;

 private:
  void take_channel();
  void throw_if_failed() const;
  void wait_out(const Waiting& waiting);
  void check_batch(int result, const Batch& batch);
  void check_lengths(Batch& batch);
  Place place(const std::function<std::vector<int>()>& peers) const;

  MpiChannel channel_;
  mpi::Comm comm_;
  MpiOptions options_;
  int rank_ = 0;
  int size_ = 1;
  int tag_base_ = 0;
  Verb verb_ = Verb::open;
  std::int64_t call_ = 0;
  int user_tag_ = 0;

  std::shared_ptr<MpiCore> whole_;  ///< has the channel of the notices; null: not a part
  std::vector<int> outer_ranks_;    ///< of a part, by its ranks
  std::int64_t part_ = 0;           ///< as in Place
  std::shared_ptr<MpiWatch> watch_;
};

}  // namespace sluice::exec
