#include "storage/object/by_path.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "model/name.hpp"
#include "sluice/error.hpp"
#include "storage/forwarding.hpp"
#include "storage/object/bucket.hpp"
#include "storage/object/curl_library.hpp"
#include "storage/object/object_storage.hpp"

namespace sluice::storage {

namespace {

constexpr std::uint64_t command_budget_bytes = 256ULL << 20;

class ByPath final : public ForwardingStorage {
 public:
  explicit ByPath(std::function<double()> timeout_s)
      : ForwardingStorage(make_posix()), timeout_s_(std::move(timeout_s)) {}

 private:
  Storage& at(const std::string& path) override {
    if (!is_object_path(path)) {
      return inner();
    }
    const std::lock_guard lock(mutex_);
    auto& store = stores_[parse_object_path(path).bucket];
    if (!store) {
      require_curl(model::escaped(path, model::Shown::line).c_str());
      store = std::make_shared<ObjectStorage>(
          path, ObjectStorageOptions{timeout_s_(), command_budget_bytes, true});
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

  const std::function<double()> timeout_s_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Storage>> stores_;
};

}  // namespace

std::shared_ptr<Storage> make_by_path(std::function<double()> timeout_s) {
  return std::make_shared<ByPath>(std::move(timeout_s));
}

std::optional<std::uint64_t> bytes_of_objects(Storage& storage, const std::string& path) {
  auto* const objects = dynamic_cast<ObjectStorage*>(storage.whole_files(path));
  return objects == nullptr ? std::nullopt : std::optional(objects->bytes_below(path));
}

}  // namespace sluice::storage
