// HTTP requests over libcurl: one at a time for each thread, over connections that are kept.
//
// Invariants: a request ends by its deadline; no more is stored of an answer than the caller has
// room for, or most_text_bytes; redirections are not followed, so that a signed request goes to the
// host that was named; nothing here writes a log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice::storage {

struct HttpRequest {
  std::string method = "GET";
  std::string url;                        ///< encoded, parameters in ascending order
  std::vector<std::string> headers = {};  ///< "name: value"
  std::span<const std::byte> body = {};   ///< of PUT and POST
  std::span<std::byte> into = {};         ///< for the body of an answer of 200 or 206
  std::string range = {};                 ///< "0-99"; empty: everything
  double timeout_s = 0;                   ///< of this request
};

/// How libcurl signs; empty: not at all.
struct Signing {
  std::string provider = {};  ///< "aws:amz:REGION:s3"
  std::string user = {};      ///< "KEY:SECRET"
};

struct HttpAnswer {
  long status = 0;                               ///< 0: there was none
  std::map<std::string, std::string> headers{};  ///< names in lower case
  std::string text = {};                         ///< the body, where it did not go into memory
  std::size_t received = 0;                      ///< bytes in the caller's memory
  bool is_whole = false;                         ///< everything that was announced arrived
  std::string failure = {};                      ///< what the network did; without addresses
  bool is_hopeless = false;                      ///< as any other try would fail
  bool was_sent = false;                         ///< there was a connection

  std::string header(const std::string& name) const;
};

/// Of an answer that is text.
inline constexpr std::size_t most_text_bytes = 16 << 20;

/// Seconds since 1970 of a date of HTTP; 0: none.
std::int64_t http_date(const std::string& text);

class Http {
 public:
  Http();
  ~Http();
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;

  /// Never throws for what the network or the server does. Any thread.
  HttpAnswer perform(const HttpRequest& request, const Signing& signing);

 private:
  struct Connections;
  std::unique_ptr<Connections> connections_;
};

}  // namespace sluice::storage
