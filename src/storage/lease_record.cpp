#include "storage/lease_record.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <limits>
#include <locale>
#include <memory>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/calls.hpp"
#include "storage/endings.hpp"
#include "storage/named_file.hpp"
#include "storage/own_process.hpp"

namespace sluice::storage {

namespace {

constexpr const char* mark = "sluice-lease";
constexpr int version = 1;
constexpr std::size_t most_record_bytes = 1024;
constexpr const char* nothing = "-";

std::string first_word_of(const char* path) {
  std::string word;
  std::ifstream(path) >> word;
  return word.empty() ? nothing : word;
}

/// The program's locale may group the digits of numbers, and may do that by spaces.
std::istringstream in_c_locale(const std::string& text) {
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  return in;
}

/// Two containers may use the same numbers for different processes.
std::string pid_namespace() {
  struct stat status = {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? std::to_string(status.st_ino) : nothing;
}

/// What the system says of a process.
struct ProcessFacts {
  std::uint64_t start = 0;  ///< in ticks since the boot; 0 if that cannot be read
  bool has_ended = false;   ///< only its parent has not asked for its end yet
};

ProcessFacts facts_of(std::int64_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');  // the name may contain anything
  if (name_end == std::string::npos) return {};
  std::istringstream fields = in_c_locale(text.substr(name_end + 1));
  constexpr int threads_at = 17;  // of the third field on
  constexpr int start_at = 19;
  std::string state;
  std::string skipped;
  std::uint64_t threads = 0;
  ProcessFacts facts;
  fields >> state;
  for (int i = 1; i < threads_at; ++i) fields >> skipped;
  fields >> threads;
  for (int i = threads_at + 1; i < start_at; ++i) fields >> skipped;
  fields >> facts.start;
  if (!fields) return {};
  // Where only its first thread has ended, the others are counted.
  facts.has_ended = (state == "Z" || state == "X") && threads <= 1;
  return facts;
}

}  // namespace

std::string LeaseHolder::record() const {
  return text + '\n' + mark + ' ' + std::to_string(version) + ' ' + kernel + ' ' + pids + ' ' +
         std::to_string(process) + ' ' + std::to_string(start) + ' ' + (by_file ? "file" : "lock") +
         '\n';
}

namespace {

LeaseHolder find_own_holder() {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  LeaseHolder own;
  own.process = ::getpid();
  own.text = std::string("host ") + host + ", process " + std::to_string(own.process);
  own.is_known = true;
  own.kernel = first_word_of("/proc/sys/kernel/random/boot_id");
  own.pids = pid_namespace();
  own.start = facts_of(own.process).start;
  return own;
}

}  // namespace

LeaseHolder own_holder(bool by_file) {
  // Read once for all files of a process. Never freed: files may be opened after main(), and a
  // forked process has a copy of what its parent knew.
  struct Known {
    LeaseHolder holder;
    OwnProcess process;
  };
  static std::atomic<const Known*> known = nullptr;
  const Known* found = known.load();
  if (found == nullptr || !found->process.is_here()) {
    auto fresh = std::make_unique<const Known>(Known{find_own_holder(), OwnProcess()});
    if (known.compare_exchange_strong(found, fresh.get())) {
      found = fresh.release();
    }
  }
  LeaseHolder own = found->holder;
  own.by_file = by_file;
  return own;
}

LeaseHolder read_holder(int fd) {
  std::string text(most_record_bytes, '\0');
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return parse_holder(text);
}

LeaseHolder parse_holder(const std::string& text) {
  std::istringstream lines = in_c_locale(text);
  LeaseHolder holder;
  std::getline(lines, holder.text);
  std::replace_if(
      holder.text.begin(), holder.text.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7F; },
      '?');
  std::string word;
  std::string how;
  int its_version = 0;
  lines >> word >> its_version >> holder.kernel >> holder.pids >> holder.process >> holder.start >>
      how;
  holder.by_file = how == "file";
  const bool has_process =
      holder.process > 0 && holder.process <= std::numeric_limits<pid_t>::max();
  holder.is_known = lines && word == mark && its_version == version && has_process &&
                    (holder.by_file || how == "lock");
  return holder;
}

bool is_own(const LeaseHolder& holder) {
  const LeaseHolder own = own_holder(holder.by_file);
  return holder.is_known && holder.kernel == own.kernel && holder.pids == own.pids &&
         own.kernel != nothing && own.pids != nothing && holder.process == own.process &&
         holder.start == own.start;
}

std::optional<bool> is_running(const LeaseHolder& holder) {
  const LeaseHolder own = own_holder(false);
  const bool is_here = holder.is_known && holder.kernel == own.kernel && holder.pids == own.pids &&
                       own.kernel != nothing && own.pids != nothing;
  if (!is_here) return std::nullopt;
  if (::kill(static_cast<pid_t>(holder.process), 0) != 0 && errno == ESRCH) return false;
  const ProcessFacts facts = facts_of(holder.process);
  if (facts.has_ended) return false;
  return facts.start == 0 || holder.start == 0 || facts.start == holder.start;
}

namespace {

/// Has any process the lock of a lease? Empty where the file system does not tell.
std::optional<bool> is_locked(int fd) {
  struct flock lock = {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  return ::fcntl(fd, F_OFD_GETLK, &lock) == 0 ? std::optional(lock.l_type != F_UNLCK)
                                              : std::nullopt;
}

}  // namespace

std::optional<bool> is_holder_running(const std::string& record_path) {
  const int fd = ::open(record_path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    return std::nullopt;
  }
  const LeaseHolder holder = read_holder(fd);
  std::optional<bool> runs = is_running(holder);
  if (!runs && holder.is_known && !holder.by_file) {
    runs = is_locked(fd);
  }
  ::close(fd);
  return runs;
}

Error lost_lease_error(const std::string& path) {
  return {Code::locked, path +
                            ": another writer has taken over the writer lease, or removed its "
                            "record: open the file again"};
}

Error lost_record_error(const std::string& path) {
  const std::string record = lease_path(path);
  try {
    if (identity_at(record)) {
      return {Code::locked,
              path + ": another writer has taken over the writer lease: open the file again"};
    }
    if (!identity_at(folder_of(path))) {
      return {Code::changed_outside,
              path +
                  ": its folder was moved or removed while the file was written: this commit is "
                  "not in it. The steps before it are where the folder is now"};
    }
  } catch (const Error&) {
    return lost_lease_error(path);  // nobody can tell
  }
  return {Code::locked, record +
                            ": the record of the writer lease was removed while the file was "
                            "written, by hand or by another writer that took the lease over and "
                            "has closed the file: open the file again"};
}

Error no_renewal_error(const std::string& path, const std::exception& why) {
  return {Code::io, path + ": a thread that renews the writer lease cannot be started: " +
                        why.what() + ": allow this process more threads"};
}

}  // namespace sluice::storage
