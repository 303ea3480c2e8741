#include "storage/object/http.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <mutex>
#include <new>

#include "model/number_text.hpp"
#include "sluice/error.hpp"
#include "storage/object/curl_library.hpp"

namespace sluice::storage {

std::string HttpAnswer::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

std::int64_t http_date(const std::string& text) {
  std::tm time = {};
  // "Wed, 25 Nov 2026 20:53:21 GMT"
  if (::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S", &time) == nullptr) {
    return 0;
  }
  return ::timegm(&time);
}

#ifdef SLUICE_HAS_CURL

namespace {

constexpr double connect_timeout_s = 10;
/// A connection on which nothing moves for so long is given up: the request is tried again.
constexpr long stalled_after_s = 30;
constexpr std::size_t most_idle_handles = 16;
constexpr std::size_t most_headers = 256;

struct Transfer {
  const HttpRequest& request;
  HttpAnswer& answer;
  std::size_t sent = 0;
  bool is_too_long = false;
};

bool is_data(long status) { return status == 200 || status == 206; }

std::size_t take_header(char* data, std::size_t size, std::size_t count, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  const std::string line(data, size * count);
  if (line.rfind("HTTP/", 0) == 0) {
    const std::size_t space = line.find(' ');
    transfer.answer.status =
        space == std::string::npos ? 0 : std::strtol(line.c_str() + space, nullptr, 10);
    transfer.answer.headers.clear();
    return line.size();
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string::npos || transfer.answer.headers.size() >= most_headers) {
    return line.size();
  }
  const std::string name = model::lower_case(line.substr(0, colon));
  const std::size_t first = line.find_first_not_of(" \t", colon + 1);
  const std::size_t last = line.find_last_not_of(" \t\r\n");
  transfer.answer.headers[name] =
      first == std::string::npos || last < first ? "" : line.substr(first, last - first + 1);
  return line.size();
}

std::size_t take_body(char* data, std::size_t size, std::size_t count, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  const std::size_t bytes = size * count;
  HttpAnswer& answer = transfer.answer;
  const std::span<std::byte> into = transfer.request.into;
  if (is_data(answer.status) && !into.empty()) {
    if (bytes > into.size() - answer.received) {
      transfer.is_too_long = true;
      return 0;
    }
    std::memcpy(into.data() + answer.received, data, bytes);
    answer.received += bytes;
    return bytes;
  }
  if (bytes > most_text_bytes - answer.text.size()) {
    transfer.is_too_long = true;
    return 0;
  }
  answer.text.append(data, bytes);
  return bytes;
}

std::size_t give_body(char* data, std::size_t size, std::size_t count, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  const std::span<const std::byte> left = transfer.request.body.subspan(transfer.sent);
  const std::size_t bytes = std::min(left.size(), size * count);
  std::memcpy(data, left.data(), bytes);
  transfer.sent += bytes;
  return bytes;
}

/// A body may have to be sent once more on another connection.
int seek_body(void* context, curl_off_t offset, int origin) {
  auto& transfer = *static_cast<Transfer*>(context);
  if (origin != SEEK_SET || offset < 0 ||
      static_cast<std::size_t>(offset) > transfer.request.body.size()) {
    return CURL_SEEKFUNC_FAIL;
  }
  transfer.sent = static_cast<std::size_t>(offset);
  return CURL_SEEKFUNC_OK;
}

/// The headers of a request, for as long as it takes.
class HeaderList {
 public:
  explicit HeaderList(const std::vector<std::string>& headers) {
    for (const std::string& header : headers) {
      curl_slist* const longer = curl_library().append(list_, header.c_str());
      if (longer == nullptr) {  // without one, a put would have no condition
        curl_library().free_list(list_);
        throw std::bad_alloc();
      }
      list_ = longer;
    }
  }
  ~HeaderList() { curl_library().free_list(list_); }
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

/// The options of a request. Error: libcurl refuses one.
class Options {
 public:
  explicit Options(CURL* handle) : handle_(handle) {}

  template <class Value>
  void set(CURLoption option, Value value) const {
    const CURLcode result = curl_library().set(handle_, option, value);
    if (result != CURLE_OK) {
      throw Error(Code::unsupported, std::string("libcurl refuses an option of a request (") +
                                         curl_library().error_text(result) + "): " + other_libcurl);
    }
  }
  /// The secret is given to a libcurl that signs only: another one would send it.
  void sign(const Signing& signing) const {
    const CURLcode result =
        curl_library().set(handle_, CURLOPT_AWS_SIGV4, signing.provider.c_str());
    if (result != CURLE_OK) {
      throw Error(Code::unsupported, std::string("libcurl cannot sign requests (") +
                                         curl_library().error_text(result) + "): " + other_libcurl);
    }
    set(CURLOPT_USERPWD, signing.user.c_str());
  }

