#include "storage/lease_watch.hpp"

#include <cerrno>
#include <optional>
#include <sys/stat.h>

#include "storage/calls.hpp"
#include "storage/endings.hpp"
#include "storage/lease_record.hpp"
#include "storage/object/lease_clock.hpp"

namespace sluice::storage {

namespace {

/// Empty: there is none.
std::optional<FileIdentity> find_record(const std::string& name) {
  struct stat status = {};
  if (::lstat(name.c_str(), &status) == 0) {
    return FileIdentity{status.st_dev, status.st_ino};
  }
  if (errno == ENOENT || errno == ENOTDIR) {
    return std::nullopt;
  }
  throw system_error(name, describe(Call::exists), errno);
}

}  // namespace

LeaseWatch::LeaseWatch(const std::string& path, Clock clock)
    : path_(path), clock_(clock), record_(find_record(lease_path(path)).value_or(FileIdentity{})) {
  begin();
}

double LeaseWatch::now_s() const { return clock_ != nullptr ? clock_() : LeaseClock::now_s(); }

void LeaseWatch::check() {
  const double now = now_s();
  if (now - last_s_ > longest_s && record_ != FileIdentity{} &&
      find_record(lease_path(path_)) != record_) {
    throw lost_lease_error(path_);  // also the next time
  }
  last_s_ = now;
}

}  // namespace sluice::storage
