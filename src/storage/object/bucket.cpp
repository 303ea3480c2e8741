#include "storage/object/bucket.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>

#include "model/clock.hpp"
#include "model/number_text.hpp"
#include "sluice/error.hpp"
#include "storage/lease_record.hpp"
#include "storage/object/backoff.hpp"
#include "storage/object/object_errors.hpp"
#include "storage/object/xml.hpp"
#include "storage/say.hpp"

namespace sluice::storage {

namespace {

/// Of one try: a store that needs longer for a request of this library is not there.
constexpr double most_try_s = 120;
/// Of a request that is tried again.
constexpr double say_after_s = 3;
/// Files of credentials are read again after so long, for a token that was renewed.
constexpr double read_again_s = 60;
/// The bytes are not hashed once more: TLS protects them on the way, and Sluice's checksums for
/// good.
constexpr const char* unsigned_payload = "x-amz-content-sha256: UNSIGNED-PAYLOAD";
constexpr const char* modified_header = "x-amz-meta-sluice-modified-ns";
constexpr const char* no_etag =
    ": write failed: the store gives objects no etags, by which a commit is decided";

double chance() {
  thread_local std::mt19937_64 random(std::random_device{}());
  return std::uniform_real_distribution<double>(0, 1)(random);
}

/// The length of the whole object; empty: the answer does not say it.
std::optional<std::uint64_t> bytes_in(const HttpAnswer& answer) {
  const std::string range = answer.header("content-range");
  const std::size_t slash = range.rfind('/');
  return model::number_in<std::uint64_t>(
      slash == std::string::npos ? answer.header("content-length") : range.substr(slash + 1));
}

/// Does a part of an object (206) have the bytes that were asked for, or all up to its end?
bool has_asked_range(const HttpAnswer& answer, const HttpRequest& request) {
  const std::string range = answer.header("content-range");  // "bytes 0-99/1000"
  const std::size_t space = range.find(' ');
  const std::size_t dash = range.find('-');
  if (space == std::string::npos || dash == std::string::npos || dash < space) {
    return false;
  }
  const auto first = model::number_in<std::uint64_t>(range.substr(space + 1, dash - space - 1));
  const std::string asked = request.range.substr(0, request.range.find('-'));
  const auto whole = bytes_in(answer);
  const bool reaches_end = first && whole && *first + answer.received == *whole;
  return first && first == model::number_in<std::uint64_t>(asked) && answer.received != 0 &&
         (answer.received == request.into.size() || reaches_end);
}

ObjectFacts facts_of(const HttpAnswer& answer) {
  constexpr std::int64_t ns_per_s = 1'000'000'000;
  const std::int64_t stored_s = http_date(answer.header("last-modified"));
  const std::int64_t now_s = http_date(answer.header("date"));
  ObjectFacts facts;
  facts.bytes = bytes_in(answer).value_or(0);
  facts.etag = answer.header("etag");
  facts.modified_ns = model::number_in<std::int64_t>(answer.header(modified_header)).value_or(0);
  facts.modified_ns = facts.modified_ns != 0 ? facts.modified_ns : stored_s * ns_per_s;
  facts.commit = answer.header(commit_header);
  facts.age_s = stored_s != 0 && now_s != 0 ? now_s - stored_s : 0;
  return facts;
}

}  // namespace

std::string random_text() {
  std::random_device random;
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < 32; ++i) {
    text += digits[random() & 15];
  }
  return text;
}

Bucket::Bucket(std::string name, std::string path, const BucketOptions& options)
    : name_(std::move(name)),
      path_(std::move(path)),
      options_(options),
      config_(object_config(path_, environment_variable)),
      read_s_(model::now_s()),
      patience_(options.timeout_s) {}

/// Those with a limit of their own, after a failure, do not count.
class Bucket::Wait {
 public:
  Wait(Bucket& bucket, const Call& call)
      : bucket_(bucket), counts_(call.most_s > bucket.after_failure_s()) {}
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
  ~Wait() {
    if (is_begun_) {
      const std::lock_guard lock(bucket_.mutex_);
      bucket_.patience_.end_wait(model::now_s());
    }
  }

  /// The request, which was sent at `sent_s`, has failed.
  void begin(double sent_s) {
    if (counts_ && !std::exchange(is_begun_, true)) {
      const std::lock_guard lock(bucket_.mutex_);
      bucket_.patience_.begin_wait(sent_s, model::now_s());
    }
  }
  /// For as long as it may go on.
  double left_s() const { return is_begun_ ? bucket_.patience_s() : whole_timeout_s; }

