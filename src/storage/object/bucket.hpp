// The calls of a bucket of an S3 store, each with its retries.
//
// Invariants: a call returns or throws one Error in a line by BucketOptions::timeout_s; it is sent
// again after 5xx, 429 and failures of the connection only, and only if doing it twice does no
// harm; no message has a secret, a signature or what the server says of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/error.hpp"
#include "storage/object/credentials.hpp"
#include "storage/object/http.hpp"
#include "storage/object/lease_clock.hpp"
#include "storage/object/patience.hpp"

namespace sluice::storage {

struct BucketOptions {
  double timeout_s = 300;   ///< of a call, with its retries
  bool says_waits = false;  ///< on stderr, once: what is tried again, after a few seconds
};

/// What is known of an object.
struct ObjectFacts {
  std::uint64_t bytes = 0;
  std::string etag;
  std::int64_t modified_ns = 0;  ///< as the writer said, or else when the store got it
  std::string commit;            ///< the random number of its put, of some objects
  std::int64_t age_s = 0;        ///< by the clock of the store alone
};

/// What must be true of the object that a put replaces.
struct PutCondition {
  enum class Kind : std::uint8_t { none, absent, same };
  Kind kind = Kind::none;
  std::string etag;  ///< same
};

inline constexpr const char* commit_header = "x-amz-meta-sluice-commit";
/// Of a call that is tried for BucketOptions::timeout_s.
inline constexpr double whole_timeout_s = 1e9;

struct PutExtras {
  std::int64_t modified_ns = 0;  ///< 0: not told
  std::string commit;
  double most_s = whole_timeout_s;  ///< of the call, where that is less than timeout_s
  /// Becomes true where a try got no answer: it may be carried out later, if the call fails too.
  bool* may_arrive = nullptr;
};

struct Listing {
  std::vector<std::string> keys;
  std::vector<std::string> folders;  ///< common prefixes, with their slash
  std::uint64_t bytes = 0;           ///< of the objects in `keys`
  std::string next;                  ///< token of the next page; empty: this is the last one
};

class Bucket {
 public:
  /// `path`: as the user named it, for messages.
  Bucket(std::string name, std::string path, const BucketOptions& options);

  const std::string& name() const noexcept { return name_; }
  std::string url_text(const std::string& key) const { return "s3://" + name_ + "/" + key; }

  /// Empty: there is no such object. `most_s`: as in PutExtras.
  std::optional<ObjectFacts> head(const std::string& key, double most_s = whole_timeout_s);
  /// Reads from `offset`; returns how many bytes there were. `most_s`: as in PutExtras. Error
  /// not_found.
  std::size_t get(const std::string& key, std::uint64_t offset, std::span<std::byte> into,
                  ObjectFacts* facts = nullptr, double most_s = whole_timeout_s);
  /// The etag of what was written; empty only without a condition. Error locked: the condition does
  /// not hold; unsupported: the store knows none, or gives no etags.
  std::string put(const std::string& key, std::span<const std::byte> bytes,
                  const PutCondition& condition = {}, const PutExtras& extras = {});
  /// What is not there is no error. `most_s`: as in PutExtras.
  void remove(const std::string& key, double most_s = whole_timeout_s);
  /// One page. `most`: of its entries.
  Listing list(const std::string& prefix, bool by_folder, const std::string& token = {},
               int most = 1000);

  /// From now on, while `clock` lives, what changes objects below `prefix` is sent only while the
  /// writer lease is held: a request that cannot be sent waits as one that failed, and is an Error
  /// locked once the lease is lost.
  void guard(const std::string& prefix, std::weak_ptr<const LeaseClock> clock);
  double timeout_s() const noexcept { return options_.timeout_s; }
  /// How long a request that fails would be tried now.
  double patience_s();
  /// Of what follows a failure, while other ranks wait for the error.
  double after_failure_s() const noexcept { return std::min(5.0, options_.timeout_s * 0.1); }

  /// Requests that were sent, retries among them.
  std::uint64_t requests() const noexcept { return requests_; }

 private:
  friend class PartsUpload;  // whose calls are of this bucket

  struct Call {
    std::string what;  ///< for messages: "put", ...
    std::string key;
    std::string parameters = {};  ///< in ascending order
    bool is_conditional = false;
    bool may_be_absent = false;  ///< 404 is an answer
    /// An answer of 200 may have an error in it: the store sends its head before it has done it.
    bool may_hold_error = false;
    double most_s = whole_timeout_s;
    bool* may_arrive = nullptr;  ///< as in PutExtras
  };
  /// How long a call is tried, on its own.
  double limit_s(const Call& call) const { return std::min(options_.timeout_s, call.most_s); }
  /// While a request that failed is tried again.
  class Wait;
  /// Notes whether the store keeps numbers, too.
  ObjectFacts facts_in(const HttpAnswer& answer);
  std::string etag_of_put(const std::string& key, const PutExtras& extras);
  std::uint64_t length_by_range(const std::string& key, double most_s);
  HttpAnswer send(const Call& call, HttpRequest request);
  HttpAnswer send_once(const HttpRequest& request, double left_s);
  HttpAnswer send_guarded(const Call& call, const HttpRequest& request, double left_s);
  std::shared_ptr<const LeaseClock> guard_of(const std::string& key);
  ObjectConfig config();
  void renew_config();
  std::string url_of(const Call& call, const ObjectConfig& config) const;
  Error error_of(const Call& call, const HttpAnswer& answer, int tries, double elapsed_s);
  [[noreturn]] void fail(const Call& call, const HttpAnswer& answer, int tries, double elapsed_s);
  void say_wait(const Call& call, const HttpAnswer& answer, int tries, double elapsed_s);

  const std::string name_;
  const std::string path_;
  const BucketOptions options_;
  std::mutex mutex_;
  ObjectConfig config_;
  double read_s_;                                                  ///< the files of credentials
  std::map<std::string, std::weak_ptr<const LeaseClock>> guards_;  ///< by prefix
  Patience patience_;
  Http http_;
  std::atomic<std::uint64_t> requests_ = 0;
  std::atomic<bool> has_said_wait_ = false;
  std::atomic<bool> keeps_numbers_ = false;  ///< an object was seen with the number of its put
};

/// A random number that goes with a put, by which it is known again.
std::string random_text();

/// Of an address: "s3://bucket/key". Error bad_name.
struct ObjectPath {
  std::string bucket;
  std::string key;  ///< without a slash at its ends
};
ObjectPath parse_object_path(const std::string& path);
/// For an address; `keep`: characters beside letters, digits and "-_.~".
std::string url_encoded(const std::string& text, const char* keep);

}  // namespace sluice::storage
