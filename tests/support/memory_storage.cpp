#include "support/memory_storage.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "storage/calls.hpp"

namespace sluice::storage {

// Named, because what the public FileSystem holds must have linkage.
namespace in_memory {

constexpr std::size_t memory_page_bytes = 4096;
using Page = std::array<std::byte, memory_page_bytes>;

/// Bytes in pages; a missing page is a hole. Copies share pages until one side writes.
class Content {
 public:
  std::uint64_t size() const { return size_; }

  void write(std::uint64_t offset, std::span<const std::byte> bytes) {
    for (std::size_t done = 0; done < bytes.size();) {
      const std::size_t within = (offset + done) % memory_page_bytes;
      const std::size_t count = std::min(memory_page_bytes - within, bytes.size() - done);
      std::memcpy(own_page((offset + done) / memory_page_bytes).data() + within,
                  bytes.data() + done, count);
      done += count;
    }
    if (!bytes.empty()) grow(offset + bytes.size());
  }

  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) const {
    if (offset >= size_) return 0;
    const auto total =
        static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), size_ - offset));
    for (std::size_t done = 0; done < total;) {
      const std::size_t within = (offset + done) % memory_page_bytes;
      const std::size_t count = std::min(memory_page_bytes - within, total - done);
      const auto page = pages_.find((offset + done) / memory_page_bytes);
      if (page == pages_.end()) {
        std::memset(bytes.data() + done, 0, count);
      } else {
        std::memcpy(bytes.data() + done, page->second->data() + within, count);
      }
      done += count;
    }
    return total;
  }

  void grow(std::uint64_t bytes) { size_ = std::max(size_, bytes); }

  void resize(std::uint64_t bytes) {
    if (bytes < size_) {
      pages_.erase(pages_.lower_bound((bytes + memory_page_bytes - 1) / memory_page_bytes),
                   pages_.end());
      // Bytes beyond the cut must not reappear when the file grows again.
      if (const std::size_t within = bytes % memory_page_bytes;
          within != 0 && pages_.contains(bytes / memory_page_bytes)) {
        Page& last = own_page(bytes / memory_page_bytes);
        std::fill(last.begin() + static_cast<std::ptrdiff_t>(within), last.end(), std::byte{0});
      }
    }
    size_ = bytes;
  }

 private:
  Page& own_page(std::uint64_t number) {
    std::shared_ptr<Page>& page = pages_[number];
    if (!page) {
      page = std::make_shared<Page>();
      page->fill(std::byte{0});
    } else if (page.use_count() > 1) {
      page = std::make_shared<Page>(*page);
    } else {
      // A clone, on another thread, may have read this page just before it released it.
      std::atomic_thread_fence(std::memory_order_acquire);
    }
    return *page;
  }

  std::map<std::uint64_t, std::shared_ptr<Page>> pages_;
  std::uint64_t size_ = 0;
};

struct Inode {
  Content content;
  std::int64_t modified_ns = 0;
};

}  // namespace in_memory

using in_memory::Inode;

struct MemoryStorage::FileSystem {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Inode>> names;
  std::set<std::string> leased;
  std::int64_t changes = 0;

  void touch(Inode& inode) { inode.modified_ns = ++changes; }

  bool is_folder(const std::string& path) const {
    if (path == "." || path == "/") return true;
    const std::string inside = path.ends_with('/') ? path : path + "/";
    const auto next = names.lower_bound(inside);
    return next != names.end() && next->first.starts_with(inside);
  }

  /// ENOTDIR if a component of the path before the last is a file; 0 if a file can be created
  /// there.
  int problem_above(const std::string& path) const {
    for (auto slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      if (names.contains(path.substr(0, slash))) return ENOTDIR;
    }
    return 0;
  }
};

