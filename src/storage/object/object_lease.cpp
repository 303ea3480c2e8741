// The writer lease of a store on an object store: an object beside it, which a conditional put
// makes. Its time is renewed by a thread; it is taken over when its process is known to have ended,
// or when its time was not renewed for stale_after_s, by the clock of the store alone.
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <thread>

#include "sluice/error.hpp"
#include "storage/background_thread.hpp"
#include "storage/lease_record.hpp"
#include "storage/object/object_storage.hpp"
#include "storage/own_process.hpp"

namespace sluice::storage {

namespace {

constexpr auto renew_object_every = std::chrono::seconds(20);
constexpr std::int64_t object_stale_after_s = 180;
constexpr std::size_t most_object_record_bytes = 1024;

std::vector<std::byte> own_record() {
  const std::string text = own_holder(true).record();
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

class ObjectLease final : public Lease {
 public:
  ObjectLease(Bucket& bucket, std::string key, std::string path, std::string etag,
              bool has_conditions)
      : path_(std::move(path)),
        renewal_(new Renewal(bucket, std::move(key), std::move(etag), has_conditions)),
        has_conditions_(has_conditions) {}
  ~ObjectLease() override {
    if (own_.is_here()) renewal_->stop();
  }
  void check() override {
    if (renewal_->is_lost()) {
      throw Error(Code::locked, path_ +
                                    ": another writer has taken over the writer lease, or removed "
                                    "its record: open the file again");
    }
  }
  std::string notice() const override {
    return has_conditions_ ? ""
                           : "this object store has no conditional puts: two programs that write "
                             "one store at a time are not kept apart";
  }

 private:
  class Renewal {
   public:
    Renewal(Bucket& bucket, std::string key, std::string etag, bool has_conditions)
        : bucket_(bucket),
          key_(std::move(key)),
          etag_(std::move(etag)),
          has_conditions_(has_conditions),
          thread_(start_background([this] { run(); })) {}
    void stop() {
      {
        const std::lock_guard lock(mutex_);
        is_over_ = true;
      }
      changed_.notify_all();
      thread_.join();
      try {
        std::string etag;
        // Looked at once more: another writer may have taken it over since the last renewal.
        if (!is_lost_ && is_still_ours(etag)) bucket_.remove(key_);
      } catch (const std::exception&) {
        // it becomes stale
      }
    }
    bool is_lost() {
      const std::lock_guard lock(mutex_);
      return is_lost_;
    }

   private:
    void run() {
      std::unique_lock lock(mutex_);
      while (!changed_.wait_for(lock, renew_object_every, [this] { return is_over_; })) {
        const std::string etag = etag_;
        lock.unlock();
        std::string next;
        bool is_lost = false;
        try {
          const PutCondition same{
              has_conditions_ ? PutCondition::Kind::same : PutCondition::Kind::none, etag};
          next = bucket_.put(key_, own_record(), same);
        } catch (const Error& e) {
          // Its own put may have arrived, and its answer been lost: the record says whose it is.
          // A record that was removed is lost: the next writer makes a new one.
          is_lost =
              (e.code() == Code::locked || e.code() == Code::not_found) && !is_still_ours(next);
        }
        lock.lock();
        is_lost_ = is_lost_ || is_lost;
        etag_ = next.empty() ? etag_ : next;
      }
    }
    bool is_still_ours(std::string& etag) {
      try {
        std::vector<std::byte> text(most_object_record_bytes);
        ObjectFacts facts;
        text.resize(bucket_.get(key_, 0, text, &facts));
        etag = facts.etag;
        return is_own(parse_holder({reinterpret_cast<const char*>(text.data()), text.size()}));
      } catch (const Error&) {
        return false;
      }
    }

    Bucket& bucket_;
    const std::string key_;
    std::string etag_;
    const bool has_conditions_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_over_ = false;
    bool is_lost_ = false;
    std::thread thread_;  // the last: it uses the others
  };

  const std::string path_;
  HomePtr<Renewal> renewal_;
  const bool has_conditions_;
  OwnProcess own_;
};

[[noreturn]] void refuse_holder(const std::string& path, const std::string& url,
                                const LeaseHolder& holder) {
  throw Error(Code::locked, path + ": another process writes it" +
                                (holder.text.empty() ? std::string() : " (" + holder.text + ")") +
                                ": wait for it to end; if it has ended, " + url +
                                " is taken over after " + std::to_string(object_stale_after_s) +
                                " s without a sign of it");
}

/// Puts the record, and returns its etag. Where the answer to a put that arrived is lost, the next
/// try is refused by the record itself: the random number with it tells whose it is.
std::string put_record(Bucket& bucket, const std::string& name, const PutCondition& condition) {
  const std::string number = random_text();
  try {
    return bucket.put(name, own_record(), condition, {0, number});
  } catch (const Error& e) {
    const auto there = e.code() == Code::locked ? bucket.head(name) : std::nullopt;
    if (!there || there->commit != number) {
      throw;
    }
    return there->etag;
  }
}

/// The etag of the record that was put over a stale one.
std::string take_over(Bucket& bucket, const std::string& name, const std::string& path) {
  std::vector<std::byte> text(most_object_record_bytes);
  ObjectFacts facts;
  text.resize(bucket.get(name, 0, text, &facts));
  const LeaseHolder holder =
      parse_holder({reinterpret_cast<const char*>(text.data()), text.size()});
  const auto running = is_running(holder);
  if (running.value_or(facts.age_s < object_stale_after_s)) {
    refuse_holder(path, bucket.url_text(name), holder);
  }
  return put_record(bucket, name, {PutCondition::Kind::same, facts.etag});
}

}  // namespace

std::unique_ptr<Lease> take_object_lease(Bucket& bucket, const std::string& key,
                                         const std::string& path, bool& has_conditions) {
  const std::string name = key + ".sluice-lease";
  const PutCondition absent{PutCondition::Kind::absent, ""};
  std::string etag;
  try {
    etag = put_record(bucket, name, absent);
  } catch (const Error& e) {
    if (e.code() == Code::unsupported) {
      has_conditions = false;
      etag = bucket.put(name, own_record());
    } else if (e.code() == Code::locked) {
      etag = take_over(bucket, name, path);
    } else {
      throw;
    }
  }
  if (has_conditions) {
    try {
      etag = bucket.put(name, own_record(), absent);
      has_conditions = false;  // a store that does not look at the condition
    } catch (const Error& e) {
      if (e.code() != Code::locked) throw;
    }
  }
  return std::make_unique<ObjectLease>(bucket, name, path, etag, has_conditions);
}

}  // namespace sluice::storage
