#include "storage/object/by_path.hpp"

#include <map>
#include <mutex>

#include "sluice/error.hpp"
#include "storage/forwarding.hpp"
#include "storage/object/bucket.hpp"
#include "storage/object/object_storage.hpp"

namespace sluice::storage {

namespace {

constexpr double command_timeout_s = 120;
constexpr std::uint64_t command_budget_bytes = 256ULL << 20;

class ByPath final : public ForwardingStorage {
 public:
  ByPath() : ForwardingStorage(make_posix()) {}

 private:
  Storage& at(const std::string& path) override {
    if (!is_object_path(path)) {
      return inner();
    }
    const std::lock_guard lock(mutex_);
    auto& store = stores_[parse_object_path(path).bucket];
    if (!store) {
      store = make_object_store(path, command_timeout_s, command_budget_bytes);
    }
    return *store;
  }
  Storage& changed(const std::string& path) override {
    if (is_object_path(path)) {
      throw Error(Code::unsupported,
                  path +
                      ": the command only reads from object stores: write to a file system and "
                      "copy, or write from a program");
    }
    return at(path);
  }

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Storage>> stores_;
};

}  // namespace

std::shared_ptr<Storage> make_by_path() { return std::make_shared<ByPath>(); }

std::optional<std::uint64_t> bytes_of_objects(Storage& storage, const std::string& path) {
  auto* const objects = dynamic_cast<ObjectStorage*>(storage.whole_files(path));
  return objects == nullptr ? std::nullopt : std::optional(objects->bytes_below(path));
}

}  // namespace sluice::storage
