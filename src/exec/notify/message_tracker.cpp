// The tracker by messages: a few hundred bytes for each writer and commit to rank 0, and back to
// every rank, with many ranks by writers that pass it on (outcome_relays.hpp). Who sends the news
// considers a commit settled only when it has sent them: it may then wait for the others elsewhere,
// and they need no further call of it.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "exec/notify/completion_tracker.hpp"
#include "exec/notify/outcome_relays.hpp"
#include "exec/transport/tags.hpp"

namespace sluice::exec {

namespace {

/// Size: It implements all functions of CompletionTracker, and has a handler for each kind of
/// message.
class MessageTracker final : public CompletionTracker {
 public:
  MessageTracker(std::unique_ptr<Transport> transport, const std::vector<int>& writers)
      : own_(std::move(transport)), transport_(*own_), is_root_(transport_.rank() == 0) {
    const OutcomeRelays relays(transport_.size(), writers);
    told_ = relays.told_by(transport_.rank());
    if (is_root_) {
      for (const int writer : writers) {
        inboxes_.push_back({writer, arrival_tag});
        messages_.push_back({writer});
      }
    } else {
      inboxes_.push_back({relays.source_of(transport_.rank()), outcome_tag});
      messages_.push_back({0});
    }
    is_writer_ = std::find(writers.begin(), writers.end(), transport_.rank()) != writers.end();
  }

  void begin(std::uint64_t number) override {
    const std::lock_guard lock(mutex_);
    begun_ = number;
  }

