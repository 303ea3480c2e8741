// A file that only takes bytes: its addresses stand for others.
#pragma once

#include <string>

#include "sluice/error.hpp"
#include "storage/storage.hpp"

namespace sluice::exec {

class StandInFile : public storage::File {
 public:
  explicit StandInFile(std::string path) : path_(std::move(path)) {}
  std::size_t read(std::uint64_t, std::span<std::byte>) override { refuse(); }
  void preallocate(std::uint64_t, std::uint64_t) override { refuse(); }
  void sync() override { refuse(); }
  std::uint64_t size() override { refuse(); }
  void resize(std::uint64_t) override { refuse(); }
  void set_modified_ns(std::int64_t) override { refuse(); }
  std::int64_t modified_ns() override { refuse(); }
  const std::string& path() const override { return path_; }

 private:
  [[noreturn]] void refuse() const {
    throw Error(Code::internal, path_ + ": a stand-in only takes bytes");
  }
  std::string path_;
};

}  // namespace sluice::exec
