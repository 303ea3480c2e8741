// Files with provisional addresses, which are replaced by the final ones later.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "layout/layout.hpp"
#include "sluice/error.hpp"
#include "storage/storage.hpp"

namespace sluice::exec {

/// Only accepts writes.
class ProvisionalFile : public storage::File {
 public:
  explicit ProvisionalFile(std::string path) : path_(std::move(path)) {}
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
    throw Error(Code::internal, path_ + ": a file of provisional addresses can only be written");
  }
  std::string path_;
};

/// Writes what comes to the provisional addresses of a plan to `file`; keeps it in memory until
/// place() has given the final addresses. Used by one thread at a time.
class RelocatedFile final : public ProvisionalFile {
 public:
  /// `file` must outlive the object.
  RelocatedFile(storage::File& file, std::shared_ptr<const layout::CommitPlan> provisional)
      : ProvisionalFile(file.path()), file_(file), provisional_(std::move(provisional)) {}

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  /// Error internal if `real` has other tiles than the provisional plan.
  void place(const layout::CommitPlan& real);
  /// After place(): writes what was kept before it.
  void write_kept();

 private:
  struct Range {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t address = 0;
  };
  struct Kept {
    std::uint64_t offset = 0;
    std::vector<std::byte> bytes;
  };
  void add(std::uint64_t provisional, std::uint64_t bytes, std::uint64_t address);
  void place_checksums(const layout::Placement& here, const layout::CommitPlan& real);

  storage::File& file_;
  const std::shared_ptr<const layout::CommitPlan> provisional_;
  bool is_placed_ = false;
  std::vector<Range> ranges_;
  std::vector<Kept> kept_;
};

}  // namespace sluice::exec
