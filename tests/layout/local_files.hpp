// Files on virtual ranks over memory, for tests of formats.
#pragma once

#include <gtest/gtest.h>

#include "api/file/file_impl.hpp"
#include "support/errors.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"
#include "support/values.hpp"

namespace sluice::test {

class LocalFiles {
 public:
  using Body = std::function<void(exec::Transport&)>;

  std::shared_ptr<storage::MemoryStorage> storage() { return storage_; }
  File open(exec::Transport& transport, const std::string& path, Mode mode,
            const Options& options = {}) {
    return File(detail::open_on(transport, storage_, path, mode, options));
  }
  void run(int ranks, const Body& body) { exec::run_local(ranks, ++seed_, body); }

  /// The error of the ranks, all alike; Code::ok if nothing is thrown.
  Error caught(int ranks, const Body& body) {
    try {
      run(ranks, body);
    } catch (const Error& error) {
      return error;
    }
    return {Code::ok, ""};
  }
  std::string text_of(const std::string& path) {
    const auto bytes = storage_->contents(path);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  void put_text(const std::string& path, const std::string& text) {
    storage_->put(path, std::as_bytes(std::span(text)));
  }

 private:
  std::shared_ptr<storage::MemoryStorage> storage_ = storage::make_memory();
  std::uint64_t seed_ = 0;
};

}  // namespace sluice::test