 private:
  Bucket& bucket_;
  const bool counts_;
  bool is_begun_ = false;
};

double Bucket::patience_s() {
  const std::lock_guard lock(mutex_);
  return patience_.left_s(model::now_s());
}

ObjectConfig Bucket::config() {
  const std::lock_guard lock(mutex_);
  return config_;
}

/// Files that give none now, as while they are replaced, leave what is in hand: it may still be
/// valid, and if it is not, the store says so.
void Bucket::renew_config() {
  const std::lock_guard lock(mutex_);
  read_s_ = model::now_s();
  try {
    config_ = object_config(path_, environment_variable);
  } catch (const Error&) {
    return;
  }
}

std::string Bucket::url_of(const Call& call, const ObjectConfig& config) const {
  // A dot in the name of a bucket fits no certificate for the names of its host.
  const bool is_path = config.addressing.empty()
                           ? !config.endpoint.empty() || name_.find('.') != std::string::npos
                           : config.addressing == "path";
  const std::string endpoint =
      config.endpoint.empty() ? "https://s3." + config.region + ".amazonaws.com" : config.endpoint;
  const std::size_t host = endpoint.find("://") + 3;
  std::string url = is_path ? endpoint + "/" + name_
                            : endpoint.substr(0, host) + name_ + "." + endpoint.substr(host);
  url += "/" + url_encoded(call.key, "/");
  return call.parameters.empty() ? url : url + "?" + call.parameters;
}

HttpAnswer Bucket::send_once(const HttpRequest& request, double left_s) {
  const ObjectConfig now = config();
  HttpRequest sent = request;
  sent.timeout_s = std::min(left_s, most_try_s);
  Signing signing;
  if (!now.credentials.is_anonymous) {
    sent.headers.emplace_back(unsigned_payload);
    if (!now.credentials.token.empty()) {
      sent.headers.push_back("x-amz-security-token: " + now.credentials.token);
    }
    signing = {"aws:amz:" + now.region + ":s3", now.credentials.key + ":" + now.credentials.secret};
  }
  ++requests_;
  return http_.perform(sent, signing);
}

void Bucket::guard(const std::string& prefix, std::weak_ptr<const LeaseClock> clock) {
  const std::lock_guard lock(mutex_);
  std::erase_if(guards_, [](const auto& known) { return known.second.expired(); });
  guards_[prefix] = std::move(clock);
}

std::shared_ptr<const LeaseClock> Bucket::guard_of(const std::string& key) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const LeaseClock> found;
  for (const auto& [prefix, clock] : guards_) {  // a longer prefix comes later
    const auto held = key.rfind(prefix, 0) == 0 ? clock.lock() : nullptr;
    found = held ? held : found;
  }
  return found;
}

/// Looked at before every try: a writer that was cut off must not change, when the store is back,
/// what another one has written meanwhile.
HttpAnswer Bucket::send_guarded(const Call& call, const HttpRequest& request, double left_s) {
  const bool is_read = request.method == "GET" || request.method == "HEAD";
  const auto clock = is_read ? nullptr : guard_of(call.key);
  if (!clock) {
    return send_once(request, left_s);
  }
  if (clock->is_lost()) {
    throw lost_lease_error(url_text(call.key) + ": " + call.what + " failed");
  }
  const double held_s = clock->left_s();
  if (held_s > 0) {
    return send_once(request, std::min(left_s, held_s));
  }
  HttpAnswer none;
  none.failure = "the writer lease was not renewed for " +
                 std::to_string(std::lround(clock->stale_after_s())) + " s";
  return none;
}

