// A disk that forwards every call to another one: the base of faulty disks.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "storage/storage.hpp"

namespace sluice::test {

class ForwardingStorage : public storage::Storage {
 public:
  explicit ForwardingStorage(std::shared_ptr<storage::Storage> disk) : disk_(std::move(disk)) {}

  std::unique_ptr<storage::File> open(const std::string& path, storage::Access access) override {
    return disk_->open(path, access);
  }
  bool exists(const std::string& path) override { return disk_->exists(path); }
  void rename(const std::string& from, const std::string& to) override { disk_->rename(from, to); }
  void remove(const std::string& path) override { disk_->remove(path); }
  bool is_link(const std::string& path) override { return disk_->is_link(path); }
  void make_folder(const std::string& path) override { disk_->make_folder(path); }
  void remove_folder(const std::string& path) override { disk_->remove_folder(path); }
  void sync_directory(const std::string& path) override { disk_->sync_directory(path); }
  std::unique_ptr<storage::Lease> lease(const std::string& path) override {
    return disk_->lease(path);
  }
  bool in_background() const override { return disk_->in_background(); }
  const char* name() const override { return disk_->name(); }

 protected:
  storage::Storage& disk() { return *disk_; }

 private:
  const std::shared_ptr<storage::Storage> disk_;
};

}  // namespace sluice::test
