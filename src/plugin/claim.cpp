#include "plugin/claim.hpp"

#include <utility>

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

void Claim::require_place(const std::string& present_path, storage::File& file) {
  if (is_removed(present_path, file)) {
    return;
  }
  require_lease();
  if (!storage::is_at(storage_, present_path, file.identity())) {
    throw moved_error(path_);
  }
  has_looked_ = true;
}

bool Claim::has_place(const std::string& present_path, storage::File& file) noexcept {
  try {
    return has_lease() && storage::is_at(storage_, present_path, file.identity());
  } catch (const std::exception&) {
    return false;
  }
}

void Claim::require_place_once(const std::string& present_path, storage::File& file) {
  if (!has_looked_ || !has_lease()) {
    require_place(present_path, file);
  }
}

bool Claim::is_removed(const std::string& present_path, storage::File& file) {
  return file.is_removed() && !storage_.exists(present_path) && !storage_.is_link(present_path);
}

Error moved_error(const std::string& path) {
  return storage::moved_error(
      path, ". If there is " + storage::journal_path(path) +
                " after the close, give it the new name of the file as well, and run sluice "
                "recover");
}

}  // namespace sluice::plugin