namespace {

class MemoryFile final : public File {
 public:
  MemoryFile(std::shared_ptr<MemoryStorage::FileSystem> system, std::shared_ptr<Inode> inode,
             std::string file_path, bool writable, std::size_t alignment)
      : system_(std::move(system)),
        inode_(std::move(inode)),
        path_(std::move(file_path)),
        writable_(writable),
        alignment_(alignment) {}

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    check_range(path_, Call::write, bytes.size(), offset);
    check_writable(Call::write, bytes.size(), offset);
    const std::lock_guard lock(system_->mutex);
    inode_->content.write(offset, bytes);
    system_->touch(*inode_);
  }
  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) override {
    check_range(path_, Call::read, bytes.size(), offset);
    const std::lock_guard lock(system_->mutex);
    return inode_->content.read(offset, bytes);
  }
  void preallocate(std::uint64_t offset, std::uint64_t length) override {
    check_range(path_, Call::preallocate, length, offset);
    if (length == 0) return;
    check_writable(Call::preallocate, length, offset);
    const std::lock_guard lock(system_->mutex);
    inode_->content.grow(offset + length);
    system_->touch(*inode_);
  }
  void sync() override {}
  std::size_t read_bytes() const override { return 256 << 10; }  // as posix
  std::uint64_t size() override {
    const std::lock_guard lock(system_->mutex);
    return inode_->content.size();
  }
  void resize(std::uint64_t bytes) override {
    check_range(path_, Call::resize, bytes, 0);
    check_writable(Call::resize, bytes, 0);
    const std::lock_guard lock(system_->mutex);
    inode_->content.resize(bytes);
    system_->touch(*inode_);
  }
  void set_modified_ns(std::int64_t ns) override {
    const std::lock_guard lock(system_->mutex);
    inode_->modified_ns = ns;
  }
  std::int64_t modified_ns() override {
    const std::lock_guard lock(system_->mutex);
    return inode_->modified_ns;
  }
  std::size_t alignment() const override { return alignment_; }
  const std::string& path() const override { return path_; }

 private:
  void check_writable(Call call, std::uint64_t bytes, std::uint64_t offset) const {
    if (!writable_) throw system_error(path_, describe(call, bytes, offset), EBADF);
  }

  const std::shared_ptr<MemoryStorage::FileSystem> system_;
  const std::shared_ptr<Inode> inode_;
  const std::string path_;
  const bool writable_;
  const std::size_t alignment_;
};

}  // namespace

MemoryStorage::MemoryStorage(MemoryOptions options)
    : options_(options), system_(std::make_shared<FileSystem>()) {}

MemoryStorage::~MemoryStorage() = default;

std::unique_ptr<File> MemoryStorage::open(const std::string& path, Access access) {
  const std::string name = normal_path(path);
  const Call call = access == Access::create ? Call::create : Call::open;
  const std::lock_guard lock(system_->mutex);
  const auto fail = [&](int problem) { throw system_error(path, describe(call), problem); };
  if (name.empty()) fail(ENOENT);
  if (const int problem = system_->problem_above(name); problem != 0) fail(problem);
  if (system_->is_folder(name)) fail(access == Access::create ? EEXIST : EISDIR);
  auto found = system_->names.find(name);
  if (access == Access::create) {
    if (found != system_->names.end()) fail(EEXIST);
    if (name.ends_with('/')) fail(EISDIR);
    found = system_->names.emplace(name, std::make_shared<Inode>()).first;
    system_->touch(*found->second);
  } else if (found == system_->names.end()) {
    fail(ENOENT);
  }
  return std::make_unique<MemoryFile>(system_, found->second, path, access != Access::read,
                                      options_.alignment);
}

bool MemoryStorage::exists(const std::string& path) {
  const std::string name = normal_path(path);
  const std::lock_guard lock(system_->mutex);
  return system_->names.contains(name) || system_->is_folder(name);
}

std::vector<std::string> MemoryStorage::list(const std::string& path) {
  const std::string name = normal_path(path);
  const std::string inside = name == "." ? "" : name + "/";
  const std::lock_guard lock(system_->mutex);
  if (!system_->is_folder(name)) {
    throw system_error(path, describe(Call::list),
                       system_->names.contains(name) ? ENOTDIR : ENOENT);
  }
  std::vector<std::string> found;
  const auto& names = system_->names;
  for (auto next = names.lower_bound(inside);
       next != names.end() && next->first.starts_with(inside); ++next) {
    const std::string entry =
        next->first.substr(inside.size(), next->first.find('/', inside.size()) - inside.size());
    if (found.empty() || found.back() != entry) found.push_back(entry);
  }
  return found;
}

