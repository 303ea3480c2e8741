// The board of messages: a few hundred bytes a writer and commit to rank 0, and back to every rank.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "exec/board.hpp"

namespace sluice::exec {

namespace {

constexpr int arrival_tag = 401;
constexpr int outcome_tag = 402;

class MessageBoard final : public Board {
 public:
  MessageBoard(std::unique_ptr<Transport> transport, const std::vector<int>& writers)
      : own_(std::move(transport)), transport_(*own_), is_root_(transport_.rank() == 0) {
    if (is_root_) {
      for (const int writer : writers) {
        inboxes_.push_back({writer, arrival_tag});
      }
    } else {
      inboxes_.push_back({0, outcome_tag});
    }
  }

  void begin(std::uint64_t number) override {
    const std::lock_guard lock(mutex_);
    begun_ = number;
  }

  void arrive(std::uint64_t number, const std::exception_ptr& failure) override {
    const Mark mark(number, failure, transport_.rank());
    const std::lock_guard lock(mutex_);
    if (is_root_) {
      own_inbox().take(mark);
    } else {
      outbox_.push_back(mark);
    }
    tell();
  }

  std::optional<std::exception_ptr> gathered(std::uint64_t number) override {
    const std::lock_guard lock(mutex_);
    std::exception_ptr first;
    for (const Inbox& inbox : inboxes_) {
      if (inbox.got < number) {
        return std::nullopt;
      }
      if (!first && inbox.failure.number != 0 && inbox.failure.number <= number) {
        first = inbox.failure.failure();
      }
    }
    return first;
  }

  void settle(std::uint64_t number, const std::exception_ptr& failure) override {
    const Mark mark(number, failure, transport_.rank());
    const std::lock_guard lock(mutex_);
    note_outcome(mark);
    outbox_.push_back(mark);
    tell();
  }

  std::uint64_t settled() override {
    const std::lock_guard lock(mutex_);
    return settled_;
  }
  Mark failed() override {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  void forgive() override {
    const std::lock_guard lock(mutex_);
    failure_ = Mark();
    for (Inbox& inbox : inboxes_) {
      inbox.failure = Mark();
    }
  }

  void poll() override {
    std::deque<Mark> leaving;
    std::uint64_t begun = 0;
    {
      const std::lock_guard lock(mutex_);
      leaving.swap(outbox_);
      begun = begun_;
    }
    for (const Mark& mark : leaving) {
      send(mark);
    }
    while (!sends_.empty() && sends_.front().pending->test()) {
      sends_.pop_front();
    }
    for (Inbox& inbox : inboxes_) {
      if (inbox.from != transport_.rank()) {
        receive(inbox, begun);
      }
    }
  }

  bool is_local() const override { return false; }
  bool is_quiet() override {
    const std::lock_guard lock(mutex_);
    return outbox_.empty() && sends_.empty();
  }

  void nudge() override {
    const std::lock_guard lock(mutex_);
    tell();
  }
  std::uint32_t heard() override {
    const std::lock_guard lock(mutex_);
    return heard_;
  }
  void wait(std::uint32_t heard, double limit_s) override {
    std::unique_lock lock(mutex_);
    news_.wait_for(lock, std::chrono::duration<double>(limit_s), [&] { return heard_ != heard; });
  }

  std::vector<int> missing(std::uint64_t number) override {
    const std::lock_guard lock(mutex_);
    std::vector<int> ranks;
    for (const Inbox& inbox : inboxes_) {
      if (inbox.got < number) {
        ranks.push_back(inbox.from);
      }
    }
    return ranks;
  }

 private:
  struct Inbox {
    int from;
    int tag;
    std::uint64_t got = 0;  ///< marks up to this number
    Mark failure = {};      ///< the first
    std::unique_ptr<Mark> into = {};
    std::unique_ptr<Pending> pending = {};

    void take(const Mark& mark) {
      got = mark.number;
      if (mark.failed != 0 && failure.number == 0) {
        failure = mark;
      }
    }
  };
  struct Leaving {
    std::shared_ptr<const Mark> mark;
    std::unique_ptr<Pending> pending;
  };

  /// With the mutex.
  void tell() {
    ++heard_;
    news_.notify_all();
  }

  Inbox& own_inbox() {
    return *std::find_if(inboxes_.begin(), inboxes_.end(),
                         [&](const Inbox& inbox) { return inbox.from == 0; });
  }

  void note_outcome(const Mark& mark) {
    settled_ = mark.number;
    if (mark.failed != 0 && failure_.number == 0) {
      failure_ = mark;
    }
  }

  void send(const Mark& mark) {
    const auto kept = std::make_shared<const Mark>(mark);
    const auto bytes = std::as_bytes(std::span(kept.get(), 1));
    if (!is_root_) {
      sends_.push_back({kept, transport_.start_send(0, arrival_tag, bytes)});
      return;
    }
    for (int to = 1; to < transport_.size(); ++to) {
      sends_.push_back({kept, transport_.start_send(to, outcome_tag, bytes)});
    }
  }

  void receive(Inbox& inbox, std::uint64_t begun) {
    while (inbox.got < begun) {
      if (!inbox.pending) {
        inbox.into = std::make_unique<Mark>();
        inbox.pending = transport_.start_receive(
            inbox.from, inbox.tag, std::as_writable_bytes(std::span(inbox.into.get(), 1)));
      }
      if (!inbox.pending->test()) {
        return;
      }
      inbox.pending.reset();
      const std::lock_guard lock(mutex_);
      inbox.take(*inbox.into);
      if (!is_root_) {
        note_outcome(*inbox.into);
      }
      tell();
    }
  }

  const std::unique_ptr<Transport> own_;  ///< so that no message meets another file's
  Transport& transport_;
  const bool is_root_;
  std::deque<Leaving> sends_;  ///< the rank's own thread only
  std::mutex mutex_;
  std::condition_variable news_;
  std::vector<Inbox> inboxes_;  ///< got and failure under the mutex
  std::deque<Mark> outbox_;
  std::uint32_t heard_ = 0;
  std::uint64_t begun_ = 0;
  std::uint64_t settled_ = 0;
  Mark failure_;
};

}  // namespace

std::unique_ptr<Board> make_message_board(Transport& transport, const std::vector<int>& writers) {
  return std::make_unique<MessageBoard>(transport.split(0), writers);
}

}  // namespace sluice::exec
