// A file that forwards every call to another one: the base of wrappers.
//
// Invariant: collective writes and reads go through write() and read() of this object, piece by
// piece, so that a wrapper which observes or changes them misses nothing.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "storage/storage.hpp"

namespace sluice::storage {

class ForwardingFile : public File {
 public:
  explicit ForwardingFile(std::unique_ptr<File> inner) : inner_(std::move(inner)) {}

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    inner().write(offset, bytes);
  }
  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) override {
    return inner().read(offset, bytes);
  }
  void preallocate(std::uint64_t offset, std::uint64_t length) override {
    inner().preallocate(offset, length);
  }
  void sync() override { inner().sync(); }
  std::uint64_t size() override { return inner().size(); }
  void resize(std::uint64_t bytes) override { inner().resize(bytes); }
  void set_modified_ns(std::int64_t ns) override { inner().set_modified_ns(ns); }
  std::int64_t modified_ns() override { return inner().modified_ns(); }
  FileIdentity identity() override { return inner().identity(); }
  bool share_lock() override { return inner().share_lock(); }
  Objects* objects() override { return inner().objects(); }
  std::size_t alignment() const override { return inner().alignment(); }
  std::size_t read_bytes() const override { return inner().read_bytes(); }
  void begin_sync() override { inner().begin_sync(); }
  void keep_cached(bool is_wanted) override { inner().keep_cached(is_wanted); }
  void drop_cache() override { inner().drop_cache(); }
  const std::string& path() const override { return inner().path(); }
  void close() override { inner().close(); }

 protected:
  /// For wrappers that open their file on demand: they override inner().
  ForwardingFile() = default;
  virtual File& inner() const { return *inner_; }
  /// Forwards later calls to another file.
  void hand_on_to(std::unique_ptr<File> file) { inner_ = std::move(file); }

 private:
  std::unique_ptr<File> inner_;
};

}  // namespace sluice::storage