HttpAnswer Bucket::send(const Call& call, HttpRequest request) {
  const double began_s = model::now_s();
  const auto elapsed_s = [&] { return model::now_s() - began_s; };
  BackoffLimits limits;
  limits.deadline_s = limit_s(call);
  Backoff backoff(limits);
  Wait wait(*this, call);
  bool has_renewed = false;
  std::array<std::byte, 1> first_byte{};
  while (true) {
    request.url = url_of(call, config());
    const double left_s = std::max(0.1, std::min(limits.deadline_s - elapsed_s(), wait.left_s()));
    HttpAnswer answer = send_guarded(call, request, left_s);
    if (answer.status == 206 && answer.is_whole && !has_asked_range(answer, request)) {
      answer.is_whole = false;
      answer.failure = "the answer is another part of the object than was asked for";
    }
    const bool is_done = answer.status / 100 == 2 && answer.is_whole &&
                         !(call.may_hold_error && holds_error(answer));
    if (call.may_arrive != nullptr && may_arrive(answer)) *call.may_arrive = true;
    // A page beyond the end of an object is an answer too.
    if (is_done || (call.may_be_absent && answer.status == 404 && !is_missing_bucket(answer)) ||
        (!request.range.empty() && answer.status == 416)) {
      return answer;
    }
    if (request.method == "HEAD" && answer.status / 100 == 4 && answer.status != 429) {
      request.method = "GET";  // whose answer has words
      request.range = "0-0";
      request.into = first_byte;
      continue;
    }
    const bool is_expired = has_expired(answer);
    if (is_expired && !std::exchange(has_renewed, true)) {
      renew_config();
      continue;
    }
    const auto wait_s = may_try_again(answer) ? backoff.next(elapsed_s(), chance()) : std::nullopt;
    if (wait_s) wait.begin(began_s);
    if (!wait_s || *wait_s >= wait.left_s()) {
      fail(call, answer, backoff.tries(), elapsed_s());
    }
    if (options_.says_waits && elapsed_s() > say_after_s && !has_said_wait_.exchange(true)) {
      say_wait(call, answer, backoff.tries(), elapsed_s());
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(*wait_s));
    bool is_old = false;
    {
      const std::lock_guard lock(mutex_);
      is_old = model::now_s() - read_s_ > read_again_s;
    }
    if (is_old) renew_config();
  }
}

Error Bucket::error_of(const Call& call, const HttpAnswer& answer, int tries, double elapsed_s) {
  const std::string at = call.key.empty() ? "s3://" + name_ : url_text(call.key);
  return object_error(
      {at, call.what, name_, config().region, call.is_conditional, tries, elapsed_s}, answer);
}

void Bucket::fail(const Call& call, const HttpAnswer& answer, int tries, double elapsed_s) {
  throw error_of(call, answer, tries, elapsed_s);
}

void Bucket::say_wait(const Call& call, const HttpAnswer& answer, int tries, double elapsed_s) {
  say(std::string(error_of(call, answer, tries, elapsed_s).what()) + "; it is tried again for " +
      std::to_string(std::lround(std::min(limit_s(call) - elapsed_s, patience_s()))) + " s");
}

ObjectFacts Bucket::facts_in(const HttpAnswer& answer) {
  ObjectFacts facts = facts_of(answer);
  if (!facts.commit.empty()) keeps_numbers_ = true;
  return facts;
}

std::optional<ObjectFacts> Bucket::head(const std::string& key, double most_s) {
  HttpRequest request;
  request.method = "HEAD";
  const HttpAnswer answer =
      send({.what = "look-up", .key = key, .may_be_absent = true, .most_s = most_s}, request);
  if (answer.status == 404) {
    return std::nullopt;
  }
  ObjectFacts facts = facts_in(answer);
  if (!bytes_in(answer)) {
    facts.bytes = length_by_range(key, most_s);
  }
  return facts;
}

/// Of an object whose look-up does not say it: an answer that is compressed on the way has none.
std::uint64_t Bucket::length_by_range(const std::string& key, double most_s) {
  std::array<std::byte, 1> first{};
  HttpRequest request;
  request.range = "0-0";
  request.into = first;
  const auto bytes = bytes_in(send({.what = "look-up", .key = key, .most_s = most_s}, request));
  if (!bytes) {
    throw Error(Code::io, url_text(key) +
                              ": look-up failed: the store does not say how long it is: check "
                              "whether a proxy before it changes answers");
  }
  return *bytes;
}

std::size_t Bucket::get(const std::string& key, std::uint64_t offset, std::span<std::byte> into,
                        ObjectFacts* facts, double most_s) {
  if (into.empty()) {
    return 0;
  }
  HttpRequest request;
  request.into = into;
  request.range = std::to_string(offset) + "-" + std::to_string(offset + into.size() - 1);
  const HttpAnswer answer = send({.what = "read", .key = key, .most_s = most_s}, request);
  if (facts != nullptr) {
    *facts = facts_in(answer);
  }
  if (answer.status == 416) {
    return 0;
  }
  if (answer.status == 200 && offset != 0) {
    throw Error(Code::io, url_text(key) + ": read failed: the store does not know ranges of bytes");
  }
  return answer.received;
}

