#include "plugin/claim.hpp"

#include <utility>

#include "storage/endings.hpp"

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

void Claim::require_place(const std::string& present_path, const storage::FileIdentity& identity) {
  require_lease();
  if (!is_at(storage_, present_path, identity)) {
    throw moved_error(path_);
  }
  has_looked_ = true;
}

bool Claim::has_place(const std::string& present_path,
                      const storage::FileIdentity& identity) noexcept {
  try {
    require_place(present_path, identity);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void Claim::require_place_once(const std::string& present_path,
                               const storage::FileIdentity& identity) {
  has_looked_ ? require_lease() : require_place(present_path, identity);
}

bool is_at(storage::Storage& storage, const std::string& path,
           const storage::FileIdentity& identity) {
  if (storage.is_link(path)) {
    return false;
  }
  try {
    return storage.open(path, storage::Access::read)->identity() == identity;
  } catch (const Error& e) {
    if (e.code() != Code::not_found) {
      throw;
    }
    return false;
  }
}

Error moved_error(const std::string& path) {
  return {Code::changed_outside,
          path +
              ": was moved or removed, or another file was put in its place, while it was written: "
              "what came after the last flush is in neither. If there is " +
              storage::journal_path(path) +
              " after the close, give it the new name of the file as well, and run sluice recover"};
}

}  // namespace sluice::plugin