void MemoryStorage::rename(const std::string& from, const std::string& to) {
  const std::string old_name = normal_path(from);
  const std::string new_name = normal_path(to);
  const std::lock_guard lock(system_->mutex);
  auto& names = system_->names;
  const auto fail = [&](int problem) { throw system_error(from, "rename to " + to, problem); };
  if (const int problem = system_->problem_above(new_name); problem != 0) fail(problem);
  if (const auto found = names.find(old_name); found != names.end()) {
    if (system_->is_folder(new_name)) fail(EISDIR);
    if (new_name == old_name) return;
    std::shared_ptr<Inode> inode = found->second;
    names.erase(found);
    names[new_name] = std::move(inode);
    return;
  }
  if (!system_->is_folder(old_name)) fail(ENOENT);
  if (new_name == old_name) return;
  if (new_name.starts_with(old_name + "/")) fail(EINVAL);
  if (names.contains(new_name)) fail(ENOTDIR);
  if (system_->is_folder(new_name)) fail(ENOTEMPTY);
  const std::string inside = old_name + "/";
  for (auto next = names.lower_bound(inside);
       next != names.end() && next->first.starts_with(inside);) {
    auto node = names.extract(next++);
    node.key() = new_name + "/" + node.key().substr(inside.size());
    names.insert(std::move(node));
  }
}

void MemoryStorage::remove(const std::string& path) {
  const std::string name = normal_path(path);
  const std::lock_guard lock(system_->mutex);
  if (system_->names.erase(name) != 0) return;
  const int problem = system_->is_folder(name) ? EISDIR : ENOENT;
  throw system_error(path, describe(Call::remove), problem);
}

void MemoryStorage::remove_folder(const std::string& path) {
  const std::string inside = normal_path(path) + "/";
  const std::lock_guard lock(system_->mutex);
  std::erase_if(system_->names, [&](const auto& entry) { return entry.first.starts_with(inside); });
}

void MemoryStorage::sync_directory(const std::string&) {}

std::unique_ptr<Lease> MemoryStorage::lease(const std::string& path) {
  class MemoryLease final : public Lease {
   public:
    MemoryLease(std::shared_ptr<FileSystem> system, std::string name)
        : system_(std::move(system)), name_(std::move(name)) {}
    ~MemoryLease() override {
      const std::lock_guard lock(system_->mutex);
      system_->leased.erase(name_);
    }

   private:
    std::shared_ptr<FileSystem> system_;
    std::string name_;
  };
  const std::string name = normal_path(path);
  const std::lock_guard lock(system_->mutex);
  if (!system_->leased.insert(name).second) {
    throw Error(Code::locked, path +
                                  ": is already being written by this program: close that "
                                  "file first");
  }
  return std::make_unique<MemoryLease>(system_, name);
}

FileSystemFacts MemoryStorage::file_system(const std::string&) {
  const Reach reach = options_.stripes != 0 ? Reach::parallel : Reach::unknown;
  return {{}, reach, options_.stripe_bytes, options_.stripes};
}

std::vector<std::string> MemoryStorage::paths() const {
  const std::lock_guard lock(system_->mutex);
  std::vector<std::string> all;
  all.reserve(system_->names.size());
  for (const auto& [name, inode] : system_->names) all.push_back(name);
  return all;
}

std::vector<std::byte> MemoryStorage::contents(const std::string& path) const {
  const std::lock_guard lock(system_->mutex);
  const auto found = system_->names.find(normal_path(path));
  if (found == system_->names.end()) throw system_error(path, describe(Call::read), ENOENT);
  std::vector<std::byte> bytes(static_cast<std::size_t>(found->second->content.size()));
  found->second->content.read(0, bytes);
  return bytes;
}

void MemoryStorage::put(const std::string& path, std::span<const std::byte> bytes) {
  auto inode = std::make_shared<Inode>();
  inode->content.write(0, bytes);
  const std::lock_guard lock(system_->mutex);
  system_->touch(*inode);
  system_->names[normal_path(path)] = std::move(inode);
}

std::shared_ptr<MemoryStorage> MemoryStorage::clone() const {
  auto copy = std::make_shared<MemoryStorage>(options_);
  const std::lock_guard lock(system_->mutex);
  for (const auto& [name, inode] : system_->names) {
    copy->system_->names.emplace(name, std::make_shared<Inode>(*inode));
  }
  copy->system_->changes = system_->changes;
  return copy;
}

std::shared_ptr<MemoryStorage> make_memory(MemoryOptions options) {
  return std::make_shared<MemoryStorage>(options);
}

}  // namespace sluice::storage
