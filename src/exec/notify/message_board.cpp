// The board of messages: a few hundred bytes a writer and commit to rank 0, and back to every rank.
// Rank 0 itself holds a commit for settled only when it has sent the news: it may then go and wait
// for the others elsewhere, and they need no further call of it.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "exec/notify/board.hpp"
#include "exec/transport/tags.hpp"

namespace sluice::exec {

namespace {

class MessageBoard final : public Board {
 public:
  MessageBoard(std::unique_ptr<Transport> transport, const std::vector<int>& writers)
      : own_(std::move(transport)), transport_(*own_), is_root_(transport_.rank() == 0) {
    if (is_root_) {
      for (const int writer : writers) {
        inboxes_.push_back({writer, arrival_tag});
        letters_.push_back({writer});
      }
    } else {
      inboxes_.push_back({0, outcome_tag});
      letters_.push_back({0});
    }
    is_writer_ = std::find(writers.begin(), writers.end(), transport_.rank()) != writers.end();
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
    note_failure(mark);
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

  void expect_letters(std::uint64_t letters) override {
    const std::lock_guard lock(mutex_);
    for (Letters& inbox : letters_) {
      inbox.expected += is_root_ || is_writer_ ? letters : 0;
    }
  }
  void write_root(std::span<const std::byte> letter) override {
    if (is_root_) {
      bring(own_letters().came, letter);
    } else {
      post(0, letter);
    }
  }
  void write_writer(std::size_t writer, std::span<const std::byte> letter) override {
    if (letters_[writer].from == transport_.rank()) {
      bring(to_self_, letter);
    } else {
      post(letters_[writer].from, letter);
    }
  }
  bool has_from_root() override {
    const std::lock_guard lock(mutex_);
    return !mine().empty();
  }
  std::optional<std::vector<std::byte>> from_root() override {
    const std::lock_guard lock(mutex_);
    return next_of(mine());
  }
  std::optional<std::vector<std::byte>> from_writer(std::size_t writer) override {
    const std::lock_guard lock(mutex_);
    return next_of(letters_[writer].came);
  }
  std::size_t writers() const override { return letters_.size(); }

  void poll() override {
    std::deque<Mark> leaving;
    std::deque<Post> posts;
    std::uint64_t begun = 0;
    {
      const std::lock_guard lock(mutex_);
      leaving.swap(outbox_);
      posts.swap(posts_);
      begun = begun_;
    }
    for (const Post& letter : posts) {
      send(letter);
    }
    for (const Mark& mark : leaving) {
      send(mark);
      if (is_root_) {
        const std::lock_guard lock(mutex_);
        settled_ = mark.number;
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
    for (Letters& inbox : letters_) {
      if (inbox.from != transport_.rank()) {
        receive(inbox);
      }
    }
  }

  bool has_sent_letters() override {
    const std::lock_guard lock(mutex_);
    return posts_.empty();
  }
  bool is_local() const override { return false; }
  bool is_quiet() override {
    const std::lock_guard lock(mutex_);
    return outbox_.empty() && posts_.empty() && sends_.empty();
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
  using Bytes = std::vector<std::byte>;
  struct Leaving {
    std::shared_ptr<const void> kept;
    std::unique_ptr<Pending> pending;
  };
  struct Post {
    int to = 0;
    std::shared_ptr<const Bytes> letter;
  };
  /// Letters of one rank: their lengths come in front.
  struct Letters {
    int from = 0;
    std::uint64_t expected = 0;  ///< under the mutex, as `came`
    std::deque<Bytes> came = {};
    std::uint64_t got = 0;
    std::unique_ptr<std::uint64_t> length = {};
    std::unique_ptr<Bytes> letter = {};
    std::unique_ptr<Pending> pending = {};
  };

  void post(int to, std::span<const std::byte> letter) {
    auto kept = std::make_shared<const Bytes>(letter.begin(), letter.end());
    const std::lock_guard lock(mutex_);
    posts_.push_back({to, std::move(kept)});
    tell();
  }
  void bring(std::deque<Bytes>& into, std::span<const std::byte> letter) {
    const std::lock_guard lock(mutex_);
    into.emplace_back(letter.begin(), letter.end());
    tell();
  }
  /// With the mutex: what rank 0 wrote to this rank.
  std::deque<Bytes>& mine() { return is_root_ ? to_self_ : letters_.front().came; }
  Letters& own_letters() {
    return *std::find_if(letters_.begin(), letters_.end(),
                         [](const Letters& inbox) { return inbox.from == 0; });
  }
  static std::optional<Bytes> next_of(std::deque<Bytes>& came) {
    if (came.empty()) {
      return std::nullopt;
    }
    Bytes letter = std::move(came.front());
    came.pop_front();
    return letter;
  }

  /// With the mutex.
  void tell() {
    ++heard_;
    news_.notify_all();
  }

  Inbox& own_inbox() {
    return *std::find_if(inboxes_.begin(), inboxes_.end(),
                         [&](const Inbox& inbox) { return inbox.from == 0; });
  }

  void note_failure(const Mark& mark) {
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

  void send(const Post& post) {
    const auto length = std::make_shared<const std::uint64_t>(post.letter->size());
    sends_.push_back({length, transport_.start_send(post.to, place_length_tag,
                                                    std::as_bytes(std::span(length.get(), 1)))});
    sends_.push_back({post.letter, transport_.start_send(post.to, place_letter_tag, *post.letter)});
  }

  void receive(Letters& inbox) {
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
      if (!inbox.letter) {
        inbox.letter = std::make_unique<Bytes>(*inbox.length);
        inbox.pending = transport_.start_receive(inbox.from, place_letter_tag, *inbox.letter);
        continue;
      }
      inbox.pending.reset();
      inbox.length.reset();
      ++inbox.got;
      bring(inbox.came, *std::exchange(inbox.letter, nullptr));
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
        settled_ = inbox.into->number;
        note_failure(*inbox.into);
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
  std::vector<Inbox> inboxes_;    ///< got and failure under the mutex
  std::vector<Letters> letters_;  ///< on rank 0 one a writer, else what rank 0 writes
  bool is_writer_ = false;
  std::deque<Mark> outbox_;
  std::deque<Post> posts_;
  std::deque<Bytes> to_self_;
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
