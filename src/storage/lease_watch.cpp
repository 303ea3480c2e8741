#include "storage/lease_watch.hpp"

#include "model/clock.hpp"
#include "storage/endings.hpp"
#include "storage/lease_record.hpp"
#include "storage/named_file.hpp"

namespace sluice::storage {

LeaseWatch::LeaseWatch(const std::string& path, Clock clock)
    : path_(path),
      clock_(clock),
      record_(identity_at(lease_path(path)).value_or(FileIdentity{})),
      last_s_(now_s()) {}

double LeaseWatch::now_s() const {
  return clock_ != nullptr ? clock_() : model::now_with_sleep_s();
}

void LeaseWatch::check() {
  const double now = now_s();
  if (now - last_s_ > longest_s && record_ != FileIdentity{} &&
      identity_at(lease_path(path_)) != record_) {
    throw lost_record_error(path_);  // also the next time
  }
  last_s_ = now;
}

}  // namespace sluice::storage
