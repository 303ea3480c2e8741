// The writer lease of a store on an object store: an object beside it, which a conditional put
// makes. Its time is renewed by a thread; it is taken over when its process is known to have ended,
// or when its time was not renewed for stale_after_s, by the clock of the store alone. By a clock
// of its own (LeaseClock) its holder knows when that may have happened.
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <memory>
#include <thread>

#include "sluice/error.hpp"
#include "storage/background_thread.hpp"
#include "storage/endings.hpp"
#include "storage/lease_record.hpp"
#include "storage/object/object_storage.hpp"
#include "storage/own_process.hpp"

namespace sluice::storage {

namespace {

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
              bool has_conditions, const LeaseTimes& times, std::shared_ptr<LeaseClock> clock)
      : path_(std::move(path)),
        renewal_(new Renewal(bucket, std::move(key), std::move(etag), has_conditions, times,
                             std::move(clock))),
        has_conditions_(has_conditions) {}
  ~ObjectLease() override {
    if (own_.is_here()) renewal_->stop();
  }
  /// Waits where it is unknown whether another writer has taken it over, as requests do.
  void check() override {
    const bool is_held = !own_.is_here() || renewal_->wait_until_held();
    if (renewal_->is_lost()) {
      throw lost_lease_error(path_);
    }
    if (!is_held) {
      throw Error(Code::io, path_ +
                                ": the writer lease could not be renewed, so another writer may "
                                "have taken it over: check the endpoint (AWS_ENDPOINT_URL), the "
                                "network and the store, and repeat the step");
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
    Renewal(Bucket& bucket, std::string key, std::string etag, bool has_conditions,
            const LeaseTimes& times, std::shared_ptr<LeaseClock> clock)
        : times_(times),
          clock_(std::move(clock)),
          bucket_(bucket),
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
        if (!clock_->is_lost() && is_there(etag)) bucket_.remove(key_);
      } catch (const std::exception&) {
        // it becomes stale
      }
    }
    bool is_lost() const { return clock_->is_lost(); }
    /// False where the store did not answer for as long as a request is tried.
    bool wait_until_held() {
      std::unique_lock lock(mutex_);
      const auto is_known = [this] { return clock_->is_lost() || clock_->left_s() > 0; };
      is_wanted_ = !is_known();
      if (is_wanted_) changed_.notify_all();
      const bool is_held = changed_.wait_for(lock, seconds(bucket_.timeout_s()), is_known);
      is_wanted_ = false;
      return is_held;
    }

   private:
    using seconds = std::chrono::duration<double>;

    /// A renewal that took long, or failed, is soon followed by the next one.
    seconds pause() const {
      constexpr double of_a_late_one = 0.05;
      const bool is_late = clock_->left_s() < times_.stale_after_s - times_.renew_every_s;
      return seconds(is_late ? times_.renew_every_s * of_a_late_one : times_.renew_every_s);
    }
    void run() {
      std::unique_lock lock(mutex_);
      while (true) {
        changed_.wait_for(lock, pause(), [this] { return is_over_ || is_wanted_; });
        if (is_over_) return;
        const std::string etag = etag_;
        lock.unlock();
        const double sent_s = LeaseClock::now_s();
        std::string next;
        bool is_lost = false;
        bool is_renewed = false;
        try {
          const PutCondition same{
              has_conditions_ ? PutCondition::Kind::same : PutCondition::Kind::none, etag};
          next = bucket_.put(key_, own_record(), same);
          is_renewed = true;
        } catch (const Error& e) {
          // Its own put may have arrived, and its answer been lost: the record says whose it is,
          // but not since when. A record that was removed is lost: the next writer makes a new one.
          is_lost =
              (e.code() == Code::locked || e.code() == Code::not_found) && is_of_another(next);
        }
        lock.lock();
        if (is_lost) clock_->lose();
        if (is_renewed) clock_->renew(sent_s);
        is_wanted_ = false;
        etag_ = next.empty() ? etag_ : next;
        changed_.notify_all();
        if (clock_->is_lost()) return;
      }
    }
    /// Is the record that is there this one? `etag`: its. What cannot be read is an Error.
    bool is_there(std::string& etag) const {
      try {
        std::vector<std::byte> text(most_object_record_bytes);
        ObjectFacts facts;
        text.resize(bucket_.get(key_, 0, text, &facts));
        etag = facts.etag;
        return is_own(parse_holder({reinterpret_cast<const char*>(text.data()), text.size()}));
      } catch (const Error& e) {
        if (e.code() != Code::not_found) throw;
        return false;
      }
    }
    /// One that cannot be read may be this writer's: the next renewal asks again.
    bool is_of_another(std::string& etag) const {
      try {
        return !is_there(etag);
      } catch (const Error&) {
        return false;
      }
    }

    const LeaseTimes times_;
    const std::shared_ptr<LeaseClock> clock_;
    Bucket& bucket_;
    const std::string key_;
    std::string etag_;
    const bool has_conditions_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_over_ = false;
    bool is_wanted_ = false;  ///< at once
    std::thread thread_;      // the last: it uses the others
  };

  const std::string path_;
  HomePtr<Renewal> renewal_;
  const bool has_conditions_;
  OwnProcess own_;
};

[[noreturn]] void refuse_holder(const std::string& path, const std::string& url,
                                const LeaseHolder& holder, const LeaseTimes& times) {
  throw Error(Code::locked,
              path + ": another process writes it" +
                  (holder.text.empty() ? std::string() : " (" + holder.text + ")") +
                  ": wait for it to end; if it has ended, " + url + " is taken over after " +
                  std::to_string(std::lround(times.stale_after_s)) + " s without a sign of it");
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
std::string take_over(Bucket& bucket, const std::string& name, const std::string& path,
                      const LeaseTimes& times) {
  std::vector<std::byte> text(most_object_record_bytes);
  ObjectFacts facts;
  text.resize(bucket.get(name, 0, text, &facts));
  const LeaseHolder holder =
      parse_holder({reinterpret_cast<const char*>(text.data()), text.size()});
  const auto running = is_running(holder);
  if (running.value_or(static_cast<double>(facts.age_s) < times.stale_after_s)) {
    refuse_holder(path, bucket.url_text(name), holder, times);
  }
  return put_record(bucket, name, {PutCondition::Kind::same, facts.etag});
}

}  // namespace

std::unique_ptr<Lease> take_object_lease(Bucket& bucket, const std::string& key,
                                         const std::string& path, bool& has_conditions,
                                         const LeaseTimes& times) {
  const std::string name = lease_path(key);
  const auto clock = std::make_shared<LeaseClock>(times.stale_after_s);
  const PutCondition absent{PutCondition::Kind::absent, ""};
  std::string etag;
  try {
    etag = put_record(bucket, name, absent);
  } catch (const Error& e) {
    if (e.code() == Code::unsupported) {
      has_conditions = false;
      etag = bucket.put(name, own_record());
    } else if (e.code() == Code::locked) {
      etag = take_over(bucket, name, path, times);
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
  bucket.guard(key + "/", clock);
  try {
    return std::make_unique<ObjectLease>(bucket, name, path, etag, has_conditions, times, clock);
  } catch (const std::exception& e) {
    bucket.remove(name);
    throw no_renewal_error(path, e);
  }
}

}  // namespace sluice::storage
