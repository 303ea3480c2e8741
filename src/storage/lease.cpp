#include "storage/lease.hpp"

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <fcntl.h>
#include <mutex>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "storage/background_thread.hpp"
#include "storage/calls.hpp"
#include "storage/endings.hpp"
#include "storage/lease_record.hpp"
#include "storage/own_process.hpp"
#include "storage/posix_file.hpp"
#include "storage/size_limit.hpp"

namespace sluice::storage {

namespace {

constexpr auto renew_every = std::chrono::seconds(10);
/// Far longer than any pause of a thread or difference between the clocks of two nodes.
constexpr std::int64_t stale_after_s = 120;
constexpr int most_tries = 100;  // each lost to a holder that left at that moment

/// A descriptor for the length of a scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// Does the name still refer to the file of the descriptor?
bool is_current(int fd, const std::string& name) {
  struct stat held = {};
  struct stat named = {};
  return ::fstat(fd, &held) == 0 && ::lstat(name.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

void write_record(int fd, const LeaseHolder& holder) {
  const SizeLimit no_signal;
  const std::string text = holder.record();
  struct stat status = {};
  // ext4 writes a file that was truncated to the disk when it is closed.
  const bool is_empty = ::fstat(fd, &status) == 0 && status.st_size == 0;
  if ((!is_empty && ::ftruncate(fd, 0) != 0) ||
      ::pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    // the lock, or the file itself, counts; an unknown holder is assumed to be alive
  }
}

class LockLease final : public Lease {
 public:
  LockLease(const SystemCalls& calls, int fd, std::string path, std::string name)
      : calls_(calls), fd_(fd), path_(std::move(path)), name_(std::move(name)) {}
  ~LockLease() override {
    if (own_.is_here()) {
      // Removed while still locked: a process that opened it meanwhile sees that the name is gone.
      if (is_current(fd_, name_)) ::unlink(name_.c_str());
      calls_.lock(fd_, F_UNLCK);  // releases the lock for the copies of the descriptor in forked
                                  // children too
    }
    ::close(fd_);
  }

  /// The lock of a record that has lost its name excludes nobody.
  void check() override {
    if (!is_current(fd_, name_)) throw lost_record_error(path_);
  }

 private:
  const SystemCalls calls_;
  int fd_;
  const std::string path_;
  std::string name_;
  OwnProcess own_;
};

class FileLease final : public Lease {
 public:
  FileLease(int fd, std::string path, std::string name)
      : path_(std::move(path)), name_(std::move(name)), renewal_(new Renewal(fd)) {}
  ~FileLease() override {
    if (!own_.is_here()) return;  // the thread exists in the parent only
    const int fd = renewal_->stop();
    if (is_current(fd, name_)) ::unlink(name_.c_str());
    ::close(fd);
  }

  void check() override {
    if (!is_current(renewal_->descriptor(), name_)) throw lost_record_error(path_);
  }
  std::string notice() const override {
    return "this file system has no locks: " + name_ +
           " keeps other writers out; it is renewed every " + std::to_string(renew_every.count()) +
           " s, and taken over by writers of other hosts after " + std::to_string(stale_after_s) +
           " s without";
  }

 private:
  /// Renews the time of the record until it is stopped.
  class Renewal {
   public:
    explicit Renewal(int fd) : fd_(fd), thread_(start_background([this] { run(); })) {}
    int descriptor() const { return fd_; }
    int stop() {
      {
        const std::lock_guard lock(mutex_);
        is_over_ = true;
      }
      changed_.notify_all();
      thread_.join();
      return fd_;
    }

   private:
    void run() {
      std::unique_lock lock(mutex_);
      while (!changed_.wait_for(lock, renew_every, [this] { return is_over_; })) {
        ::futimens(fd_, nullptr);  // where it fails, check() tells whether that mattered
      }
    }

    const int fd_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_over_ = false;
    std::thread thread_;  // the last: it uses the others
  };

  const std::string path_;
  const std::string name_;
  HomePtr<Renewal> renewal_;
  OwnProcess own_;
};

/// Takes the lease of one path.
class Taker {
 public:
  Taker(const SystemCalls& calls, const std::string& path)
      : calls_(calls), path_(path), name_(lease_path(path)) {}

  std::unique_ptr<Lease> take() {
    for (int tries = 0; tries < most_tries; ++tries) {
      if (auto lease = try_once()) return lease;
    }
    throw Error(Code::locked, path_ + ": the writer lease changed its holder too often: try again");
  }

 private:
  int open(const std::string& name, int flags) const {
    return open_descriptor(calls_, Place(AT_FDCWD, name), flags | O_NOFOLLOW);
  }

  int lock(int fd, short type) const {
    for (int tries = 0; tries < max_idle_calls; ++tries) {
      if (calls_.lock(fd, type) == 0) return 0;
      if (errno != EINTR) break;
    }
    return errno;
  }

  static bool is_busy(int problem) { return problem == EAGAIN || problem == EACCES; }
  /// EINVAL: from a kernel or file system that does not know this kind of lock.
  static bool is_without_locks(int problem) {
    return problem == ENOLCK || problem == ENOSYS || problem == EOPNOTSUPP || problem == ENOTSUP ||
           problem == EINVAL;
  }

  /// nullptr: something changed meanwhile, try again.
  std::unique_ptr<Lease> try_once() {
    Descriptor made(open(name_, O_RDWR | O_CREAT | O_EXCL));
    if (made.get() >= 0) return take_open(made, true);
    if (errno != EEXIST) fail(errno);
    Descriptor there(open(name_, O_RDWR));
    if (there.get() >= 0) {
      require_ours(there.get());
      return take_open(there, false);
    }
    if (errno == ENOENT) return nullptr;
    if (errno != EACCES) fail(errno);
    return take_from_another_user();
  }

  std::unique_ptr<Lease> take_open(Descriptor& record, bool is_new) {
    const int fd = record.get();
    const int problem = lock(fd, F_WRLCK);
    if (problem == 0) {
      if (!is_current(fd, name_)) return nullptr;
      const LeaseHolder holder = is_new ? LeaseHolder{} : read_holder(fd);
      if (holder.by_file && !remove_if_stale(fd)) refuse(holder);
      if (holder.by_file) return nullptr;
      if (!is_new) return replace(record);
      write_record(fd, own_holder(false));
      return std::make_unique<LockLease>(calls_, record.release(), path_, name_);
    }
    if (is_busy(problem)) {
      // After a process has ended, its lock may be kept by children that it forked.
      const LeaseHolder holder = read_holder(fd);
      if (is_running(holder).value_or(true) || !remove_if_stale(fd)) refuse(read_holder(fd));
      return nullptr;
    }
    if (!is_without_locks(problem)) fail(problem);
    if (is_new) return hold_by_time(record);
    const LeaseHolder holder = read_holder(fd);
    if (!remove_if_stale(fd)) refuse(holder, is_running(holder) ? "" : by_hand());
    return nullptr;
  }

  std::unique_ptr<Lease> hold_by_time(Descriptor& record) const {
    write_record(record.get(), own_holder(true));
    try {
      auto lease = std::make_unique<FileLease>(record.get(), path_, name_);
      record.release();
      return lease;
    } catch (const std::exception& e) {
      ::unlink(name_.c_str());
      throw no_renewal_error(path_, e);
    }
  }

  /// The record is not writable: is it held?
  std::unique_ptr<Lease> take_from_another_user() {
    const Descriptor there(open(name_, O_RDONLY));
    if (there.get() < 0 && errno == ENOENT) return nullptr;
    if (there.get() < 0) fail(errno);
    require_ours(there.get());
    const LeaseHolder holder = read_holder(there.get());
    const int problem = lock(there.get(), F_RDLCK);
    if (problem != 0 && !is_busy(problem) && !is_without_locks(problem)) fail(problem);
    const bool is_free = problem == 0 && !holder.by_file;
    if (!remove_if(there.get(), [&](const LeaseHolder& now, std::int64_t now_s) {
          return is_free || is_stale(there.get(), now, now_s);
        })) {
      refuse(holder);
    }
    return nullptr;
  }

  /// Is it certain that the holder has ended?
  static bool is_stale(int fd, const LeaseHolder& holder, std::int64_t now_s) {
    if (const std::optional<bool> runs = is_running(holder)) return !*runs;
    if (holder.is_known && !holder.by_file)
      return false;  // it is not renewed: there is no way to
                     // know
    struct stat status = {};
    return ::fstat(fd, &status) == 0 && now_s - status.st_mtim.tv_sec > stale_after_s;
  }
  bool remove_if_stale(int fd) const {
    return remove_if(fd, [&](const LeaseHolder& holder, std::int64_t now_s) {
      return is_stale(fd, holder, now_s);
    });
  }

  /// Removes the record that is open as `fd` if `judge`, called with its holder and the file
  /// system's own time, allows it. True if it is gone.
  template <class Judge>
  bool remove_if(int fd, Judge&& judge) const {
    const Takeover mine(*this);
    if (!is_current(fd, name_)) return true;
    // The holder of this moment: another process may have got the lease since it was read.
    if (!mine.now_s() || !judge(read_holder(fd), *mine.now_s())) return false;
    if (::unlink(name_.c_str()) != 0) fail(errno);
    return true;
  }

  /// Puts a record of this process in the place of that of another one, whose lock this one has. A
  /// new one: a holder that lost its lock and lives (a lease of NFS that expired, a mount without
  /// locks between nodes) sees that the name is not its record's any more. The old one stays open
  /// meanwhile, so that its number is not used again. Where it may not be removed (another user's
  /// in a sticky folder), it is written over. nullptr: something changed meanwhile.
  std::unique_ptr<Lease> replace(Descriptor& record) {
    const Takeover mine(*this);
    if (!is_current(record.get(), name_)) return nullptr;
    if (calls_.unlinkat(AT_FDCWD, name_.c_str(), 0) != 0) {
      if (errno != EPERM && errno != EACCES) fail(errno);
      write_record(record.get(), own_holder(false));
      return std::make_unique<LockLease>(calls_, record.release(), path_, name_);
    }
    Descriptor made(open(name_, O_RDWR | O_CREAT | O_EXCL));
    if (made.get() < 0 && errno == EEXIST) return nullptr;
    if (made.get() < 0) fail(errno);
    return take_open(made, true);
  }

  /// The takeover record, while this exists: no other process removes the record, or makes it its
  /// own. Each does so for a moment only, so that it is waited for. One that a killed process left
  /// has no lock; where there are no locks it stays until it is removed.
  class Takeover {
   public:
    explicit Takeover(const Taker& taker)
        : name_(taker.name_ + "-takeover"), fd_(open_new(taker, name_)) {
      struct stat status = {};
      if (::fstat(fd_.get(), &status) == 0) now_s_ = status.st_mtim.tv_sec;
    }
    Takeover(const Takeover&) = delete;
    Takeover& operator=(const Takeover&) = delete;
    ~Takeover() { ::unlink(name_.c_str()); }
    /// The file system's time; empty: unknown.
    const std::optional<std::int64_t>& now_s() const { return now_s_; }

   private:
    static int open_new(const Taker& taker, const std::string& name) {
      for (int tries = 0;; ++tries) {
        Descriptor made(taker.open(name, O_RDWR | O_CREAT | O_EXCL));
        if (made.get() < 0 && errno != EEXIST) taker.fail(errno);
        if (made.get() >= 0) {
          const int problem = taker.lock(made.get(), F_WRLCK);
          // Before it had the lock, another process may have taken it for one that was left, and
          // have removed it since.
          if (!is_busy(problem) && is_current(made.get(), name)) return made.release();
        } else if (const int left = open_left(taker, name); left >= 0) {
          return left;
        }
        if (tries == most_tries) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      throw Error(Code::locked, taker.path_ +
                                    ": another writer is taking over the writer lease: try again; "
                                    "if there is none, remove " +
                                    name);
    }

    /// The one that a killed process left; -1: it is in use, gone, or another user's.
    static int open_left(const Taker& taker, const std::string& name) {
      Descriptor there(taker.open(name, O_RDWR));
      if (there.get() < 0) return -1;
      struct stat status = {};
      if (taker.lock(there.get(), F_WRLCK) != 0 || !is_current(there.get(), name) ||
          ::fstat(there.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink > 1) {
        return -1;
      }
      ::futimens(there.get(), nullptr);  // its time is that of the file system
      return there.release();
    }

    const std::string name_;
    const Descriptor fd_;
    std::optional<std::int64_t> now_s_;
  };

  void require_ours(int fd) const {
    struct stat status = {};
    if (::fstat(fd, &status) != 0) fail(errno);
    if (!S_ISREG(status.st_mode) || status.st_nlink > 1) {
      throw Error(Code::permission, name_ +
                                        ": is in the place of the writer lease, but is not a "
                                        "lease record: remove it");
    }
  }

  /// Appended if there are no locks that show whether the file is being written.
  std::string by_hand() const { return "; if nothing writes it any more, remove " + name_; }
  [[noreturn]] void refuse(const LeaseHolder& holder, const std::string& or_else = {}) const {
    if (is_own(holder)) {
      throw Error(Code::locked, path_ + ": is already being written by this program, " +
                                    holder.text + ": close that file first");
    }
    const std::string who = holder.text.empty() ? "another process" : holder.text;
    throw Error(Code::locked,
                path_ + ": is being written by " + who + ": wait for it or stop it" + or_else);
  }
  [[noreturn]] void fail(int problem) const {
    if (problem == ENOENT) {
      throw Error(Code::not_found,
                  path_ + ": its folder " + folder_of(path_) + " does not exist: create it first");
    }
    throw system_error(name_, "taking the writer lease", problem);
  }

  const SystemCalls& calls_;
  const std::string path_;
  const std::string name_;
};

}  // namespace

std::unique_ptr<Lease> take_lease(const SystemCalls& calls, const std::string& path) {
  return Taker(calls, path).take();
}

}  // namespace sluice::storage
