#include "plugin/claim.hpp"

#include <utility>

#include "plugin/guarded_file.hpp"
#include "plugin/refused_flushes.hpp"
#include "storage/endings.hpp"
#include "storage/named_file.hpp"

namespace sluice::plugin {

Claim::Claim(storage::Storage& storage, std::string path)
    : storage_(storage), path_(std::move(path)), lease_(storage.lease(path_)) {}

void Claim::require_lease() const {
  if (lease_) {
    lease_->check();
  }
}

bool Claim::has_lease() const noexcept {
  try {
    require_lease();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

bool Claim::require_place(const std::string& present_path, const GuardedFile& file) {
  const storage::Standing standing =
      storage::standing_at(storage_, present_path, file.identity(), least_bytes_);
  const bool is_there = standing != storage::Standing::gone;
  if (!is_there && is_removed(present_path, file)) {
    return false;
  }
  try {
    require_lease();
  } catch (const Error& e) {
    const bool is_all_gone =
        !is_there && e.code() == Code::locked && !storage_.exists(storage::lease_path(path_));
    throw is_all_gone ? moved_error(path_) : e;
  }
  if (!is_there) {
    throw moved_error(path_);
  }
  if (standing == storage::Standing::shorter) {
    throw storage::cut_error(path_, least_bytes_);
  }
  has_looked_ = true;
  return true;
}

bool Claim::has_place(const std::string& present_path, const GuardedFile& file) noexcept {
  try {
    return has_lease() && storage::standing_at(storage_, present_path, file.identity(),
                                               least_bytes_) == storage::Standing::whole;
  } catch (const std::exception&) {
    return false;
  }
}

void Claim::require_place_once(const std::string& present_path, const GuardedFile& file) {
  if (!has_looked_ || !has_lease()) {
    require_place(present_path, file);
  }
}

bool Claim::is_removed(const std::string& present_path, const GuardedFile& file) {
  return file.file().is_removed() && !storage_.exists(present_path) &&
         !storage_.is_link(present_path);
}

}  // namespace sluice::plugin
