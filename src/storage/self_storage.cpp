#include "storage/self_storage.hpp"

namespace sluice::storage {

namespace {

class SelfStorage final : public Storage {
 public:
  explicit SelfStorage(Storage& inner) : inner_(inner) {}

  std::unique_ptr<File> open(const std::string& path, Access access) override {
    return inner_.open(path, access);
  }
  std::unique_ptr<File> create_like(const std::string& path, const std::string& model) override {
    return inner_.create_like(path, model);
  }
  std::string real_path(const std::string& path) override { return inner_.real_path(path); }
  void confine(const std::string& top) override { inner_.confine(top); }
  bool exists(const std::string& path) override { return inner_.exists(path); }
  std::vector<std::string> list(const std::string& path) override { return inner_.list(path); }
  void rename(const std::string& from, const std::string& to) override { inner_.rename(from, to); }
  void rename_new(const std::string& from, const std::string& to) override {
    inner_.rename_new(from, to);
  }
  void remove(const std::string& path) override { inner_.remove(path); }
  bool is_link(const std::string& path) override { return inner_.is_link(path); }
  bool remove_if(const std::string& path,
                 const std::function<bool(std::unique_ptr<File>)>& is_meant) override {
    return inner_.remove_if(path, is_meant);
  }
  void remove_folder(const std::string& path) override { inner_.remove_folder(path); }
  void make_folder(const std::string& path) override { inner_.make_folder(path); }
  void make_folder_like(const std::string& path, const std::string& model) override {
    inner_.make_folder_like(path, model);
  }
  void sync_directory(const std::string& path) override { inner_.sync_directory(path); }
  std::unique_ptr<Lease> lease(const std::string& path) override { return inner_.lease(path); }
  FileSystemFacts file_system(const std::string& path) override { return inner_.file_system(path); }
  bool in_background() const override { return inner_.in_background(); }
  const char* name() const override { return inner_.name(); }

 private:
  Storage& inner_;
};

}  // namespace

std::unique_ptr<Storage> make_self_storage(Storage& inner) {
  return std::make_unique<SelfStorage>(inner);
}

}  // namespace sluice::storage
