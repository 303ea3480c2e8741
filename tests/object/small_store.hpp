// An object store of one process: keeps objects in memory, and fails as it is told.
#pragma once

#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "sluice/error.hpp"
#include "storage/object/curl_library.hpp"

namespace sluice::test {

/// libcurl is optional: without it there is nothing to test of requests.
inline bool has_curl() {
  try {
    storage::require_curl("s3://bucket/run.zarr");
    return true;
  } catch (const Error&) {
    return false;
  }
}

class SmallStore {
 public:
  struct Request {
    std::string method;
    std::string path;       ///< "/bucket/key?parameters"
    std::string head = {};  ///< with its headers; a fault may take some away
    bool is_done = false;   ///< carried out, though its answer is another
  };
  /// What a request is answered instead of what is so; 0: that; negative: nothing, and its
  /// connection ends.
  using Fault = std::function<int(Request& request)>;
  /// Makes another answer of one that is ready to be sent.
  using Change = std::function<void(const Request& request, std::string& answer)>;

  SmallStore() : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&at), length), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &length), 0);
    port_ = ntohs(at.sin_port);
    acceptor_ = std::thread([this] {
      for (int one = ::accept(listener_, nullptr, nullptr); one >= 0;
           one = ::accept(listener_, nullptr, nullptr)) {
        const std::lock_guard lock(mutex_);
        connections_.push_back(one);
        threads_.emplace_back([this, one] { serve(one); });
      }
    });
  }
  SmallStore(const SmallStore&) = delete;
  SmallStore& operator=(const SmallStore&) = delete;
  ~SmallStore() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    for (const int one : connections_) ::shutdown(one, SHUT_RDWR);
    for (std::thread& thread : threads_) thread.join();
    for (const int one : connections_) ::close(one);
    ::close(listener_);
  }

  /// Makes this process use it.
  void use() const {
    const std::string endpoint = "http://127.0.0.1:" + std::to_string(port_);
    for (const auto& [name, value] :
         std::map<std::string, std::string>{{"AWS_ACCESS_KEY_ID", "key"},
                                            {"AWS_SECRET_ACCESS_KEY", "secret"},
                                            {"AWS_CONFIG_FILE", "/dev/null"},
                                            {"AWS_ENDPOINT_URL", endpoint},
                                            {"no_proxy", "*"}}) {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
  }
  int count(const std::string& method, const std::string& path) {
    const std::lock_guard lock(mutex_);
    return counts_[method + path];
  }
  bool has(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return objects_.count(path) != 0;
  }
  std::string content(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return objects_[path].content;
  }
  /// As another program puts it.
  void set(const std::string& path, const std::string& content, const std::string& commit = "") {
    const std::lock_guard lock(mutex_);
    objects_[path] = {content, commit, ++etags_};
  }
  /// Called for every request; a request that it marks as `is_done` is carried out all the same.
  void fail(Fault fault) {
    const std::lock_guard lock(mutex_);
    fault_ = std::move(fault);
  }
  void change_answers(Change change) {
    const std::lock_guard lock(mutex_);
    change_ = std::move(change);
  }
  /// From now on what goes with a put is dropped.
  void drop_numbers() {
    const std::lock_guard lock(mutex_);
    drops_numbers_ = true;
  }
  /// What listings are answered.
  void set_listing(const std::string& text) {
    const std::lock_guard lock(mutex_);
    listing_ = text;
  }

 private:
  struct Object {
    std::string content;
    std::string commit;
    int etag = 0;
  };

  void serve(int connection) {
    std::string text;
    std::array<char, 4096> some{};
    for (ssize_t got = 0; (got = ::recv(connection, some.data(), some.size(), 0)) > 0;) {
      text.append(some.data(), static_cast<std::size_t>(got));
      for (std::size_t end = text.find("\r\n\r\n"); end != std::string::npos;
           end = text.find("\r\n\r\n")) {
        const std::string head = text.substr(0, end + 2);
        const std::size_t bytes = std::strtoul(value(head, "Content-Length").c_str(), nullptr, 10);
        if (text.size() < end + 4 + bytes) break;
        const std::string body = text.substr(end + 4, bytes);
        text.erase(0, end + 4 + bytes);
        const std::string answer = changed_answer_to(head, body);
        if (answer.empty()) ::shutdown(connection, SHUT_RDWR);
        ::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
      }
    }
  }
  static std::string value(const std::string& head, const std::string& name) {
    const std::size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const std::size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
  std::string changed_answer_to(const std::string& head, const std::string& body) {
    const std::lock_guard lock(mutex_);
    Request request;
    request.head = head;
    std::string answer = answer_to(request, body);
    if (change_) change_(request, answer);
    return answer;
  }
  std::string answer_to(Request& request, const std::string& body) {
    const std::string& head = request.head;
    request.method = head.substr(0, head.find(' '));
    const std::size_t at = request.method.size() + 1;
    request.path = head.substr(at, head.find(' ', at) - at);
    ++counts_[request.method + request.path];
    const int told = fault_ ? fault_(request) : 0;
    const std::string answer = told != 0 && !request.is_done ? "" : carry_out(request, body);
    return told < 0 ? "" : told != 0 ? made(told, nullptr, request.method) : answer;
  }
  std::string carry_out(const Request& request, const std::string& body) {
    const std::string& head = request.head;
    const auto found = objects_.find(request.path);
    const bool is_there = found != objects_.end();
    if (request.path.find("?list-type") != std::string::npos ||
        request.path.find("&list-type") != std::string::npos) {
      const Object listing{listing_, "", 0};
      return made(200, &listing, "GET");
    }
    if (request.method == "PUT") {
      const std::string same = value(head, "if-match");
      const bool must_be_absent = !value(head, "if-none-match").empty();
      if ((must_be_absent && is_there) ||
          (!same.empty() && (!is_there || same != etag_of(found->second)))) {
        return made(412, nullptr, "PUT");
      }
      const std::string commit = drops_numbers_ ? "" : value(head, "x-amz-meta-sluice-commit");
      objects_[request.path] = {body, commit, ++etags_};
      return made(200, &objects_[request.path], "PUT");
    }
    if (request.method == "POST") {
      const Object upload{"<UploadId>1</UploadId>", "", 0};
      return made(200, &upload, "POST");
    }
    if (request.method == "DELETE") {
      objects_.erase(request.path);
      return made(204, nullptr, "DELETE");
    }
    return is_there ? made(200, &found->second, request.method) : made(404, nullptr, "GET");
  }
  static std::string etag_of(const Object& object) {
    return "\"" + std::to_string(object.etag) + "\"";
  }
  static std::string made(int status, const Object* object, const std::string& method) {
    std::string text = "HTTP/1.1 " + std::to_string(status) + " Told\r\n";
    if (object != nullptr) text += "ETag: " + etag_of(*object) + "\r\n";
    if (object != nullptr && !object->commit.empty()) {
      text += "x-amz-meta-sluice-commit: " + object->commit + "\r\n";
    }
    const bool has_content = object != nullptr && method != "PUT";
    const std::string content = has_content ? object->content : "";
    return text + "Content-Length: " + std::to_string(content.size()) + "\r\n\r\n" +
           (method == "HEAD" ? "" : content);
  }

  const int listener_;
  int port_ = 0;
  std::mutex mutex_;
  std::map<std::string, Object> objects_;
  std::map<std::string, int> counts_;
  int etags_ = 0;
  Fault fault_;
  Change change_;
  bool drops_numbers_ = false;
  std::string listing_;
  std::vector<int> connections_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace sluice::test
