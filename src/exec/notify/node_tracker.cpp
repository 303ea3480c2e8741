// The tracker in shared memory of the node: every call is a few loads and stores, so commits are
// settled while all ranks compute.
#include <algorithm>
#include <atomic>
#include <new>

#include "exec/notify/completion_tracker.hpp"
#include "exec/notify/event_count.hpp"
#include "exec/notify/message_stream.hpp"
#include "exec/notify/node_memory.hpp"

namespace sluice::exec {

namespace {

/// A thread that waits for a pipe checks it this often, even without notifications.
constexpr double look_again_s = 1;

/// Written once by one rank, then announced by `number`.
struct Slot {
  std::atomic<std::uint64_t> failed_number;  ///< 0: none
  Outcome outcome;
};

struct alignas(64) WriterState {
  std::atomic<std::uint64_t> arrived;
  Slot failure;
  SpscPipe to_root;
  SpscPipe receive_from_root;
};

struct alignas(64) Head {
  EventCount news;
  std::atomic<std::uint64_t> settled;
  Slot failure;
};

class NodeTracker final : public CompletionTracker {
 public:
  NodeTracker(std::unique_ptr<storage::SharedMemory> memory, int rank, std::vector<int> writers)
      : memory_(std::move(memory)), rank_(rank), writers_(std::move(writers)) {
    // Zeroed memory is a valid initial state of a tracker.
    head_ = std::launder(reinterpret_cast<Head*>(memory_->data()));
    states_ = std::launder(reinterpret_cast<WriterState*>(memory_->data() + sizeof(Head)));
    const auto own = std::find(writers_.begin(), writers_.end(), rank_);
    own_ = own == writers_.end() ? nullptr : states_ + (own - writers_.begin());
    from_writers_.resize(writers_.size());
  }

  static std::uint64_t bytes(std::size_t writers) {
    return sizeof(Head) + writers * sizeof(WriterState);
  }

  void begin(std::uint64_t) override {}

  void arrive(std::uint64_t number, const std::exception_ptr& failure) override {
    note(own_->failure, number, failure);
    own_->arrived.store(number, std::memory_order_release);
    head_->news.notify();
  }

  std::optional<std::exception_ptr> gathered(std::uint64_t number) override {
    std::exception_ptr first;
    for (std::size_t w = 0; w < writers_.size(); ++w) {
      if (states_[w].arrived.load(std::memory_order_acquire) < number) {
        return std::nullopt;
      }
      const std::uint64_t failed = states_[w].failure.failed_number.load(std::memory_order_acquire);
      if (!first && failed != 0 && failed <= number) {
        first = states_[w].failure.outcome.failure();
      }
    }
    return first;
  }

  void settle(std::uint64_t number, const std::exception_ptr& failure) override {
    note(head_->failure, number, failure);
    head_->settled.store(number, std::memory_order_release);
    head_->news.notify();
  }

  std::uint64_t settled() override { return head_->settled.load(std::memory_order_acquire); }

  Outcome failed() override {
    return head_->failure.failed_number.load(std::memory_order_acquire) == 0
               ? Outcome()
               : head_->failure.outcome;
  }

  void clear_failure() override {
    if (own_ != nullptr) {
      own_->failure.failed_number.store(0, std::memory_order_release);
    }
    if (rank_ == 0) {
      head_->failure.failed_number.store(0, std::memory_order_release);
    }
  }

  void expect_messages(std::uint64_t) override {}
  void send_to_root(std::span<const std::byte> message) override { write(own_->to_root, message); }
  void send_to_writer(std::size_t writer, std::span<const std::byte> message) override {
    write(states_[writer].receive_from_root, message);
  }
  bool has_message_from_root() override {
    take(own_->receive_from_root, from_root_);
    return from_root_.has_message();
  }
  std::optional<std::vector<std::byte>> receive_from_root() override {
    take(own_->receive_from_root, from_root_);
    return from_root_.next();
  }
  std::optional<std::vector<std::byte>> receive_from_writer(std::size_t writer) override {
    take(states_[writer].to_root, from_writers_[writer]);
    return from_writers_[writer].next();
  }
  std::size_t writers() const override { return writers_.size(); }

  void poll() override {}
  bool has_sent_messages() override { return true; }
  bool is_local() const override { return true; }
  bool is_idle() override { return true; }
  void notify() override { head_->news.notify(); }
  std::uint32_t epoch() override { return head_->news.epoch(); }
  void wait(std::uint32_t epoch, double limit_s) override { head_->news.wait(epoch, limit_s); }

  std::vector<int> missing(std::uint64_t number) override {
    std::vector<int> ranks;
    for (std::size_t w = 0; w < writers_.size(); ++w) {
      if (states_[w].arrived.load(std::memory_order_acquire) < number) {
        ranks.push_back(writers_[w]);
      }
    }
    return ranks;
  }

 private:
  void write(SpscPipe& pipe, std::span<const std::byte> message) {
    const std::vector<std::byte> all = framed(message);
    for (std::span<const std::byte> left = all; !left.empty();) {
      const std::uint32_t epoch = head_->news.epoch();
      const std::size_t gone = pipe.put(left);
      left = left.subspan(gone);
      if (gone != 0) {
        head_->news.notify();
      } else if (is_stopped()) {
        throw Error(Code::timeout, "no rank received the sizes or places of encoded tiles", rank_);
      } else {
        head_->news.wait(epoch, look_again_s);
      }
    }
  }

  void take(SpscPipe& pipe, MessageReader& reader) {
    if (pipe.take(reader.came()) == SpscPipe::stream_bytes) {
      head_->news.notify();  // there may be more, for which there was no space
    }
  }

  void note(Slot& slot, std::uint64_t number, const std::exception_ptr& failure) const {
    if (failure && slot.failed_number.load(std::memory_order_acquire) == 0) {
      slot.outcome = Outcome(number, failure, rank_);
      slot.failed_number.store(number, std::memory_order_release);
    }
  }

  const std::unique_ptr<storage::SharedMemory> memory_;
  const int rank_;
  const std::vector<int> writers_;
  Head* head_ = nullptr;
  WriterState* states_ = nullptr;
  WriterState* own_ = nullptr;
  MessageReader from_root_;
  std::vector<MessageReader> from_writers_;  ///< on rank 0
};

}  // namespace

std::unique_ptr<CompletionTracker> make_node_tracker(Transport& transport,
                                                     const std::vector<int>& writers) {
  const std::uint64_t bytes = NodeTracker::bytes(writers.size());
  auto memory = share_on_node(transport, bytes, bytes);
  if (!memory) {
    return nullptr;
  }
  return std::make_unique<NodeTracker>(std::move(memory), transport.rank(), writers);
}

}  // namespace sluice::exec
