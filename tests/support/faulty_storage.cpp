#include "support/faulty_storage.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sluice::storage {

void Faults::add(Rule rule) {
  if (rule.nth == 0) {
    throw Error(Code::invalid_argument, "a fault rule counts calls from 1, not 0");
  }
  const std::lock_guard lock(mutex_);
  rules_.push_back({std::move(rule), 0});
}

void Faults::clear() {
  const std::lock_guard lock(mutex_);
  rules_.clear();
}

std::uint64_t Faults::calls(Call call) const {
  const std::lock_guard lock(mutex_);
  return calls_[static_cast<std::size_t>(call)];
}

std::uint64_t Faults::calls() const {
  const std::lock_guard lock(mutex_);
  return std::accumulate(calls_.begin(), calls_.end(), std::uint64_t{0});
}

std::uint64_t Faults::fired() const {
  const std::lock_guard lock(mutex_);
  return fired_;
}

std::optional<Rule> Faults::match(Call call, const std::string& path, const std::string& other) {
  const std::lock_guard lock(mutex_);
  ++calls_[static_cast<std::size_t>(call)];
  std::optional<Rule> hit;
  // Every rule counts the call, even after another rule matched: the Nth call is the Nth call made.
  for (Armed& armed : rules_) {
    const Rule& rule = armed.rule;
    if (rule.call && *rule.call != call) continue;
    if (path.find(rule.path_part) == std::string::npos &&
        other.find(rule.path_part) == std::string::npos) {
      continue;
    }
    ++armed.matches;
    const bool due = armed.matches == rule.nth || (rule.persistent && armed.matches > rule.nth);
    if (due && !hit) hit = rule;
  }
  if (hit) ++fired_;
  return hit;
}

namespace {

class FaultyFile final : public ForwardingFile {
 public:
  FaultyFile(std::unique_ptr<File> file, std::shared_ptr<Faults> faults)
      : ForwardingFile(std::move(file)), faults_(std::move(faults)) {}

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    if (const auto rule = faults_->match(Call::write, path())) {
      const auto landed = std::min<std::uint64_t>(rule->landed_bytes, bytes.size());
      inner().write(offset, bytes.first(static_cast<std::size_t>(landed)));
      throw system_error(path(), describe(Call::write, bytes.size(), offset), rule->error_number);
    }
    inner().write(offset, bytes);
  }
  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) override {
    pass(Call::read, bytes.size(), offset);
    return inner().read(offset, bytes);
  }
  void preallocate(std::uint64_t offset, std::uint64_t length) override {
    pass(Call::preallocate, length, offset);
    inner().preallocate(offset, length);
  }
  void sync() override {
    const auto rule = faults_->match(Call::sync, path());
    if (rule && sync_errno_ == 0) sync_errno_ = rule->error_number;
    if (sync_errno_ != 0) throw system_error(path(), describe(Call::sync), sync_errno_);
    inner().sync();
  }
  std::uint64_t size() override {
    pass(Call::size);
    return inner().size();
  }
  void resize(std::uint64_t bytes) override {
    pass(Call::resize, bytes);
    inner().resize(bytes);
  }
  void set_modified_ns(std::int64_t ns) override {
    pass(Call::set_modified);
    inner().set_modified_ns(ns);
  }
  std::int64_t modified_ns() override {
    pass(Call::modified);
    return inner().modified_ns();
  }

 private:
  void pass(Call call, std::uint64_t bytes = 0, std::uint64_t offset = 0) {
    if (const auto rule = faults_->match(call, path())) {
      throw system_error(path(), describe(call, bytes, offset), rule->error_number);
    }
  }

  const std::shared_ptr<Faults> faults_;
  int sync_errno_ = 0;
};

/// Throws if a rule applies.
void pass(Faults& faults, Call call, const std::string& path) {
  if (const auto rule = faults.match(call, path)) {
    throw system_error(path, describe(call), rule->error_number);
  }
}

}  // namespace

FaultyStorage::FaultyStorage(std::shared_ptr<Storage> inner, std::shared_ptr<Faults> faults)
    : ObservingStorage(std::move(inner)), faults_(std::move(faults)) {}

std::unique_ptr<File> FaultyStorage::open(const std::string& path, Access access) {
  pass(*faults_, access == Access::create ? Call::create : Call::open, path);
  return std::make_unique<FaultyFile>(inner().open(path, access), faults_);
}

bool FaultyStorage::exists(const std::string& path) {
  pass(*faults_, Call::exists, path);
  return inner().exists(path);
}

bool FaultyStorage::may_have_names(const std::string& path) {
  pass(*faults_, Call::exists, path);
  return inner().may_have_names(path);
}

std::vector<std::string> FaultyStorage::list(const std::string& path) {
  pass(*faults_, Call::list, path);
  return inner().list(path);
}

void FaultyStorage::rename(const std::string& from, const std::string& to) {
  if (const auto rule = faults_->match(Call::rename, from, to)) {
    throw system_error(from, "rename to " + to, rule->error_number);
  }
  inner().rename(from, to);
}

void FaultyStorage::remove(const std::string& path) {
  pass(*faults_, Call::remove, path);
  inner().remove(path);
}

void FaultyStorage::remove_folder(const std::string& path) {
  pass(*faults_, Call::remove_folder, path);
  inner().remove_folder(path);
}

void FaultyStorage::make_folder(const std::string& path) {
  pass(*faults_, Call::make_folder, path);
  inner().make_folder(path);
}

void FaultyStorage::sync_directory(const std::string& path) {
  pass(*faults_, Call::sync_directory, path);
  inner().sync_directory(path);
}

}  // namespace sluice::storage