  void arrive(std::uint64_t number, const std::exception_ptr& failure) override {
    const Outcome outcome(number, failure, transport_.rank());
    const std::lock_guard lock(mutex_);
    if (is_root_) {
      own_inbox().take(outcome);
    } else {
      outbox_.push_back(outcome);
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
    const Outcome outcome(number, failure, transport_.rank());
    const std::lock_guard lock(mutex_);
    note_failure(outcome);
    outbox_.push_back(outcome);
    tell();
  }

  std::uint64_t settled() override {
    const std::lock_guard lock(mutex_);
    return settled_;
  }
  Outcome failed() override {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  void clear_failure() override {
    const std::lock_guard lock(mutex_);
    failure_ = Outcome();
    for (Inbox& inbox : inboxes_) {
      inbox.failure = Outcome();
    }
  }

  void expect_messages(std::uint64_t messages) override {
    const std::lock_guard lock(mutex_);
    for (Messages& inbox : messages_) {
      inbox.expected += is_root_ || is_writer_ ? messages : 0;
    }
  }
  void send_to_root(std::span<const std::byte> message) override {
    if (is_root_) {
      bring(own_messages().came, message);
    } else {
      post(0, message);
    }
  }
  void send_to_writer(std::size_t writer, std::span<const std::byte> message) override {
    if (messages_[writer].from == transport_.rank()) {
      bring(to_self_, message);
    } else {
      post(messages_[writer].from, message);
    }
  }
  bool has_message_from_root() override {
    const std::lock_guard lock(mutex_);
    return !mine().empty();
  }
  std::optional<std::vector<std::byte>> receive_from_root() override {
    const std::lock_guard lock(mutex_);
    return next_of(mine());
  }
  std::optional<std::vector<std::byte>> receive_from_writer(std::size_t writer) override {
    const std::lock_guard lock(mutex_);
    return next_of(messages_[writer].came);
  }
  std::size_t writers() const override { return messages_.size(); }

  void poll() override {
    std::deque<Outcome> leaving;
    std::deque<Post> posts;
    std::uint64_t begun = 0;
    {
      const std::lock_guard lock(mutex_);
      leaving.swap(outbox_);
      posts.swap(posts_);
      begun = begun_;
    }
    for (const Post& message : posts) {
      send(message);
    }
    for (const Outcome& outcome : leaving) {
      send(outcome);
      if (is_root_) {
        const std::lock_guard lock(mutex_);
        settled_ = outcome.number;
      }
    }
    while (!sends_.empty() && sends_.front().pending->test()) {
      sends_.pop_front();
    }
    for (Inbox& inbox : inboxes_) {
      if (inbox.from != transport_.rank()) {
        receive(inbox, begun);
      }
    }
    for (Messages& inbox : messages_) {
      if (inbox.from != transport_.rank()) {
        receive(inbox);
      }
    }
  }

  bool has_sent_messages() override {
    const std::lock_guard lock(mutex_);
    return posts_.empty();
  }
  bool is_local() const override { return false; }
  bool is_idle() override {
    const std::lock_guard lock(mutex_);
    return outbox_.empty() && posts_.empty() && sends_.empty();
  }

  void notify() override {
    const std::lock_guard lock(mutex_);
    tell();
  }
  std::uint32_t epoch() override {
    const std::lock_guard lock(mutex_);
    return epoch_;
  }
  void wait(std::uint32_t epoch, double limit_s) override {
    std::unique_lock lock(mutex_);
    news_.wait_for(lock, std::chrono::duration<double>(limit_s), [&] { return epoch_ != epoch; });
  }

  std::vector<int> missing(std::uint64_t number) override {
    const std::lock_guard lock(mutex_);
    std::vector<int> ranks;
    for (const Inbox& inbox : inboxes_) {
      if (is_root_ && inbox.got < number) {  // elsewhere it is of who passes the outcome on
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
    Outcome failure = {};   ///< the first
    std::unique_ptr<Outcome> into = {};
    std::unique_ptr<Pending> pending = {};

    void take(const Outcome& outcome) {
      got = outcome.number;
      if (outcome.failed != 0 && failure.number == 0) {
        failure = outcome;
      }
    }
  };
  using Bytes = std::vector<std::byte>;
  struct Leaving {
    std::shared_ptr<const void> kept;
    std::unique_ptr<Pending> pending;
  };
  struct Post {
    int to = 0;
    std::shared_ptr<const Bytes> message;
  };
  /// The messages of one rank, each prefixed by its length.
  struct Messages {
    int from = 0;
    std::uint64_t expected = 0;  ///< under the mutex, as `came`
    std::deque<Bytes> came = {};
    std::uint64_t got = 0;
    std::unique_ptr<std::uint64_t> length = {};
    std::unique_ptr<Bytes> message = {};
    std::unique_ptr<Pending> pending = {};
  };

  void post(int to, std::span<const std::byte> message) {
    auto kept = std::make_shared<const Bytes>(message.begin(), message.end());
    const std::lock_guard lock(mutex_);
    posts_.push_back({to, std::move(kept)});
    tell();
  }
  void bring(std::deque<Bytes>& into, std::span<const std::byte> message) {
    const std::lock_guard lock(mutex_);
    into.emplace_back(message.begin(), message.end());
    tell();
  }
  /// With the mutex held: what rank 0 wrote to this rank.
  std::deque<Bytes>& mine() { return is_root_ ? to_self_ : messages_.front().came; }
  Messages& own_messages() {
    return *std::find_if(messages_.begin(), messages_.end(),
                         [](const Messages& inbox) { return inbox.from == 0; });
  }
  static std::optional<Bytes> next_of(std::deque<Bytes>& came) {
    if (came.empty()) {
      return std::nullopt;
    }
    Bytes message = std::move(came.front());
    came.pop_front();
    return message;
  }

  /// With the mutex held.
  void tell() {
    ++epoch_;
    news_.notify_all();
  }

  Inbox& own_inbox() {
    return *std::find_if(inboxes_.begin(), inboxes_.end(),
                         [&](const Inbox& inbox) { return inbox.from == 0; });
  }

  void note_failure(const Outcome& outcome) {
    if (outcome.failed != 0 && failure_.number == 0) {
      failure_ = outcome;
    }
  }

  void send(const Outcome& outcome) {
    const auto kept = std::make_shared<const Outcome>(outcome);
    if (!is_root_) {
      const auto bytes = std::as_bytes(std::span(kept.get(), 1));
      sends_.push_back({kept, transport_.start_send(0, arrival_tag, bytes)});
      return;
    }
    tell_others(kept);
  }

  void tell_others(const std::shared_ptr<const Outcome>& outcome) {
    const auto bytes = std::as_bytes(std::span(outcome.get(), 1));
    for (const int to : told_) {
      sends_.push_back({outcome, transport_.start_send(to, outcome_tag, bytes)});
    }
  }

  void send(const Post& post) {
    const auto length = std::make_shared<const std::uint64_t>(post.message->size());
    sends_.push_back({length, transport_.start_send(post.to, place_length_tag,
                                                    std::as_bytes(std::span(length.get(), 1)))});
    sends_.push_back(
        {post.message, transport_.start_send(post.to, place_message_tag, *post.message)});
  }

  void receive(Messages& inbox) {
    while (true) {
      if (!inbox.length) {
        {
          const std::lock_guard lock(mutex_);
          if (inbox.got == inbox.expected) {
            return;
          }
        }
        inbox.length = std::make_unique<std::uint64_t>(0);
        inbox.pending = transport_.start_receive(
            inbox.from, place_length_tag, std::as_writable_bytes(std::span(inbox.length.get(), 1)));
      }
      if (!inbox.pending->test()) {
        return;
      }
      if (!inbox.message) {
        inbox.message = std::make_unique<Bytes>(*inbox.length);
        inbox.pending = transport_.start_receive(inbox.from, place_message_tag, *inbox.message);
        continue;
      }
      inbox.pending.reset();
      inbox.length.reset();
      ++inbox.got;
      bring(inbox.came, *std::exchange(inbox.message, nullptr));
    }
  }

  void receive(Inbox& inbox, std::uint64_t begun) {
    while (inbox.got < begun) {
      if (!inbox.pending) {
        inbox.into = std::make_unique<Outcome>();
        inbox.pending = transport_.start_receive(
            inbox.from, inbox.tag, std::as_writable_bytes(std::span(inbox.into.get(), 1)));
      }
      if (!inbox.pending->test()) {
        return;
      }
      inbox.pending.reset();
      if (!is_root_) {
        tell_others(std::make_shared<const Outcome>(*inbox.into));
      }
      const std::lock_guard lock(mutex_);
      inbox.take(*inbox.into);
      if (!is_root_) {
        settled_ = inbox.into->number;
        note_failure(*inbox.into);
      }
      tell();
    }
  }

  const std::unique_ptr<Transport> own_;  ///< so that messages of different files are not mixed up
  Transport& transport_;
  const bool is_root_;
  std::vector<int> told_;      ///< the ranks that learn an outcome from this one
  std::deque<Leaving> sends_;  ///< used by the rank's own thread only
  std::mutex mutex_;
  std::condition_variable news_;
  std::vector<Inbox> inboxes_;      ///< got and failure: under the mutex
  std::vector<Messages> messages_;  ///< on rank 0 one for each writer; elsewhere the stream of rank
                                    ///< 0
  bool is_writer_ = false;
  std::deque<Outcome> outbox_;
  std::deque<Post> posts_;
  std::deque<Bytes> to_self_;
  std::uint32_t epoch_ = 0;
  std::uint64_t begun_ = 0;
  std::uint64_t settled_ = 0;
  Outcome failure_;
};

}  // namespace

std::unique_ptr<CompletionTracker> make_message_tracker(Transport& transport,
                                                        const std::vector<int>& writers) {
  return std::make_unique<MessageTracker>(transport.twin(), writers);
}

}  // namespace sluice::exec
