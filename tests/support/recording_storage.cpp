#include "support/recording_storage.hpp"

#include <utility>

namespace sluice::storage {

namespace {

/// Calls `action`, then appends `record` to `records`, marked as failed if the action threw.
template <typename Action>
void carry_out(std::vector<Record>& records, Record record, Action action) {
  try {
    action();
  } catch (...) {
    record.failed = true;
    records.push_back(std::move(record));
    throw;
  }
  records.push_back(std::move(record));
}

}  // namespace

Counters& Counters::operator+=(const Counters& other) {
  for (const auto& [rank, count] : other.opens_by_rank) opens_by_rank[rank] += count;
  opens += other.opens;
  open_now += other.open_now;
  writes += other.writes;
  bytes_written += other.bytes_written;
  reads += other.reads;
  bytes_read += other.bytes_read;
  preallocations += other.preallocations;
  syncs += other.syncs;
  return *this;
}

Counters Log::counters(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto found = counters_.find(normal_path(path));
  return found == counters_.end() ? Counters{} : found->second;
}

Counters Log::totals() const {
  const std::lock_guard lock(mutex_);
  Counters sum;
  for (const auto& [path, counters] : counters_) sum += counters;
  return sum;
}

void Log::clear() {
  const std::lock_guard lock(mutex_);
  records_.clear();
  kept_bytes_ = 0;
  for (auto& [path, counters] : counters_) {
    const std::uint64_t open_now = counters.open_now;
    counters = {};
    counters.open_now = open_now;
  }
}

class RecordingFile final : public ForwardingFile {
 public:
  RecordingFile(std::unique_ptr<File> file, std::shared_ptr<Log> log, int rank, std::uint64_t inode)
      : ForwardingFile(std::move(file)),
        log_(std::move(log)),
        rank_(rank),
        inode_(inode),
        name_(normal_path(path())) {}
  RecordingFile(const RecordingFile&) = delete;
  RecordingFile& operator=(const RecordingFile&) = delete;
  ~RecordingFile() override {
    const std::lock_guard lock(log_->mutex_);
    --counters().open_now;
  }

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    const std::lock_guard lock(log_->mutex_);
    if (bytes.size() > log_->limit_bytes_ - log_->kept_bytes_) {
      throw Error(Code::over_budget, path() + ": the recording is limited to " +
                                         std::to_string(log_->limit_bytes_) +
                                         " bytes: raise the limit of its log");
    }
    log_->kept_bytes_ += bytes.size();
    ++counters().writes;
    counters().bytes_written += bytes.size();
    Record record = make(Call::write, offset, bytes.size());
    record.bytes.assign(bytes.begin(), bytes.end());
    carry_out(log_->records_, std::move(record), [&] { inner().write(offset, bytes); });
  }
  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) override {
    const std::size_t count = inner().read(offset, bytes);
    const std::lock_guard lock(log_->mutex_);
    ++counters().reads;
    counters().bytes_read += count;
    return count;
  }
  void preallocate(std::uint64_t offset, std::uint64_t length) override {
    const std::lock_guard lock(log_->mutex_);
    ++counters().preallocations;
    carry_out(log_->records_, make(Call::preallocate, offset, length),
              [&] { inner().preallocate(offset, length); });
  }
  void sync() override {
    const std::lock_guard lock(log_->mutex_);
    ++counters().syncs;
    carry_out(log_->records_, make(Call::sync, 0, 0), [&] { inner().sync(); });
  }
  void resize(std::uint64_t bytes) override {
    const std::lock_guard lock(log_->mutex_);
    carry_out(log_->records_, make(Call::resize, 0, bytes), [&] { inner().resize(bytes); });
  }
  void set_modified_ns(std::int64_t ns) override {
    const std::lock_guard lock(log_->mutex_);
    Record record = make(Call::set_modified, 0, 0);
    record.modified_ns = ns;
    carry_out(log_->records_, std::move(record), [&] { inner().set_modified_ns(ns); });
  }

 private:
  Counters& counters() { return log_->counters_[name_]; }

  Record make(Call call, std::uint64_t offset, std::uint64_t length) const {
    Record record;
    record.call = call;
    record.rank = rank_;
    record.inode = inode_;
    record.path = name_;
    record.offset = offset;
    record.length = length;
    return record;
  }

  const std::shared_ptr<Log> log_;
  const int rank_;
  const std::uint64_t inode_;
  const std::string name_;
};

RecordingStorage::RecordingStorage(std::shared_ptr<Storage> inner, std::shared_ptr<Log> log,
                                   int rank)
    : ObservingStorage(std::move(inner)), log_(std::move(log)), rank_(rank) {}

