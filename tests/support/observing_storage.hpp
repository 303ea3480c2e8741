// The base of storages of tests that observe or change calls on another one.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sluice/error.hpp"
#include "storage/forwarding.hpp"

namespace sluice::storage {

/// What is made of open(), exists(), rename() and remove() goes through those of this object, and
/// every rank opens for itself. So the permissions of a model, and renaming without replacing as
/// one call, are lost. Calls on whole files go past it: a wrapper that may not miss any refuses
/// them by no_whole_files().
class ObservingStorage : public ForwardingStorage {
 public:
  using ForwardingStorage::ForwardingStorage;

  std::unique_ptr<File> open_together(const std::string& path, Access access,
                                      bool takes_part) override {
    return Storage::open_together(path, access, takes_part);
  }
  std::unique_ptr<File> create_like(const std::string& path, const std::string& model) override {
    return Storage::create_like(path, model);
  }
  void rename_new(const std::string& from, const std::string& to) override {
    Storage::rename_new(from, to);
  }
  bool remove_if(const std::string& path,
                 const std::function<bool(std::unique_ptr<File>)>& is_meant) override {
    return Storage::remove_if(path, is_meant);
  }
  void make_folder_like(const std::string& path, const std::string& model) override {
    Storage::make_folder_like(path, model);
  }
  int ranks_together() const override { return 0; }

 protected:
  /// For whole_files(): null, or Error internal where the storage of `path` has whole files.
  WholeFiles* no_whole_files(const std::string& path) {
    if (at(path).whole_files(path) == nullptr) return nullptr;
    throw Error(Code::internal,
                path + ": storage " + name() + " does not see the calls on whole files");
  }
};

}  // namespace sluice::storage
