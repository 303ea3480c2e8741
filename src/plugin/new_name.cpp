#include "plugin/new_name.hpp"

#include <utility>

#include "commit/publish/atomic_file.hpp"
#include "sluice/error.hpp"

namespace sluice::plugin {

NewName::NewName(storage::Storage& storage, std::string path)
    : storage_(storage), path_(std::move(path)) {}

std::unique_ptr<storage::File> NewName::build(bool exclusive) {
  const std::string building = commit::fresh_building_path(storage_, path_);
  auto file = storage_.create_like(building, path_);
  building_ = building;
  is_exclusive_ = exclusive;
  return file;
}

void NewName::take(bool synced) {
  const std::string building = building_;
  const auto naming = is_exclusive_ ? commit::Naming::refuse : commit::Naming::replace;
  const bool is_replacing = commit::take_name(storage_, building, path_, synced, naming);
  building_.clear();
  is_exclusive_ = false;
  if (!synced) {
    return;
  }
  try {
    storage_.sync_directory(path_);
  } catch (const Error& e) {
    // What was replaced cannot come back.
    is_in_doubt_ = is_replacing || !commit::take_name_back(storage_, building, path_, building_);
    throw is_in_doubt_ ? commit::in_doubt(e) : e;
  }
}

void NewName::forget() noexcept {
  building_.clear();
  commit::forget_building(storage_, path_);
}

}  // namespace sluice::plugin
