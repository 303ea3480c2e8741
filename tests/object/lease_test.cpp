// A writer that could not renew its lease changes nothing until it knows that it still has it.
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <netinet/in.h>
#include <set>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "gtest/gtest.h"
#include "sluice/error.hpp"
#include "storage/object/curl_library.hpp"
#include "storage/object/object_storage.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;

constexpr const char* record = "/b/run.zarr.sluice-lease";
constexpr const char* below = "/b/run.zarr/x/c.0";

/// Objects of other writers: no process that this machine knows.
constexpr const char* record_of_another =
    "host far, process 1\nsluice-lease 1 00000000-0000-0000-0000-000000000000 1 1 1 file\n";

/// An object store of one process: it keeps which objects there are, and answers as it is told.
class Store {
 public:
  Store() : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
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
  ~Store() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    for (const int one : connections_) ::shutdown(one, SHUT_RDWR);
    for (std::thread& thread : threads_) thread.join();
    for (const int one : connections_) ::close(one);
    ::close(listener_);
  }

  std::string endpoint() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int puts(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return puts_[path];
  }

  std::atomic<bool> renews = true;     ///< answers 503 to the record of the lease if not
  std::atomic<bool> is_taken = false;  ///< another writer has the lease

 private:
  void serve(int connection) {
    std::string text;
    std::array<char, 4096> some{};
    for (ssize_t got = 0; (got = ::recv(connection, some.data(), some.size(), 0)) > 0;) {
      text.append(some.data(), static_cast<std::size_t>(got));
      for (std::size_t end = text.find("\r\n\r\n"); end != std::string::npos;
           end = text.find("\r\n\r\n")) {
        const std::string head = text.substr(0, end);
        const std::size_t at = head.find("Content-Length: ");
        const std::size_t body =
            at == std::string::npos ? 0 : std::strtoul(head.c_str() + at + 16, nullptr, 10);
        if (text.size() < end + 4 + body) break;
        text.erase(0, end + 4 + body);
        const std::string answer = answer_to(head);
        ::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
      }
    }
  }
  std::string answer_to(const std::string& head) {
    const std::lock_guard lock(mutex_);
    const std::string method = head.substr(0, head.find(' '));
    const std::string path =
        head.substr(method.size() + 1, head.find(' ', method.size() + 1) - method.size() - 1);
    if (method == "PUT") {
      ++puts_[path];
      const bool must_be_absent = head.find("if-none-match: *") != std::string::npos;
      if (path == record && !renews) return made(503, "");
      if ((must_be_absent && objects_.count(path) != 0) || (path == record && is_taken)) {
        return made(412, "");
      }
      objects_.insert(path);
      return made(200, "");
    }
    return made(method == "DELETE" ? 204 : 200,
                method == "GET" && is_taken ? record_of_another : "");
  }
  static std::string made(int status, const std::string& body) {
    return "HTTP/1.1 " + std::to_string(status) +
           " Told\r\nETag: \"tag\"\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           body;
  }

  const int listener_;
  int port_ = 0;
  std::mutex mutex_;
  std::set<std::string> objects_;
  std::map<std::string, int> puts_;
  std::vector<int> connections_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

class ObjectLease : public testing::Test {
 protected:
  void SetUp() override {
    try {
      storage::require_curl("s3://b/run.zarr");
    } catch (const Error&) {
      GTEST_SKIP() << "no libcurl";
    }
    for (const auto& [name, value] :
         std::map<std::string, std::string>{{"AWS_ACCESS_KEY_ID", "key"},
                                            {"AWS_SECRET_ACCESS_KEY", "secret"},
                                            {"AWS_CONFIG_FILE", "/dev/null"},
                                            {"AWS_ENDPOINT_URL", store_.endpoint()},
                                            {"no_proxy", "*"}}) {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
    bucket_ = std::make_unique<storage::Bucket>("b", "s3://b/run.zarr", storage::BucketOptions{4});
    lease_ = storage::take_object_lease(*bucket_, "run.zarr", "s3://b/run.zarr", has_conditions_,
                                        {.renew_every_s = 0.05, .stale_after_s = 0.5});
    ASSERT_TRUE(has_conditions_);
  }
  void TearDown() override {
    store_.renews = true;
    lease_.reset();
    bucket_.reset();
  }
  std::future<void> put(const std::string& key) {
    return std::async(std::launch::async, [this, key] {
      const std::vector<std::byte> bytes(10);
      bucket_->put(key, bytes);
    });
  }
  static Code code_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& e) {
      return e.code();
    }
    return Code::internal;
  }

  Store store_;
  bool has_conditions_ = true;
  std::unique_ptr<storage::Bucket> bucket_;
  std::unique_ptr<storage::Lease> lease_;
};

TEST_F(ObjectLease, NothingIsSentUntilItIsRenewed) {
  put("run.zarr/x/c.0").get();
  EXPECT_EQ(store_.puts(below), 1);
  store_.renews = false;
  std::this_thread::sleep_for(800ms);
  auto waiting = put("run.zarr/x/c.0");
  put("other.zarr/x/c.0").get();  // of no lease
  std::this_thread::sleep_for(400ms);
  EXPECT_EQ(store_.puts(below), 1);
  store_.renews = true;
  waiting.get();
  EXPECT_EQ(store_.puts(below), 2);
  lease_->check();
}

TEST_F(ObjectLease, ACheckWaitsForARenewalUntilTheDeadline) {
  store_.renews = false;
  std::this_thread::sleep_for(800ms);
  EXPECT_EQ(code_of([&] { lease_->check(); }), Code::io);
  auto checking = std::async(std::launch::async, [&] { lease_->check(); });
  std::this_thread::sleep_for(100ms);
  store_.renews = true;
  checking.get();
}

TEST_F(ObjectLease, OneThatIsLostIsSoForGood) {
  store_.is_taken = true;
  for (int tries = 0; tries < 3000 && code_of([&] { lease_->check(); }) != Code::locked; ++tries) {
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_EQ(code_of([&] { lease_->check(); }), Code::locked);
  EXPECT_EQ(code_of([&] { put("run.zarr/x/c.0").get(); }), Code::locked);
  EXPECT_EQ(store_.puts(below), 0);
}

}  // namespace
}  // namespace sluice
