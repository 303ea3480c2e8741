#include "storage/object/leftovers.hpp"

#include <utility>

#include "storage/object/pages.hpp"

namespace sluice::storage {

namespace {

/// A page of a listing may cost as many requests to remove one object as this.
constexpr std::size_t removals_for_a_page = 8;

std::string folder_in(const std::string& key) { return key.substr(0, key.rfind('/') + 1); }

}  // namespace

Leftovers::Known Leftovers::listed(const std::string& folder, std::size_t wanted) {
  std::set<std::string> names;
  std::size_t left = 1 + wanted / removals_for_a_page;
  for (Pages pages(bucket_, folder, true); !pages.at_end(); --left) {
    if (left == 0) {
      return std::nullopt;
    }
    for (std::string& key : pages.next().keys) {
      names.insert(std::move(key));
    }
  }
  return names;
}

std::vector<std::string> Leftovers::among(std::span<const std::string> keys) {
  std::map<std::string, std::size_t> wanted;
  for (const std::string& key : keys) {
    ++wanted[folder_in(key)];
  }
  const std::lock_guard lock(mutex_);
  for (const auto& [folder, count] : wanted) {
    if (folders_.count(folder) == 0) {
      folders_.emplace(folder, listed(folder, count));
    }
  }
  std::vector<std::string> found;
  for (const std::string& key : keys) {
    Known& known = folders_[folder_in(key)];
    if (!known || known->erase(key) != 0) {
      found.push_back(key);
    }
  }
  return found;
}

void Leftovers::forget() {
  may_be_any_ = true;
  const std::lock_guard lock(mutex_);
  folders_.clear();
}

}  // namespace sluice::storage
