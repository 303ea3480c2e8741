#include "commit/write/pipeline.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "exec/transport/agree.hpp"
#include "exec/transport/local_transport.hpp"
#include "model/clock.hpp"

namespace sluice::commit {

namespace {

/// Whoever waits looks again so often, whatever it hears.
constexpr double look_again_s = 1;
/// Messages of other ranks come only to those who ask.
constexpr double ask_again_s = 100e-6;

}  // namespace

Pipeline::Pipeline(const Ground& ground, std::unique_ptr<exec::CompletionTracker> tracker)
    : rates_(ground), tracker_(std::move(tracker)) {}

Pipeline::~Pipeline() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  tracker_->stop();
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::uint64_t Pipeline::begin() {
  tracker_->begin(++begun_);
  return begun_;
}

void Pipeline::arrive(std::uint64_t number, storage::File& file, bool sync) {
  rates_.writer.submit_task(
      [tracker = tracker_.get(), number, &file, sync](const std::exception_ptr& earlier) {
        std::exception_ptr failure = earlier;
        try {
          if (sync && !failure) {
            file.sync();
          }
        } catch (...) {
          failure = std::current_exception();
        }
        tracker->arrive(number, failure);
      });
}

void Pipeline::push(std::uint64_t number, layout::MetadataUpdate update, bool synced,
                    std::int64_t modified_ns) {
  decide(number, [&](Commit& commit) {
    if (commit.placing.rounds == 0) {
      commit.update = std::move(update);
      commit.modified_ns = modified_ns;
    }
    commit.synced = synced;
  });
}

void Pipeline::fail(std::uint64_t number, const std::exception_ptr& failure) {
  decide(number, [&](Commit& commit) { commit.failure = failure; });
}

void Pipeline::begin_placing(std::uint64_t number, std::int64_t modified_ns, Placing placing) {
  Commit commit;
  commit.number = number;
  commit.modified_ns = modified_ns;
  commit.placing = std::move(placing);
  commit.offers.resize(tracker_->writers());
  enqueue(std::move(commit));
}

void Pipeline::decide(std::uint64_t number, const std::function<void(Commit&)>& how) {
  {
    const std::lock_guard lock(mutex_);
    if (!commits_.empty() && commits_.back()->number == number) {
      how(*commits_.back());
      commits_.back()->is_decided = true;
      number = 0;
    }
  }
  if (number == 0) {
    tracker_->notify();
    return;
  }
  Commit commit;
  commit.number = number;
  how(commit);
  commit.is_decided = true;
  enqueue(std::move(commit));
}

void Pipeline::enqueue(Commit commit) {
  {
    const std::lock_guard lock(mutex_);
    commits_.push_back(std::make_shared<Commit>(std::move(commit)));
    if (rates_.has_thread && !thread_.joinable()) {
      thread_ = std::thread([this] { run(); });
    }
  }
  tracker_->notify();
}

bool Pipeline::advance() { return place_some() || publish_front(); }

bool Pipeline::publish_front() {
  std::shared_ptr<Commit> commit;
  std::exception_ptr failed;
  {
    const std::lock_guard lock(mutex_);
    if (commits_.empty() || !commits_.front()->is_decided ||
        commits_.front()->placed < commits_.front()->placing.rounds) {
      return false;
    }
    commit = commits_.front();
    failed = commit->failure;
  }
  const auto gathered = tracker_->gathered(commit->number);
  if (!gathered) {
    return false;
  }
  std::exception_ptr failure = tracker_->failed().failure();
  failure = failure ? failure : *gathered;
  failure = failure ? failure : failed;
  if (!failure) {
    try {
      publish(*commit);
    } catch (...) {
      failure = std::current_exception();
    }
  }
  {
    const std::lock_guard lock(mutex_);
    commits_.pop_front();
    settled_s_[commit->number % settled_s_.size()] = model::now_s();
  }
  tracker_->settle(commit->number, failure);
  return true;
}

void Pipeline::publish(const Commit& commit) {
  Publisher& publisher = *rates_.publisher;
  publisher.settle();
  publisher.write_fresh(commit.update);
  if (commit.synced) {
    publisher.file().sync();
  }
  publisher.publish(commit.update, commit.synced, commit.modified_ns);
  try {
    publisher.settle();  // whoever plans on reads the file
  } catch (const Error&) {
    // The commit is there. The next one hears of it.
  }
}

void Pipeline::run() {
  exec::unbind_thread();
  while (true) {
    const std::uint32_t epoch = tracker_->epoch();
    {
      const std::lock_guard lock(mutex_);
      if (stop_) {
        return;
      }
    }
    try {
      if (!advance()) {
        tracker_->wait(epoch, look_again_s);
      }
    } catch (const Error&) {
      return;  // stopped while a writer took no answer
    }
  }
}

double Pipeline::settled_s(std::uint64_t number) {
  if (tracker_->settled() < number) {
    return 0;
  }
  const double now_s = model::now_s();
  const std::lock_guard lock(mutex_);
  const double at_s = settled_s_[number % settled_s_.size()];
  return rates_.publisher != nullptr && at_s != 0 ? at_s : now_s;
}

void Pipeline::poll() {
  if (!rates_.has_thread) {
    rates_.writer.pump();
    advance();
  }
  tracker_->poll();
}

void Pipeline::wait_until(const std::function<bool()>& done, const std::string& what) {
  const double forever = std::numeric_limits<double>::infinity();
  const double limit_s = rates_.timeout_s > 0 ? rates_.timeout_s : forever;
  if (!wait_for(done, limit_s)) {
    const int rank = rates_.transport.rank();
    throw Error(
        Code::timeout,
        "rank " + std::to_string(rank) + ": waited " + std::to_string(limit_s) + " s for " + what,
        rank);
  }
}

void Pipeline::wait(std::uint64_t number) {
  const double forever = std::numeric_limits<double>::infinity();
  const double limit_s = rates_.timeout_s > 0 ? rates_.timeout_s : forever;
  if (wait_at_most(number, limit_s)) {
    return;
  }
  const std::vector<int> missing = tracker_->missing(number);
  throw Error(Code::timeout,
              "rank " + std::to_string(rates_.transport.rank()) + ": waited " +
                  std::to_string(limit_s) + " s for commit " + std::to_string(number) +
                  (missing.empty() ? std::string(" to be published")
                                   : "; not arrived: writers on ranks " + exec::rank_list(missing)),
              rates_.transport.rank());
}

bool Pipeline::wait_at_most(std::uint64_t number, double seconds) {
  return wait_for([&] { return tracker_->settled() >= number; }, seconds);
}

bool Pipeline::wait_for(const std::function<bool()>& done, double seconds) {
  const double start = model::now_s();
  while (true) {
    const std::uint32_t epoch = tracker_->epoch();
    poll();
    if (done()) {
      return true;
    }
    const double left_s = seconds - (model::now_s() - start);
    if (left_s <= 0) {
      return false;
    }
    if (rates_.transport.runs_at_once()) {
      tracker_->wait(epoch, std::min(left_s, tracker_->is_local() ? look_again_s : ask_again_s));
    } else {
      exec::LocalTransport::pause();
    }
  }
}

void Pipeline::wait_for_all() {
  wait(begun_);
  const double forever = std::numeric_limits<double>::infinity();
  if (!wait_until_idle(rates_.timeout_s > 0 ? rates_.timeout_s : forever)) {
    throw Error(
        Code::timeout,
        "rank " + std::to_string(rates_.transport.rank()) + ": the others took no news of commits",
        rates_.transport.rank());
  }
}

bool Pipeline::wait_until_idle(double seconds) {
  const double start = model::now_s();
  while (!tracker_->is_idle()) {
    tracker_->poll();
    if (model::now_s() - start > seconds) {
      return false;
    }
    if (!rates_.transport.runs_at_once()) {
      exec::LocalTransport::pause();
    }
  }
  return true;
}

void Pipeline::restart() {
  rates_.transport.barrier();
  {
    const std::lock_guard lock(mutex_);
    place_failure_ = nullptr;
  }
  tracker_->clear_failure();
  rates_.transport.barrier();
}

}  // namespace sluice::commit
