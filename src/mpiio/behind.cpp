#include "mpiio/behind.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <unistd.h>

#include "mpiio/hooks.hpp"
#include "mpiio/report.hpp"
#include "storage/background_thread.hpp"
#include "storage/say.hpp"

namespace sluice::mpiio {

namespace {

/// What has a thread, to be written when the process ends without closing it.
class Open {
 public:
  static Open& all() {
    static auto* const open = new Open;  // asked when the process ends
    return *open;
  }
  void add(Behind* behind) {
    const std::lock_guard lock(mutex_);
    behinds_.insert(behind);
    if (!is_registered_) {
      is_registered_ = std::atexit([] { Open::all().write_all(); }) == 0;
    }
  }
  void remove(Behind* behind) {
    const std::lock_guard lock(mutex_);
    behinds_.erase(behind);
  }

 private:
  void write_all() noexcept {
    if (::getpid() != process_) {
      return;  // forked: the threads are the parent's
    }
    const std::lock_guard lock(mutex_);
    for (Behind* const behind : behinds_) {
      try {  // of each: the others' bytes are written whatever one has met
        behind->wait_own();
        behind->rethrow();
      } catch (const std::exception& e) {
        storage::say(std::string("at the end of the process, with a file that was not closed: ") +
                     e.what());
      }
    }
  }

  std::mutex mutex_;
  std::set<Behind*> behinds_;
  bool is_registered_ = false;
  const pid_t process_ = ::getpid();
};

/// Pieces far from each other are ranges of their own while this many slots are free.
constexpr std::uint64_t spare_slots = Board::slots / 2;
constexpr std::int64_t largest_job_bytes = std::int64_t{4} << 20;

}  // namespace

Behind::Behind(std::unique_ptr<storage::File> storage, const storage::FileIdentity& identity,
               std::shared_ptr<Board> board)
    : storage_(std::move(storage)), identity_(identity), board_(std::move(board)) {
  Boards::all().add(identity_, board_);
}

Behind::~Behind() {
  Open::all().remove(this);
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
  Boards::all().remove(board_.get());
}

void Behind::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  auto at = static_cast<std::int64_t>(offset);
  if (current_ && current_->is_far(at) && board_->pending() < spare_slots) {
    post();
  }
  while (!bytes.empty()) {
    if (!current_) {
      const auto length = static_cast<std::int64_t>(bytes.size());
      current_ =
          std::make_unique<StagedJob>(std::min(std::max(wanted_, length), largest_job_bytes));
    }
    const std::size_t taken = current_->add(at, bytes);
    bytes = bytes.subspan(taken);
    at += static_cast<std::int64_t>(taken);
    wanted_ -= static_cast<std::int64_t>(taken);
    if (!bytes.empty()) {
      post();
    }
  }
}

void Behind::post() {
  const Run range = current_->range();
  staged_bytes_ += current_->bytes();
  // What this rank staged before comes first by itself.
  board_->wait_for_earlier(range, call_);
  for (const auto& other : Boards::all().busy(identity_)) {
    if (other != board_) {
      other->wait_for(range);
    }
  }
  start();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return board_->pending() < Board::slots; });
  queue_.push_back(std::move(current_));
  board_->post(range, call_);  // last: what is there will be written
  lock.unlock();
  changed_.notify_all();
}

void Behind::start() {
  if (!thread_.joinable()) {
    Open::all().add(this);
    thread_ = storage::start_background([this] { work(); });
  }
}

void Behind::work() {
  for (;;) {
    const StagedJob* job = nullptr;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ends_ || !queue_.empty(); });
      if (queue_.empty()) {
        return;
      }
      job = queue_.front().get();
    }
    before_background_write();
    write_job(*job);
    {
      const std::lock_guard lock(mutex_);
      queue_.pop_front();
      board_->pass();
    }
    changed_.notify_all();
  }
}

void Behind::write_job(const StagedJob& job) {
  double seconds = 0;
  std::exception_ptr failure;
  try {
    const Stopwatch watch(&seconds);
    job.each_piece([&](const StagedJob::Piece& piece) {
      storage_->write(static_cast<std::uint64_t>(piece.run.offset), job.bytes_of(piece));
    });
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  hidden_s_ += seconds;
  if (failure && !failure_) {
    failure_ = failure;
  }
}

void Behind::wait_own() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty(); });
}

void Behind::close() {
  wait_own();
  storage_->close();
}

void Behind::rethrow() {
  std::exception_ptr failure;
  {
    const std::lock_guard lock(mutex_);
    std::swap(failure, failure_);
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

double Behind::hidden_s() {
  const std::lock_guard lock(mutex_);
  return hidden_s_;
}

}  // namespace sluice::mpiio
