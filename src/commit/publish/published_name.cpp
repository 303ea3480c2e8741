#include "commit/publish/published_name.hpp"

#include <utility>

#include "storage/endings.hpp"

namespace sluice::commit {

PublishedName::PublishedName(storage::Storage& storage, const std::string& path, std::string remedy)
    : storage_(storage), path_(path), remedy_(std::move(remedy)), lease_(storage.lease(path)) {}

void PublishedName::begin(Naming naming, bool is_taken) {
  if (naming == Naming::refuse && is_taken) {
    throw taken_error(path_);
  }
  naming_ = naming;
  holder_ = is_taken ? Holder::another : Holder::nothing;
}

std::unique_ptr<storage::File> PublishedName::create() {
  const std::string building = fresh_building_path(storage_, path_);
  auto file = storage_.create_like(building, path_);
  building_ = building;
  identity_ = file->identity();
  return file;
}

void PublishedName::give_up() noexcept {
  try {
    check_lease();
    storage_.remove(building_);
  } catch (const std::exception&) {
    // a stale temporary is replaced by the next run
  }
}

Naming PublishedName::prepare() noexcept {
  if (holder_ != Holder::own) {
    replaced_.keep_if_moved();
  }
  return holder_ == Holder::nothing ? naming_ : Naming::replace;
}

bool PublishedName::take(bool synced) {
  const bool is_replacing = take_name(storage_, building_, path_, synced, prepare());
  building_.clear();
  settle();
  return is_replacing;
}

bool PublishedName::give_back() noexcept {
  holder_ = Holder::nothing;
  if (take_name_back(storage_, building_path(path_), path_, building_)) {
    return true;
  }
  settle();
  return false;
}

void PublishedName::remove_replaced() noexcept {
  if (!is_building()) {
    replaced_.remove_parts();
  }
}

void PublishedName::check_lease() const {
  if (!lease_) {
    return;
  }
  try {
    lease_->check();
  } catch (const Error& e) {
    const bool is_all_gone = e.code() == Code::locked && holder_ == Holder::own &&
                             !storage_.exists(storage::lease_path(path_)) &&
                             !storage_.exists(path_);
    throw is_all_gone ? moved_error() : e;
  }
}

void PublishedName::check() const {
  check_lease();
  if (holder_ != Holder::own) {
    return;
  }
  switch (storage::standing_at(storage_, path_, identity_, end_)) {
    case storage::Standing::whole:
      return;
    case storage::Standing::shorter:
      throw cut_error();
    case storage::Standing::gone:
      throw moved_error();
  }
}

bool PublishedName::leads_to_file() const {
  check_lease();
  return storage::is_at(storage_, path_, identity_);
}

bool PublishedName::leads_to(storage::File& file) const {
  check_lease();
  return file.identity() == identity_ &&
         storage::standing_at(storage_, path_, identity_, end_) == storage::Standing::whole;
}

}  // namespace sluice::commit
