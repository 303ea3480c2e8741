#include "storage/object/uploads.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sluice/error.hpp"
#include "storage/object/parts_upload.hpp"

namespace sluice::storage {

namespace {

constexpr std::size_t parts_at_a_time = 4;
constexpr std::uint64_t most_parts = 10000;  // of S3

bool is_whole(const std::map<std::uint64_t, std::uint64_t>& written, std::uint64_t bytes) {
  return written.size() == 1 && written.begin()->first == 0 && written.begin()->second >= bytes;
}

void add_range(std::map<std::uint64_t, std::uint64_t>& ranges, std::uint64_t begin,
               std::uint64_t end) {
  auto at = ranges.upper_bound(begin);
  if (at != ranges.begin() && std::prev(at)->second >= begin) {
    --at;
    begin = at->first;
  }
  while (at != ranges.end() && at->first <= end) {
    end = std::max(end, at->second);
    at = ranges.erase(at);
  }
  ranges[begin] = end;
}

}  // namespace

void send_object(Bucket& bucket, const std::string& key, std::span<const std::byte> bytes,
                 std::uint64_t part_bytes) {
  if (bytes.size() <= part_bytes) {
    bucket.put(key, bytes);
    return;
  }
  part_bytes = std::max(part_bytes, (bytes.size() + most_parts - 1) / most_parts);
  ObjectFacts made;
  made.bytes = bytes.size();
  made.commit = random_text();
  PartsUpload upload(bucket, key, std::move(made));
  try {
    const std::size_t count = (bytes.size() + part_bytes - 1) / part_bytes;
    std::vector<UploadedPart> parts(count);
    Workers workers(std::min(parts_at_a_time, count));
    workers.for_each(count, [&](std::size_t i) {
      const std::size_t begin = i * part_bytes;
      const std::size_t length = std::min<std::size_t>(part_bytes, bytes.size() - begin);
      parts[i] = upload.put(static_cast<int>(i) + 1, bytes.subspan(begin, length));
    });
    upload.end(parts);
  } catch (...) {
    upload.abort();
    throw;
  }
}

Uploads::~Uploads() { discard(); }

void Uploads::begin(const std::string& key, std::uint64_t version, std::uint64_t bytes) {
  Lock lock(mutex_);
  auto found = pending_.find(key);
  while (found != pending_.end()) {
    if (found->second->version == version) {
      return;
    }
    if (!found->second->is_sending) {
      held_bytes_ -= found->second->content.size();
      break;
    }
    // It would come after what is sent now. Meanwhile it may be forgotten, or begun by another.
    changed_.wait(lock);
    found = pending_.find(key);
  }
  const auto pending = std::make_shared<Pending>();
  pending->version = version;
  pending->bytes = bytes;
  pending_[key] = pending;
  forget_oldest();
}

/// One that was sent before it was whole is kept: the rest of it is put to what was sent.
void Uploads::forget_oldest() {
  if (pending_.size() <= limits_.known) {
    return;
  }
  const auto is_needed = [](const Pending& p) {
    return p.is_dirty || p.is_sending || !p.was_sent || !is_whole(p.written, p.bytes);
  };
  const auto oldest =
      std::min_element(pending_.begin(), pending_.end(), [&](const auto& a, const auto& b) {
        const auto rank = [&](const Pending& p) { return std::pair(is_needed(p), p.version); };
        return rank(*a.second) < rank(*b.second);
      });
  if (!is_needed(*oldest->second)) {
    pending_.erase(oldest);
  }
}

/// Of an object that was sent before all of it was written.
void Uploads::bring_back(const std::string& key, Pending& pending) {
  std::vector<std::byte> content(pending.bytes);
  content.resize(bucket_.get(key, 0, content));
  content.resize(pending.bytes);
  held_bytes_ += content.size();
  pending.content = std::move(content);
}

/// Makes the content reach to `end`.
void Uploads::hold(Lock& lock, const std::string& key, Pending& pending, std::uint64_t end) {
  const auto wanted_bytes = [&] { return std::max(pending.bytes, end); };
  do {
    changed_.wait(lock, [&] { return !pending.is_sending; });
    if (pending.content.size() < wanted_bytes()) {
      make_room(lock, key, wanted_bytes() - pending.content.size());
    }
  } while (pending.is_sending);  // another thread has written the rest of it meanwhile
  const std::uint64_t wanted = wanted_bytes();
  if (pending.was_sent && pending.content.empty() && pending.bytes != 0) {
    bring_back(key, pending);
  }
  if (pending.content.size() < wanted) {
    held_bytes_ += wanted - pending.content.size();
    pending.content.resize(wanted);
  }
  pending.bytes = wanted;
  most_held_bytes_ = std::max(most_held_bytes_, held_bytes_);
}

void Uploads::make_room(Lock& lock, const std::string& key, std::uint64_t bytes) {
  while (held_bytes_ != 0 && held_bytes_ + bytes > limits_.held_bytes && !failure_) {
    if (sending_ != 0) {
      changed_.wait(lock);
      continue;
    }
    const auto largest =
        std::max_element(pending_.begin(), pending_.end(), [&](const auto& a, const auto& b) {
          const auto held = [&](const auto& entry) {
            return entry.first == key ? 0 : entry.second->content.size();
          };
          return held(a) < held(b);
        });
    if (largest == pending_.end() || largest->first == key || largest->second->content.empty()) {
      return;  // only the object itself
    }
    const auto [name, largest_pending] = *largest;
    send(lock, name, largest_pending);
  }
}

void Uploads::write(const std::string& key, std::uint64_t offset,
                    std::span<const std::byte> bytes) {
  Lock lock(mutex_);
  if (failure_) {
    std::rethrow_exception(failure_);
  }
  const auto found = pending_.find(key);
  if (found == pending_.end()) {
    throw Error(Code::internal, bucket_.url_text(key) + ": is written and was not begun");
  }
  const std::shared_ptr<Pending> pending = found->second;
  hold(lock, key, *pending, offset + bytes.size());
  std::memcpy(pending->content.data() + offset, bytes.data(), bytes.size());
  pending->is_dirty = true;
  add_range(pending->written, offset, offset + bytes.size());
  if (is_whole(pending->written, pending->bytes)) {
    send(lock, key, pending);
  }
}

/// Gives up the lock meanwhile: it is carried out here where there is no thread.
void Uploads::send(Lock& lock, const std::string& key, const std::shared_ptr<Pending>& pending) {
  if (failure_ || pending->is_sending) {
    return;
  }
  pending->is_sending = true;
  ++sending_;
  lock.unlock();
  try {
    workers_.submit([this, key, pending] { carry_out(key, *pending); });
  } catch (...) {  // no memory: it was not begun
    lock.lock();
    pending->is_sending = false;
    --sending_;
    changed_.notify_all();
    throw;
  }
  lock.lock();
}

void Uploads::carry_out(const std::string& key, Pending& pending) {
  std::exception_ptr met;
  Lock lock(mutex_);
  if (!failure_) {  // of another one, since this one was submitted
    lock.unlock();
    try {
      send_object(bucket_, key, pending.content, limits_.part_bytes);
    } catch (...) {
      met = std::current_exception();
    }
    lock.lock();
  }
  failure_ = failure_ ? failure_ : met;
  held_bytes_ -= pending.content.size();
  pending.content = {};
  pending.is_dirty = false;
  pending.is_sending = false;
  pending.was_sent = true;
  --sending_;
  changed_.notify_all();
}

void Uploads::finish() {
  Lock lock(mutex_);
  changed_.wait(lock, [this] { return sending_ == 0; });
  std::vector<std::pair<std::string, std::shared_ptr<Pending>>> dirty;
  for (const auto& [key, pending] : pending_) {
    if (pending->is_dirty) {
      dirty.emplace_back(key, pending);
    }
  }
  for (const auto& [key, pending] : dirty) {
    send(lock, key, pending);
  }
  changed_.wait(lock, [this] { return sending_ == 0; });
  if (failure_) {
    std::rethrow_exception(failure_);
  }
}

void Uploads::discard() {
  Lock lock(mutex_);
  changed_.wait(lock, [this] { return sending_ == 0; });
  pending_.clear();
  held_bytes_ = 0;
  failure_ = nullptr;
}

}  // namespace sluice::storage
