// A file and a storage that forward every call to another one: the bases of wrappers.
//
// Invariant: collective writes and reads go through write() and read() of this object, piece by
// piece, so that a wrapper which observes or changes them misses nothing.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/storage.hpp"

namespace sluice::storage {

class ForwardingFile : public File {
 public:
  explicit ForwardingFile(std::unique_ptr<File> inner) : inner_(std::move(inner)) {}

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    inner().write(offset, bytes);
  }
  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) override {
    return inner().read(offset, bytes);
  }
  void preallocate(std::uint64_t offset, std::uint64_t length) override {
    inner().preallocate(offset, length);
  }
  void sync() override { inner().sync(); }
  std::uint64_t size() override { return inner().size(); }
  void resize(std::uint64_t bytes) override { inner().resize(bytes); }
  void set_modified_ns(std::int64_t ns) override { inner().set_modified_ns(ns); }
  std::int64_t modified_ns() override { return inner().modified_ns(); }
  FileIdentity identity() override { return inner().identity(); }
  bool is_removed() override { return inner().is_removed(); }
  bool share_lock() override { return inner().share_lock(); }
  Objects* objects() override { return inner().objects(); }
  std::size_t alignment() const override { return inner().alignment(); }
  std::size_t read_bytes() const override { return inner().read_bytes(); }
  void begin_sync() override { inner().begin_sync(); }
  void keep_cached(bool is_wanted) override { inner().keep_cached(is_wanted); }
  void drop_cache() override { inner().drop_cache(); }
  const std::string& path() const override { return inner().path(); }
  void close() override { inner().close(); }

 protected:
  /// For wrappers that open their file on demand: they override inner().
  ForwardingFile() = default;
  virtual File& inner() const { return *inner_; }
  /// Forwards later calls to another file.
  void hand_on_to(std::unique_ptr<File> file) { inner_ = std::move(file); }

 private:
  std::unique_ptr<File> inner_;
};

/// Every virtual function of Storage is here: what is left out changes what a wrapped storage does,
/// and nothing says so.
class ForwardingStorage : public Storage {
 public:
  explicit ForwardingStorage(std::shared_ptr<Storage> inner)
      : owned_(std::move(inner)), inner_(owned_.get()) {}
  /// `inner` must outlive it.
  explicit ForwardingStorage(Storage& inner) : inner_(&inner) {}

  std::unique_ptr<File> open(const std::string& path, Access access) override {
    return (access == Access::read ? at(path) : changed(path)).open(path, access);
  }
  std::unique_ptr<File> open_together(const std::string& path, Access access,
                                      bool takes_part) override {
    Storage& inner = access == Access::read ? at(path) : changed(path);
    return inner.open_together(path, access, takes_part);
  }
  std::unique_ptr<File> create_like(const std::string& path, const std::string& model) override {
    return changed(path).create_like(path, model);
  }
  bool exists(const std::string& path) override { return at(path).exists(path); }
  bool may_have_names(const std::string& path) override { return at(path).may_have_names(path); }
  std::vector<std::string> list(const std::string& path) override { return at(path).list(path); }
  std::string real_path(const std::string& path) override { return at(path).real_path(path); }
  void confine(const std::string& top) override { at(top).confine(top); }
  void rename(const std::string& from, const std::string& to) override {
    changed(from);
    changed(to).rename(from, to);
  }
  void rename_new(const std::string& from, const std::string& to) override {
    changed(from);
    changed(to).rename_new(from, to);
  }
  void remove(const std::string& path) override { changed(path).remove(path); }
  bool is_link(const std::string& path) override { return at(path).is_link(path); }
  bool remove_if(const std::string& path,
                 const std::function<bool(std::unique_ptr<File>)>& is_meant) override {
    return changed(path).remove_if(path, is_meant);
  }
  void make_folder(const std::string& path) override { changed(path).make_folder(path); }
  void make_folder_like(const std::string& path, const std::string& model) override {
    changed(path).make_folder_like(path, model);
  }
  void remove_folder(const std::string& path) override { changed(path).remove_folder(path); }
  void sync_directory(const std::string& path) override { at(path).sync_directory(path); }
  std::unique_ptr<Lease> lease(const std::string& path) override {
    return changed(path).lease(path);
  }
  FileSystemFacts file_system(const std::string& path) override {
    return at(path).file_system(path);
  }
  bool in_background() const override { return inner_->in_background(); }
  int ranks_together() const override { return inner_->ranks_together(); }
  WholeFiles* whole_files(const std::string& path) override { return at(path).whole_files(path); }
  const char* name() const override { return inner_->name(); }

 protected:
  Storage& inner() const noexcept { return *inner_; }
  /// Which storage has `path`: for wrappers of several.
  virtual Storage& at(const std::string& path) {
    (void)path;
    return *inner_;
  }
  /// The same for a call that changes it: may refuse.
  virtual Storage& changed(const std::string& path) { return at(path); }

 private:
  const std::shared_ptr<Storage> owned_;
  Storage* const inner_;
};

}  // namespace sluice::storage
