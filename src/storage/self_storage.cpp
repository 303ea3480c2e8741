#include "storage/self_storage.hpp"

#include "storage/forwarding.hpp"

namespace sluice::storage {

namespace {

class SelfStorage final : public ForwardingStorage {
 public:
  using ForwardingStorage::ForwardingStorage;

  std::unique_ptr<File> open_together(const std::string& path, Access access,
                                      bool takes_part) override {
    return Storage::open_together(path, access, takes_part);
  }
  int ranks_together() const override { return 0; }
};

}  // namespace

std::unique_ptr<Storage> make_self_storage(Storage& inner) {
  return std::make_unique<SelfStorage>(inner);
}

}  // namespace sluice::storage
