// Objects that are being written: collected in memory, and sent when they are whole.
//
// Invariants: the memory of all objects together stays below the limit, but for one object; what
// was not written is zero; a failure is reported by the next finish(), and nothing is sent after it
// until discard(); no object is sent twice at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "storage/object/bucket.hpp"
#include "storage/object/workers.hpp"

namespace sluice::storage {

struct UploadLimits {
  std::uint64_t held_bytes = 128ULL << 20;  ///< of objects that are not sent yet
  std::uint64_t part_bytes = 8ULL << 20;    ///< longer objects go in parts; S3 takes 5 MiB and more
  /// Objects that are remembered; beyond it those that were sent whole are forgotten.
  std::size_t known = 65536;
};

/// Sends an object, in parts of at most `part_bytes` where it is longer, several at a time.
void send_object(Bucket& bucket, const std::string& key, std::span<const std::byte> bytes,
                 std::uint64_t part_bytes);

class Uploads {
 public:
  Uploads(Bucket& bucket, Workers& workers, const UploadLimits& limits)
      : bucket_(bucket), workers_(workers), limits_(limits) {}
  ~Uploads();

  /// From now on the object has this content, of `bytes` bytes or as many as are written. Another
  /// `version` forgets what was written under the name before. Any thread, as all calls.
  void begin(const std::string& key, std::uint64_t version, std::uint64_t bytes);
  void write(const std::string& key, std::uint64_t offset, std::span<const std::byte> bytes);
  /// Sends everything and waits.
  void finish();
  /// Forgets everything that was not sent.
  void discard();
  std::uint64_t most_held_bytes() const noexcept { return most_held_bytes_; }

 private:
  struct Pending {
    std::uint64_t version = 0;
    std::uint64_t bytes = 0;  ///< of the object
    std::vector<std::byte> content;
    std::map<std::uint64_t, std::uint64_t> written;  ///< ranges: begin, end
    bool is_dirty = false;
    bool is_sending = false;
    bool was_sent = false;
  };
  using Lock = std::unique_lock<std::mutex>;

  void hold(Lock& lock, const std::string& key, Pending& pending, std::uint64_t end);
  void make_room(Lock& lock, const std::string& key, std::uint64_t bytes);
  void bring_back(const std::string& key, Pending& pending);
  void send(Lock& lock, const std::string& key, const std::shared_ptr<Pending>& pending);
  void carry_out(const std::string& key, Pending& pending);
  void forget_oldest();

  Bucket& bucket_;
  Workers& workers_;
  const UploadLimits limits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<Pending>> pending_;
  std::uint64_t held_bytes_ = 0;
  std::uint64_t most_held_bytes_ = 0;
  std::size_t sending_ = 0;
  std::exception_ptr failure_;
};

}  // namespace sluice::storage
