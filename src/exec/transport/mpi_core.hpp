// The base of every verb of the MPI transport: messages in flight, waits with a deadline, and
// notices by which waiting ranks find out which ranks are missing.
//
// Invariants: all memory of a collective that MPI may access belongs to its Batch, and outlives its
// use by the process (a Batch that is destroyed with pending requests leaks its buffers on
// purpose); every failure goes through fail(), which makes the core unusable and notifies the other
// ranks; internal tags are above every tag of the user, and differ between consecutive collectives,
// so that ranks in different collectives never receive each other's messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "exec/transport/mpi_channels.hpp"
#include "exec/transport/mpi_transport.hpp"
#include "exec/transport/waiting.hpp"
#include "mpi/process.hpp"

namespace sluice::exec {

/// A longer message is sent as a head with these first bytes, and a rest. Head and payload together
/// stay below the size up to which MPI sends eagerly (4 KiB within a node).
inline constexpr std::size_t inline_bytes = 4000;

/// Messages in flight and the memory they use.
class Batch {
 public:
  struct Item {
    int peer;
    bool receive;
    int expected;       ///< bytes
    bool exact;         ///< a receive of fewer bytes is an error
    int received = -1;  ///< bytes, once done
  };

  Batch() = default;
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  ~Batch();

  /// A buffer that lives as long as MPI may use it; its address is stable.
  std::vector<std::byte>& buffer(std::size_t bytes) { return adopt(std::vector<std::byte>(bytes)); }
  std::vector<std::byte>& adopt(std::vector<std::byte> bytes) {
    auto held = std::make_shared<std::vector<std::byte>>(std::move(bytes));
    buffers_.push_back(held);
    return *held;
  }
  /// Keeps memory that is shared with another batch.
  void hold(std::shared_ptr<void> memory) { buffers_.push_back(std::move(memory)); }
  bool pending() const noexcept { return !done_; }
  /// Ranks whose message has not been received or has not arrived, each once. Calls MPI.
  std::vector<int> pending_peers();
  /// Clears requests that are done; keeps the buffers.
  void clear();
  /// Abandons pending requests without waiting: receives are cancelled, the buffers are leaked.
  void abandon() noexcept;

  std::vector<mpi::Request> requests;
  std::vector<mpi::Status> statuses;
  std::vector<Item> items;
  std::uint64_t total_bytes = 0;  ///< of all messages together

 private:
  friend class MpiCore;
  std::vector<std::shared_ptr<void>> buffers_;
  bool done_ = true;
};

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
  MpiCore(const MpiCore&) = delete;
  MpiCore& operator=(const MpiCore&) = delete;
  ~MpiCore();

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  mpi::Comm comm() const noexcept { return comm_; }
  const MpiOptions& options() const noexcept { return options_; }
  int max_user_tag() const noexcept { return tag_base_ - 1 - channel_.first_tag; }
  /// The tag that MPI sees for that of a caller.
  int tag_of_user(int tag) const noexcept { return channel_.first_tag + tag; }

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
  bool failed() const noexcept { return failed_; }
  /// fail() unless `result` is mpi::success.
  void check(int result);
  /// "sluice: rank 3: exchange: "
  std::string prefix() const;

 private:
  struct Notice;
  enum class Kind : std::int32_t { ask, here, gone };

  void wait_out(const Waiting& waiting);
  void expire(const Waiting& waiting, double started_s);
  void ask_around(const Place& place);
  void hear(const Notice& notice, int from, const std::function<std::vector<int>()>& peers);
  void throw_if_failed() const;
  void check_batch(int result, const Batch& batch);
  void check_lengths(Batch& batch);
  Place place(const std::function<std::vector<int>()>& peers) const;
  void tell(int to, Kind kind, const Place& place, const std::string& text);
  void tell_of_failure();

  MpiChannel channel_;
  mpi::Comm comm_;
  MpiOptions options_;
  int rank_ = 0;
  int size_ = 1;
  int tag_base_ = 0;
  int notice_tag_ = 0;
  Verb verb_ = Verb::open;
  std::int64_t call_ = 0;
  int user_tag_ = 0;

  bool failed_ = false;
  Code code_ = Code::ok;
  int error_rank_ = -1;
  std::string text_;

  std::map<int, Place> reports_;  // since the last expiry; at most one a rank
  std::set<int> asked_;           // by this rank, since the last expiry
  std::set<int> askers_;          // ranks that asked this one and may still wait
  std::deque<Batch> outbox_;      // notices under way, at most max_outbox
};

}  // namespace sluice::exec