/// Of what was just put, by its number, where the answer had none.
std::string Bucket::etag_of_put(const std::string& key, const PutExtras& extras) {
  const auto there = head(key, extras.most_s);
  if (there && !there->commit.empty() && there->commit != extras.commit) {
    throw overtaken(url_text(key) + ": write failed");
  }
  if (!there || extras.commit.empty() || there->commit != extras.commit || there->etag.empty()) {
    throw Error(Code::unsupported,
                url_text(key) + no_etag + ": check whether a proxy drops ETag or x-amz-meta-*");
  }
  return there->etag;
}

std::string Bucket::put(const std::string& key, std::span<const std::byte> bytes,
                        const PutCondition& condition, const PutExtras& extras) {
  if (condition.kind == PutCondition::Kind::same && condition.etag.empty()) {
    throw Error(Code::unsupported, url_text(key) + no_etag);  // a header without a value is none
  }
  HttpRequest request;
  request.method = "PUT";
  request.body = bytes;
  if (condition.kind == PutCondition::Kind::absent) {
    request.headers.emplace_back("if-none-match: *");
  } else if (condition.kind == PutCondition::Kind::same) {
    request.headers.push_back("if-match: " + condition.etag);
  }
  if (extras.modified_ns != 0) {
    request.headers.push_back(std::string(modified_header) + ": " +
                              std::to_string(extras.modified_ns));
  }
  if (!extras.commit.empty()) {
    request.headers.push_back(std::string(commit_header) + ": " + extras.commit);
  }
  const bool is_conditional = condition.kind != PutCondition::Kind::none;
  const Call call{.what = "write",
                  .key = key,
                  .is_conditional = is_conditional,
                  .most_s = extras.most_s,
                  .may_arrive = extras.may_arrive};
  const std::string etag = send(call, request).header("etag");
  return etag.empty() && is_conditional ? etag_of_put(key, extras) : etag;
}

void Bucket::remove(const std::string& key, double most_s) {
  HttpRequest request;
  request.method = "DELETE";
  send({.what = "remove", .key = key, .may_be_absent = true, .most_s = most_s}, request);
}

Listing Bucket::list(const std::string& prefix, bool by_folder, const std::string& token,
                     int most) {
  std::string parameters;
  if (!token.empty()) {
    parameters += "continuation-token=" + url_encoded(token, "") + "&";
  }
  if (by_folder) {
    parameters += "delimiter=%2F&";
  }
  parameters +=
      "list-type=2&max-keys=" + std::to_string(most) + "&prefix=" + url_encoded(prefix, "");
  const HttpAnswer answer = send({"list", "", parameters}, {});
  if (xml_elements(answer.text, "ListBucketResult").empty()) {
    throw Error(Code::io, url_text(prefix) +
                              ": list failed: the answer is no list of objects: check the endpoint "
                              "(AWS_ENDPOINT_URL): it, or a proxy before it, is no object store");
  }
  const auto checked = [&](std::string name) {
    if (name.rfind(prefix, 0) != 0) {  // it may be removed
      throw Error(Code::io, url_text(prefix) +
                                ": list failed: the store names an object that is not below it: "
                                "check the endpoint (AWS_ENDPOINT_URL), or a proxy before it");
    }
    return name;
  };
  Listing listing;
  for (const std::string_view entry : xml_elements(answer.text, "Contents")) {
    listing.keys.push_back(checked(xml_text(entry, "Key")));
    listing.bytes += model::number_in<std::uint64_t>(xml_text(entry, "Size")).value_or(0);
  }
  for (const std::string_view entry : xml_elements(answer.text, "CommonPrefixes")) {
    listing.folders.push_back(checked(xml_text(entry, "Prefix")));
  }
  if (xml_text(answer.text, "IsTruncated") == "true") {
    listing.next = xml_text(answer.text, "NextContinuationToken");
    if (listing.next.empty() || listing.next == token) {
      throw Error(Code::io, url_text(prefix) +
                                ": list failed: a page without the next one's token: check the "
                                "endpoint (AWS_ENDPOINT_URL), or a proxy before it");
    }
  }
  return listing;
}

}  // namespace sluice::storage
