// The board in memory of the node: every call is a few loads and stores, so commits are settled
// while all ranks compute.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "exec/notify/bell.hpp"
#include "exec/notify/board.hpp"
#include "exec/notify/letter_stream.hpp"
#include "exec/notify/node_memory.hpp"

namespace sluice::exec {

namespace {

/// Who waits for a pipe looks again so often, whatever it hears.
constexpr double look_again_s = 1;

/// Written once by one rank, then announced by `number`.
struct Slot {
  std::atomic<std::uint64_t> failed_number;  ///< 0: none
  Mark mark;
};

struct alignas(64) WriterState {
  std::atomic<std::uint64_t> arrived;
  Slot failure;
  LetterPipe to_root;
  LetterPipe from_root;
};

struct alignas(64) Head {
  Bell news;
  std::atomic<std::uint64_t> settled;
  Slot failure;
};

class NodeBoard final : public Board {
 public:
  NodeBoard(std::unique_ptr<storage::SharedMemory> memory, int rank, std::vector<int> writers)
      : memory_(std::move(memory)), rank_(rank), writers_(std::move(writers)) {
    // Zeroed memory is a board on which nothing has happened.
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
    head_->news.ring();
  }

  std::optional<std::exception_ptr> gathered(std::uint64_t number) override {
    std::exception_ptr first;
    for (std::size_t w = 0; w < writers_.size(); ++w) {
      if (states_[w].arrived.load(std::memory_order_acquire) < number) {
        return std::nullopt;
      }
      const std::uint64_t failed = states_[w].failure.failed_number.load(std::memory_order_acquire);
      if (!first && failed != 0 && failed <= number) {
        first = states_[w].failure.mark.failure();
      }
    }
    return first;
  }

  void settle(std::uint64_t number, const std::exception_ptr& failure) override {
    note(head_->failure, number, failure);
    head_->settled.store(number, std::memory_order_release);
    head_->news.ring();
  }

  std::uint64_t settled() override { return head_->settled.load(std::memory_order_acquire); }

  Mark failed() override {
    return head_->failure.failed_number.load(std::memory_order_acquire) == 0 ? Mark()
                                                                             : head_->failure.mark;
  }

  void forgive() override {
    if (own_ != nullptr) {
      own_->failure.failed_number.store(0, std::memory_order_release);
    }
    if (rank_ == 0) {
      head_->failure.failed_number.store(0, std::memory_order_release);
    }
  }

  void expect_letters(std::uint64_t) override {}
  void write_root(std::span<const std::byte> letter) override { write(own_->to_root, letter); }
  void write_writer(std::size_t writer, std::span<const std::byte> letter) override {
    write(states_[writer].from_root, letter);
  }
  bool has_from_root() override {
    take(own_->from_root, from_root_);
    return from_root_.has_letter();
  }
  std::optional<std::vector<std::byte>> from_root() override {
    take(own_->from_root, from_root_);
    return from_root_.next();
  }
  std::optional<std::vector<std::byte>> from_writer(std::size_t writer) override {
    take(states_[writer].to_root, from_writers_[writer]);
    return from_writers_[writer].next();
  }
  std::size_t writers() const override { return writers_.size(); }

  void poll() override {}
  bool has_sent_letters() override { return true; }
  bool is_local() const override { return true; }
  bool is_quiet() override { return true; }
  void nudge() override { head_->news.ring(); }
  std::uint32_t heard() override { return head_->news.heard(); }
  void wait(std::uint32_t heard, double limit_s) override { head_->news.wait(heard, limit_s); }

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
  void write(LetterPipe& pipe, std::span<const std::byte> letter) {
    const std::vector<std::byte> all = sealed(letter);
    for (std::span<const std::byte> left = all; !left.empty();) {
      const std::uint32_t heard = head_->news.heard();
      const std::size_t gone = pipe.put(left);
      left = left.subspan(gone);
      if (gone != 0) {
        head_->news.ring();
      } else if (is_stopped()) {
        throw Error(Code::timeout, "nobody took the sizes or places of encoded tiles", rank_);
      } else {
        head_->news.wait(heard, look_again_s);
      }
    }
  }

  void take(LetterPipe& pipe, LetterReader& reader) {
    if (pipe.take(reader.came()) == LetterPipe::stream_bytes) {
      head_->news.ring();  // there may be more, for which there was no room
    }
  }

  void note(Slot& slot, std::uint64_t number, const std::exception_ptr& failure) const {
    if (failure && slot.failed_number.load(std::memory_order_acquire) == 0) {
      slot.mark = Mark(number, failure, rank_);
      slot.failed_number.store(number, std::memory_order_release);
    }
  }

  const std::unique_ptr<storage::SharedMemory> memory_;
  const int rank_;
  const std::vector<int> writers_;
  Head* head_ = nullptr;
  WriterState* states_ = nullptr;
  WriterState* own_ = nullptr;
  LetterReader from_root_;
  std::vector<LetterReader> from_writers_;  ///< on rank 0
};

}  // namespace

std::unique_ptr<Board> make_node_board(Transport& transport, const std::vector<int>& writers) {
  const std::uint64_t bytes = NodeBoard::bytes(writers.size());
  auto memory = share_on_node(transport, bytes, bytes);
  if (!memory) {
    return nullptr;
  }
  return std::make_unique<NodeBoard>(std::move(memory), transport.rank(), writers);
}

}  // namespace sluice::exec