/// The inode that `name` refers to, numbered now if it is new to the log; 0 if there is no such
/// file. The log is locked by the caller.
std::uint64_t RecordingStorage::identify(const std::string& name) {
  if (const auto found = log_->inodes_.find(name); found != log_->inodes_.end()) {
    return found->second;
  }
  if (!inner().exists(name)) return 0;
  const std::uint64_t inode = ++log_->last_inode_;
  log_->inodes_[name] = inode;
  Record record;
  record.call = Call::open;
  record.rank = rank_;
  record.inode = inode;
  record.path = name;
  log_->records_.push_back(std::move(record));
  return inode;
}

std::unique_ptr<File> RecordingStorage::open(const std::string& path, Access access) {
  const std::string name = normal_path(path);
  const int rank = rank_;
  const std::lock_guard lock(log_->mutex_);
  std::unique_ptr<File> file;
  std::uint64_t inode = 0;
  if (access == Access::create) {
    Record record;
    record.call = Call::create;
    record.rank = rank;
    record.inode = ++log_->last_inode_;
    record.path = name;
    inode = record.inode;
    carry_out(log_->records_, std::move(record), [&] { file = inner().open(path, access); });
    log_->inodes_[name] = inode;
  } else {
    file = inner().open(path, access);
    inode = identify(name);
  }
  Counters& counters = log_->counters_[name];
  ++counters.opens;
  ++counters.opens_by_rank[rank];
  ++counters.open_now;
  return std::make_unique<RecordingFile>(std::move(file), log_, rank, inode);
}

void RecordingStorage::rename(const std::string& from, const std::string& to) {
  Record record;
  record.call = Call::rename;
  record.rank = rank_;
  record.path = normal_path(from);
  record.to = normal_path(to);
  const std::string old_name = record.path;
  const std::string new_name = record.to;
  const std::lock_guard lock(log_->mutex_);
  record.inode = identify(old_name);
  record.replaced = identify(new_name);
  carry_out(log_->records_, std::move(record), [&] { inner().rename(from, to); });
  if (new_name == old_name) return;
  auto& inodes = log_->inodes_;
  if (auto node = inodes.extract(old_name); !node.empty()) {
    inodes.erase(new_name);
    node.key() = new_name;
    inodes.insert(std::move(node));
  }
  // Renaming a folder moves its content.
  const std::string inside = old_name + "/";
  for (auto next = inodes.lower_bound(inside);
       next != inodes.end() && next->first.starts_with(inside);) {
    auto node = inodes.extract(next++);
    node.key() = new_name + "/" + node.key().substr(inside.size());
    inodes.insert(std::move(node));
  }
}

void RecordingStorage::remove(const std::string& path) {
  Record record;
  record.call = Call::remove;
  record.rank = rank_;
  record.path = normal_path(path);
  const std::string name = record.path;
  const std::lock_guard lock(log_->mutex_);
  record.inode = identify(name);
  carry_out(log_->records_, std::move(record), [&] { inner().remove(path); });
  log_->inodes_.erase(name);
}

void RecordingStorage::remove_folder(const std::string& path) {
  Record record;
  record.call = Call::remove_folder;
  record.rank = rank_;
  record.path = normal_path(path);
  const std::string inside = record.path + "/";
  const std::lock_guard lock(log_->mutex_);
  carry_out(log_->records_, std::move(record), [&] { inner().remove_folder(path); });
  std::erase_if(log_->inodes_, [&](const auto& known) { return known.first.starts_with(inside); });
}

void RecordingStorage::make_folder(const std::string& path) {
  const std::string name = normal_path(path);
  std::vector<Record> made;
  const std::lock_guard lock(log_->mutex_);
  for (std::size_t end = 0; end != std::string::npos;) {
    end = name.find('/', end + 1);
    Record record;
    record.call = Call::make_folder;
    record.rank = rank_;
    record.path = name.substr(0, end);
    if (!inner().exists(record.path)) {
      made.push_back(std::move(record));
    }
  }
  inner().make_folder(path);
  for (Record& record : made) {
    log_->records_.push_back(std::move(record));
  }
}

void RecordingStorage::sync_directory(const std::string& path) {
  Record record;
  record.call = Call::sync_directory;
  record.rank = rank_;
  record.path = normal_path(path);
  const std::lock_guard lock(log_->mutex_);
  carry_out(log_->records_, std::move(record), [&] { inner().sync_directory(path); });
}

}  // namespace sluice::storage