 private:
  static constexpr const char* other_libcurl =
      "install one that was built with TLS and AWS_SIGV4 (Debian: libcurl4)";
  CURL* const handle_;
};

void describe_request(const Options& options, const HttpRequest& request, const Signing& signing,
                      Transfer& transfer) {
  const auto milliseconds = [](double s) { return std::max(1L, static_cast<long>(s * 1000)); };
  options.set(CURLOPT_URL, request.url.c_str());
  options.set(CURLOPT_NOSIGNAL, 1L);
  options.set(CURLOPT_PROTOCOLS_STR, "http,https");
  options.set(CURLOPT_FOLLOWLOCATION, 0L);
  options.set(CURLOPT_PATH_AS_IS, 1L);
  options.set(CURLOPT_CONNECTTIMEOUT_MS,
              milliseconds(std::min(connect_timeout_s, request.timeout_s)));
  options.set(CURLOPT_TIMEOUT_MS, milliseconds(request.timeout_s));
  options.set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  options.set(CURLOPT_LOW_SPEED_TIME, stalled_after_s);
  options.set(CURLOPT_HEADERFUNCTION, take_header);
  options.set(CURLOPT_HEADERDATA, &transfer);
  options.set(CURLOPT_WRITEFUNCTION, take_body);
  options.set(CURLOPT_WRITEDATA, &transfer);
  options.set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (request.method == "HEAD") {
    options.set(CURLOPT_NOBODY, 1L);
  } else if (request.method == "PUT" || request.method == "POST") {
    options.set(CURLOPT_UPLOAD, 1L);
    options.set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    options.set(CURLOPT_READFUNCTION, give_body);
    options.set(CURLOPT_READDATA, &transfer);
    options.set(CURLOPT_SEEKFUNCTION, seek_body);
    options.set(CURLOPT_SEEKDATA, &transfer);
    options.set(CURLOPT_UPLOAD_BUFFERSIZE, 512L << 10);
  } else {
    options.set(CURLOPT_BUFFERSIZE, 256L << 10);
  }
  if (!request.range.empty()) {
    options.set(CURLOPT_RANGE, request.range.c_str());
  }
  if (!signing.provider.empty()) {
    options.sign(signing);
  }
}

/// Is it a matter of the address or of its certificate?
bool is_never_ok(CURLcode result) {
  switch (result) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
      return true;
    default:
      return false;
  }
}

}  // namespace

struct Http::Connections {
  std::mutex mutex;
  std::vector<CURL*> idle;  ///< each with its connection

  CURL* take() {
    const std::lock_guard lock(mutex);
    if (idle.empty()) {
      return curl_library().easy_init();
    }
    CURL* const handle = idle.back();
    idle.pop_back();
    return handle;
  }
  void give(CURL* handle) {
    {
      const std::lock_guard lock(mutex);
      if (idle.size() < most_idle_handles) {
        idle.push_back(handle);
        return;
      }
    }
    curl_library().cleanup(handle);
  }
};

Http::Http() : connections_(std::make_unique<Connections>()) {}

Http::~Http() {
  for (CURL* const handle : connections_->idle) {
    curl_library().cleanup(handle);
  }
}

HttpAnswer Http::perform(const HttpRequest& request, const Signing& signing) {
  HttpAnswer answer;
  const auto give = [this](CURL* taken) { connections_->give(taken); };
  const std::unique_ptr<CURL, decltype(give)> taken(connections_->take(), give);
  CURL* const handle = taken.get();
  if (handle == nullptr) {
    answer.failure = "libcurl has no memory for a connection";
    return answer;
  }
  const CurlLibrary& curl = curl_library();
  curl.reset(handle);
  Transfer transfer{request, answer};
  std::vector<std::string> lines = request.headers;
  lines.emplace_back("Expect:");  // a server that waits for it costs a second
  const HeaderList headers(lines);
  const Options options(handle);
  describe_request(options, request, signing, transfer);
  options.set(CURLOPT_HTTPHEADER, headers.get());
  const CURLcode result = curl.perform(handle);
  answer.is_whole = result == CURLE_OK;
  answer.is_hopeless = is_never_ok(result) || (transfer.is_too_long && is_data(answer.status));
  answer.was_sent = result != CURLE_COULDNT_CONNECT && result != CURLE_COULDNT_RESOLVE_HOST &&
                    result != CURLE_COULDNT_RESOLVE_PROXY;
  if (result != CURLE_OK) {
    answer.failure = transfer.is_too_long ? "the answer is longer than what was asked for"
                                          : curl.error_text(result);
  }
  return answer;
}

#else

struct Http::Connections {};
Http::Http() = default;
Http::~Http() = default;
HttpAnswer Http::perform(const HttpRequest&, const Signing&) { return {}; }

#endif

}  // namespace sluice::storage
