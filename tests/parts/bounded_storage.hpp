// A storage whose files are open only while they are among the most recently used: it allows one
// process to represent thousands.
#pragma once

#include <list>
#include <memory>
#include <set>
#include <string>

#include "storage/forwarding.hpp"

namespace sluice::test {

class BoundedStorage : public storage::Storage {
 public:
  BoundedStorage(std::shared_ptr<storage::Storage> inner, std::size_t most_open)
      : inner_(std::move(inner)), most_open_(most_open) {}

  std::unique_ptr<storage::File> open(const std::string& path, storage::Access access) override {
    auto file = std::make_unique<BoundedFile>(*this, path, access);
    file->real();  // now, so that errors are reported now
    return file;
  }
  bool exists(const std::string& path) override { return inner_->exists(path); }
  void rename(const std::string& from, const std::string& to) override {
    inner_->rename(from, to);
    for (BoundedFile* file : all_) {
      file->renamed(from, to);
    }
  }
  void remove(const std::string& path) override { inner_->remove(path); }
  void remove_folder(const std::string& path) override { inner_->remove_folder(path); }
  void make_folder(const std::string& path) override { inner_->make_folder(path); }
  void sync_directory(const std::string& path) override { inner_->sync_directory(path); }
  /// None: a lease is an open file, too.
  std::unique_ptr<storage::Lease> lease(const std::string&) override { return nullptr; }
  const char* name() const override { return "bounded"; }

 private:
  class BoundedFile final : public storage::ForwardingFile {
   public:
    BoundedFile(BoundedStorage& storage, std::string path, storage::Access access)
        : storage_(storage), path_(std::move(path)), access_(access) {
      storage_.all_.insert(this);
    }
    ~BoundedFile() override {
      close();
      storage_.all_.erase(this);
    }
    storage::File& real() {
      if (!real_) {
        storage_.make_room();
        real_ = storage_.inner_->open(path_, access_);
        access_ = access_ == storage::Access::create ? storage::Access::read_write : access_;
        place_ = storage_.open_.insert(storage_.open_.begin(), this);
      }
      storage_.open_.splice(storage_.open_.begin(), storage_.open_, place_);
      return *real_;
    }
    void close() {
      if (real_) {
        real_.reset();
        storage_.open_.erase(place_);
      }
    }
    void renamed(const std::string& from, const std::string& to) {
      path_ = path_ == from ? to : path_;
    }

    const std::string& path() const override { return path_; }

   private:
    /// Opening it changes only which files are open.
    storage::File& inner() const override { return const_cast<BoundedFile*>(this)->real(); }

    BoundedStorage& storage_;
    std::string path_;
    storage::Access access_;
    std::unique_ptr<storage::File> real_;
    std::list<BoundedFile*>::iterator place_;
  };

  void make_room() {
    while (open_.size() >= most_open_) {
      open_.back()->close();
    }
  }

  std::shared_ptr<storage::Storage> inner_;
  std::size_t most_open_;
  std::list<BoundedFile*> open_;  ///< most recently used first
  std::set<BoundedFile*> all_;
};

}  // namespace sluice::test
