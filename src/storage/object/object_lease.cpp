// The writer lease of a store on an object store: an object beside it, which a conditional put
// makes. Its time is renewed by a thread; it is taken over when its process is known to have ended,
// or when its time was not renewed for stale_after_s, by the clock of the store alone. By a clock
// of its own (LeaseClock) its holder knows when that may have happened. A record that this process
// left behind is known by its number, and taken over at once.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sluice/error.hpp"
#include "storage/background_thread.hpp"
#include "storage/endings.hpp"
#include "storage/lease_record.hpp"
#include "storage/object/object_storage.hpp"
#include "storage/own_process.hpp"

namespace sluice::storage {

namespace {

constexpr std::size_t most_object_record_bytes = 1024;
constexpr const char* no_object_etag = "\"00000000000000000000000000000000\"";

std::vector<std::byte> own_record() {
  const std::string text = own_holder(true).record();
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

/// Numbers of records that this process has put and no longer holds, and may not have removed.
class LeftNumbers {
 public:
  void add(const std::string& number) {
    const std::lock_guard lock(mutex_);
    numbers_.push_back(number);
    if (numbers_.size() > most_numbers) numbers_.pop_front();
  }
  bool has(const std::string& number) {
    const std::lock_guard lock(mutex_);
    return std::find(numbers_.begin(), numbers_.end(), number) != numbers_.end();
  }

 private:
  static constexpr std::size_t most_numbers = 1024;
  std::mutex mutex_;
  std::deque<std::string> numbers_;
};

/// Never freed: files may be closed after main().
LeftNumbers& left_numbers() {
  static auto* const numbers = new LeftNumbers();
  return *numbers;
}

/// What is read of a record.
struct ReadRecord {
  LeaseHolder holder;
  ObjectFacts facts;
};

ReadRecord read_record(Bucket& bucket, const std::string& name, double most_s = whole_timeout_s) {
  std::vector<std::byte> text(most_object_record_bytes);
  ReadRecord read;
  text.resize(bucket.get(name, 0, text, &read.facts, most_s));
  read.holder = parse_holder({reinterpret_cast<const char*>(text.data()), text.size()});
  return read;
}

/// By what a record is known as this lease's: a store may drop the number that goes with a put.
/// Then a lease that was had is told from others by its process alone, as one process has one of
/// them.
enum class Sign : std::uint8_t { number, number_or_process };

/// The record of one lease. A random number goes with every put of it, by which it is known again.
class Record {
 public:
  Record(Bucket& bucket, std::string name)
      : bucket_(bucket), name_(std::move(name)), number_(random_text()) {}

  Bucket& bucket() const { return bucket_; }
  const std::string& name() const { return name_; }

  /// Returns the etag.
  std::string put(const PutCondition& condition, double most_s = whole_timeout_s) const {
    return bucket_.put(name_, own_record(), condition, {0, number_, most_s});
  }
  /// Is the record that is there this one? `etag`: its. What cannot be read is an Error.
  bool is_there(Sign sign, std::string& etag, double most_s = whole_timeout_s) const {
    try {
      const ReadRecord read = read_record(bucket_, name_, most_s);
      etag = read.facts.etag;
      const bool is_dropped = read.facts.commit.empty() && sign == Sign::number_or_process;
      return is_own(read.holder) && (is_dropped || read.facts.commit == number_);
    } catch (const Error& e) {
      if (e.code() != Code::not_found) throw;
      return false;
    }
  }
  /// Removes it, if it is there, within `most_s`. It names a process that may run for long after:
  /// where it cannot be removed, that process at least knows that nobody holds it.
  void leave(Sign sign, double most_s) const {
    try {
      std::string etag;
      if (most_s > 0 && is_there(sign, etag, most_s / 2)) {
        bucket_.remove(name_, most_s / 2);
        return;
      }
    } catch (const std::exception&) {
      // it becomes stale
    }
    left_numbers().add(number_);
  }

 private:
  Bucket& bucket_;
  const std::string name_;
  const std::string number_;
};

class ObjectLease final : public Lease {
 public:
  ObjectLease(Record record, std::string path, std::string etag, bool has_conditions,
              const LeaseTimes& times, std::shared_ptr<LeaseClock> clock)
      : path_(std::move(path)),
        renewal_(new Renewal(std::move(record), std::move(etag), has_conditions, times,
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
    Renewal(Record record, std::string etag, bool has_conditions, const LeaseTimes& times,
            std::shared_ptr<LeaseClock> clock)
        : times_(times),
          clock_(std::move(clock)),
          record_(std::move(record)),
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
      std::unique_lock lock(mutex_);
      // A removal knows no condition: it is sent only while nobody else may have the lease.
      if (!clock_->is_lost() && clock_->left_s() < times_.stale_after_s / 2) {
        renew(lock, times_.renew_every_s);
      }
      // The other half is for a request that was given up, and arrives all the same.
      if (!clock_->is_lost()) record_.leave(Sign::number_or_process, clock_->left_s() / 2);
    }
    bool is_lost() const { return clock_->is_lost(); }
    /// False where the store did not answer for as long as a request is tried.
    bool wait_until_held() {
      std::unique_lock lock(mutex_);
      const auto is_known = [this] { return clock_->is_lost() || clock_->left_s() > 0; };
      is_wanted_ = !is_known();
      if (is_wanted_) changed_.notify_all();
      const bool is_held = changed_.wait_for(lock, seconds(record_.bucket().timeout_s()), is_known);
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
        // No longer: the next one is soon sent, and stop() waits for it.
        renew(lock, times_.stale_after_s / 3);
        if (clock_->is_lost()) return;
      }
    }
    /// Gives up the lock meanwhile.
    void renew(std::unique_lock<std::mutex>& lock, double most_s) {
      const std::string etag = etag_;
      lock.unlock();
      const double sent_s = LeaseClock::now_s();
      std::string next;
      bool is_lost = false;
      bool is_renewed = false;
      try {
        const PutCondition same{
            has_conditions_ ? PutCondition::Kind::same : PutCondition::Kind::none, etag};
        next = record_.put(same, most_s);
        is_renewed = true;
      } catch (const Error& e) {
        // Its own put may have arrived, and its answer been lost: the record says whose it is,
        // but not since when. A record that was removed is lost: the next writer makes a new one.
        is_lost = (e.code() == Code::locked || e.code() == Code::not_found) &&
                  is_of_another(next, most_s);
      } catch (const std::exception&) {
        // no memory: the next renewal may have it
      }
      lock.lock();
      if (is_lost) clock_->lose();
      if (is_renewed) clock_->renew(sent_s);
      is_wanted_ = false;
      etag_ = next.empty() ? etag_ : next;
      changed_.notify_all();
    }
    /// One that cannot be read may be this writer's: the next renewal asks again.
    bool is_of_another(std::string& etag, double most_s) const {
      try {
        return !record_.is_there(Sign::number_or_process, etag, most_s);
      } catch (const std::exception&) {
        return false;
      }
    }

    const LeaseTimes times_;
    const std::shared_ptr<LeaseClock> clock_;
    const Record record_;
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

/// The first put of a record. Where the answer to a put that arrived is lost, the next try is
/// refused by the record itself. `may_be_there`: a put of it was sent, and was not surely refused.
std::string put_first(const Record& record, const PutCondition& condition, bool& may_be_there) {
  may_be_there = true;
  try {
    return record.put(condition);
  } catch (const Error& e) {
    may_be_there = e.code() != Code::unsupported;
    std::string etag;
    if (e.code() == Code::locked) {
      may_be_there = record.is_there(Sign::number, etag);
    }
    if (e.code() != Code::locked || !may_be_there) {
      throw;
    }
    return etag;
  }
}

/// The etag of the record that was put over a stale one.
std::string take_over(const Record& record, const std::string& path, const LeaseTimes& times,
                      bool& may_be_there) {
  const auto [holder, facts] = read_record(record.bucket(), record.name());
  const auto running = is_running(holder);
  if (!left_numbers().has(facts.commit) &&
      running.value_or(static_cast<double>(facts.age_s) < times.stale_after_s)) {
    refuse_holder(path, record.bucket().url_text(record.name()), holder, times);
  }
  return put_first(record, {PutCondition::Kind::same, facts.etag}, may_be_there);
}

/// The etag of the record of this writer, which was put under a condition.
std::string put_or_take_over(const Record& record, const std::string& path, const LeaseTimes& times,
                             bool& may_be_there) {
  try {
    return put_first(record, {PutCondition::Kind::absent, ""}, may_be_there);
  } catch (const Error& e) {
    if (e.code() != Code::locked || may_be_there) throw;
  }
  return take_over(record, path, times, may_be_there);
}

/// Does the store refuse a put under a condition that does not hold? If not, `etag` is that of what
/// it has put.
bool is_refused(const Record& record, const PutCondition& wrong, std::string& etag) {
  try {
    etag = record.put(wrong);
    return false;
  } catch (const Error& e) {
    // Some stores answer that there is no such object.
    const bool is_refusal = e.code() == Code::locked || e.code() == Code::not_found;
    if (!is_refusal && e.code() != Code::unsupported) throw;
    return is_refusal;
  }
}

/// The etag of the record of this writer, which was put; `has_conditions`: does the store look at
/// both conditions, that there is no object and that it is a certain one?
std::string put_own(const Record& record, const std::string& path, const LeaseTimes& times,
                    bool& has_conditions, bool& may_be_there) {
  std::string etag;
  try {
    etag = put_or_take_over(record, path, times, may_be_there);
  } catch (const Error& e) {
    if (e.code() != Code::unsupported) throw;
    has_conditions = false;
    may_be_there = true;
    return record.put({});
  }
  if (has_conditions) {
    has_conditions = is_refused(record, {PutCondition::Kind::absent, ""}, etag) &&
                     is_refused(record, {PutCondition::Kind::same, no_object_etag}, etag);
  }
  return etag;
}

/// Of the removal of a record after an error, for which other ranks wait.
double removal_s(const Bucket& bucket, const LeaseClock& clock) {
  return std::min(bucket.after_failure_s(), clock.left_s() / 2);
}

}  // namespace

std::unique_ptr<Lease> take_object_lease(Bucket& bucket, const std::string& key,
                                         const std::string& path, bool& has_conditions,
                                         const LeaseTimes& times) {
  const Record record(bucket, lease_path(key));
  const auto clock = std::make_shared<LeaseClock>(times.stale_after_s);
  bool may_be_there = false;
  std::string etag;
  try {
    etag = put_own(record, path, times, has_conditions, may_be_there);
  } catch (const Error&) {
    if (may_be_there) record.leave(Sign::number, removal_s(bucket, *clock));
    throw;
  }
  bucket.guard(key + "/", clock);
  try {
    return std::make_unique<ObjectLease>(record, path, etag, has_conditions, times, clock);
  } catch (const std::exception& e) {
    record.leave(Sign::number, removal_s(bucket, *clock));
    throw no_renewal_error(path, e);
  }
}

}  // namespace sluice::storage
