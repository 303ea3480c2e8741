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

Pipeline::Pipeline(const Ground& ground, std::unique_ptr<exec::Board> board)
    : ground_(ground), board_(std::move(board)) {}

Pipeline::~Pipeline() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  board_->stop();
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::uint64_t Pipeline::begin() {
  board_->begin(++begun_);
  return begun_;
}

void Pipeline::arrive(std::uint64_t number, storage::File& file, bool sync) {
  ground_.writer.submit_task(
      [board = board_.get(), number, &file, sync](const std::exception_ptr& earlier) {
        std::exception_ptr failure = earlier;
        try {
          if (sync && !failure) {
            file.sync();
          }
        } catch (...) {
          failure = std::current_exception();
        }
        board->arrive(number, failure);
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

void Pipeline::doom(std::uint64_t number, const std::exception_ptr& failure) {
  decide(number, [&](Commit& commit) { commit.failure = failure; });
}

void Pipeline::begin_placing(std::uint64_t number, std::int64_t modified_ns, Placing placing) {
  Commit commit;
  commit.number = number;
  commit.modified_ns = modified_ns;
  commit.placing = std::move(placing);
  commit.offers.resize(board_->writers());
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
    board_->nudge();
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
    if (ground_.has_thread && !thread_.joinable()) {
      thread_ = std::thread([this] { run(); });
    }
  }
  board_->nudge();
}

bool Pipeline::advance() { return place_some() || publish_front(); }

bool Pipeline::publish_front() {
  std::shared_ptr<Commit> commit;
  std::exception_ptr doomed;
  {
    const std::lock_guard lock(mutex_);
    if (commits_.empty() || !commits_.front()->is_decided ||
        commits_.front()->placed < commits_.front()->placing.rounds) {
      return false;
    }
    commit = commits_.front();
    doomed = commit->failure;
  }
  const auto gathered = board_->gathered(commit->number);
  if (!gathered) {
    return false;
  }
  std::exception_ptr failure = board_->failed().failure();
  failure = failure ? failure : *gathered;
  failure = failure ? failure : doomed;
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
  board_->settle(commit->number, failure);
  return true;
}

void Pipeline::publish(const Commit& commit) {
  Publisher& publisher = *ground_.publisher;
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
    const std::uint32_t heard = board_->heard();
    {
      const std::lock_guard lock(mutex_);
      if (stop_) {
        return;
      }
    }
    try {
      if (!advance()) {
        board_->wait(heard, look_again_s);
      }
    } catch (const Error&) {
      return;  // stopped while a writer took no answer
    }
  }
}

double Pipeline::settled_s(std::uint64_t number) {
  if (board_->settled() < number) {
    return 0;
  }
  const double now_s = model::now_s();
  const std::lock_guard lock(mutex_);
  const double at_s = settled_s_[number % settled_s_.size()];
  return ground_.publisher != nullptr && at_s != 0 ? at_s : now_s;
}

void Pipeline::poll() {
  if (!ground_.has_thread) {
    ground_.writer.pump();
    advance();
  }
  board_->poll();
}

void Pipeline::wait_until(const std::function<bool()>& done, const std::string& what) {
  const double forever = std::numeric_limits<double>::infinity();
  const double limit_s = ground_.timeout_s > 0 ? ground_.timeout_s : forever;
  if (!wait_for(done, limit_s)) {
    const int rank = ground_.transport.rank();
    throw Error(
        Code::timeout,
        "rank " + std::to_string(rank) + ": waited " + std::to_string(limit_s) + " s for " + what,
        rank);
  }
}

void Pipeline::wait(std::uint64_t number) {
  const double forever = std::numeric_limits<double>::infinity();
  const double limit_s = ground_.timeout_s > 0 ? ground_.timeout_s : forever;
  if (wait_at_most(number, limit_s)) {
    return;
  }
  const std::vector<int> missing = board_->missing(number);
  throw Error(Code::timeout,
              "rank " + std::to_string(ground_.transport.rank()) + ": waited " +
                  std::to_string(limit_s) + " s for commit " + std::to_string(number) +
                  (missing.empty() ? std::string(" to be published")
                                   : "; not arrived: writers on ranks " + exec::rank_list(missing)),
              ground_.transport.rank());
}

bool Pipeline::wait_at_most(std::uint64_t number, double seconds) {
  return wait_for([&] { return board_->settled() >= number; }, seconds);
}

bool Pipeline::wait_for(const std::function<bool()>& done, double seconds) {
  const double start = model::now_s();
  while (true) {
    const std::uint32_t heard = board_->heard();
    poll();
    if (done()) {
      return true;
    }
    const double left_s = seconds - (model::now_s() - start);
    if (left_s <= 0) {
      return false;
    }
    if (ground_.transport.runs_at_once()) {
      board_->wait(heard, std::min(left_s, board_->is_local() ? look_again_s : ask_again_s));
    } else {
      exec::LocalTransport::pause();
    }
  }
}

void Pipeline::wait_for_all() {
  wait(begun_);
  const double forever = std::numeric_limits<double>::infinity();
  if (!wait_until_quiet(ground_.timeout_s > 0 ? ground_.timeout_s : forever)) {
    throw Error(
        Code::timeout,
        "rank " + std::to_string(ground_.transport.rank()) + ": the others took no news of commits",
        ground_.transport.rank());
  }
}

bool Pipeline::wait_until_quiet(double seconds) {
  const double start = model::now_s();
  while (!board_->is_quiet()) {
    board_->poll();
    if (model::now_s() - start > seconds) {
      return false;
    }
    if (!ground_.transport.runs_at_once()) {
      exec::LocalTransport::pause();
    }
  }
  return true;
}

void Pipeline::restart() {
  ground_.transport.barrier();
  {
    const std::lock_guard lock(mutex_);
    place_failure_ = nullptr;
  }
  board_->forgive();
  ground_.transport.barrier();
}

}  // namespace sluice::commit
