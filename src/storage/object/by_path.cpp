#include "storage/object/by_path.hpp"

#include <map>
#include <mutex>

#include "sluice/error.hpp"
#include "storage/object/bucket.hpp"

namespace sluice::storage {

namespace {

constexpr double command_timeout_s = 120;
constexpr std::uint64_t command_budget_bytes = 256ULL << 20;

class ByPath final : public Storage {
 public:
  std::unique_ptr<File> open(const std::string& path, Access access) override {
    return changing(path, access != Access::read).open(path, access);
  }
  std::unique_ptr<File> create_like(const std::string& path, const std::string& model) override {
    return changing(path).create_like(path, model);
  }
  bool exists(const std::string& path) override { return of(path).exists(path); }
  std::vector<std::string> list(const std::string& path) override { return of(path).list(path); }
  std::string real_path(const std::string& path) override { return of(path).real_path(path); }
  void confine(const std::string& top) override { of(top).confine(top); }
  void rename(const std::string& from, const std::string& to) override {
    changing(from);
    changing(to).rename(from, to);
  }
  void rename_new(const std::string& from, const std::string& to) override {
    changing(from);
    changing(to).rename_new(from, to);
  }
  void remove(const std::string& path) override { changing(path).remove(path); }
  bool is_link(const std::string& path) override { return of(path).is_link(path); }
  bool remove_if(const std::string& path,
                 const std::function<bool(std::unique_ptr<File>)>& is_meant) override {
    return changing(path).remove_if(path, is_meant);
  }
  void make_folder(const std::string& path) override { changing(path).make_folder(path); }
  void make_folder_like(const std::string& path, const std::string& model) override {
    changing(path).make_folder_like(path, model);
  }
  void remove_folder(const std::string& path) override { changing(path).remove_folder(path); }
  void sync_directory(const std::string& path) override { of(path).sync_directory(path); }
  std::unique_ptr<Lease> lease(const std::string& path) override {
    return changing(path).lease(path);
  }
  FileSystemFacts file_system(const std::string& path) override {
    return of(path).file_system(path);
  }
  bool in_background() const override { return true; }
  const char* name() const override { return "posix"; }

 private:
  Storage& of(const std::string& path) {
    if (!is_object_path(path)) {
      return *files_;
    }
    const std::lock_guard lock(mutex_);
    auto& store = stores_[parse_object_path(path).bucket];
    if (!store) {
      store = make_object_store(path, command_timeout_s, command_budget_bytes);
    }
    return *store;
  }
  Storage& changing(const std::string& path, bool changes = true) {
    if (changes && is_object_path(path)) {
      throw Error(Code::unsupported,
                  path +
                      ": the command only reads from object stores: write to a file system and "
                      "copy, or write from a program");
    }
    return of(path);
  }

  const std::shared_ptr<Storage> files_ = make_posix();
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Storage>> stores_;
};

}  // namespace

std::shared_ptr<Storage> make_by_path() { return std::make_shared<ByPath>(); }

}  // namespace sluice::storage
