// A snapshot as if it were a Zarr store: documents and chunks under the names that they would have
// there, so that the code of Zarr reads it.
//
// Invariants: an object of the view is a document, bytes of a manifest, or a file of the
// repository; the first two are in memory of this rank alone, so what is in them is read through
// this rank. Nothing can be written.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "layout/icechunk/repository.hpp"
#include "layout/zarr/metadata.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::icechunk {

class View final : public storage::File, public storage::Objects {
 public:
  /// `store` must outlive the view. The rest as Repository.
  explicit View(storage::File& store, const std::string& branch = default_branch)
      : store_(store), repository_(store, branch) {}

  Repository& repository() noexcept { return repository_; }
  /// The file of the repository that an object of the view is; "" for one in memory.
  std::string file_of(const std::string& name);
  /// Are all chunks of the array whole files of the repository?
  bool is_in_files(const std::string& array);

  Objects* objects() override { return this; }
  void map(std::span<const storage::Segment> segments) override;
  void adopt(std::span<const storage::Segment>) override {}
  std::optional<std::uint64_t> object_bytes(const std::string& name) override;
  storage::Sizes sizes_of(std::span<const std::string> names) override;
  std::vector<std::string> names_in(const std::string& name) override;
  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) override;

  void write(std::uint64_t, std::span<const std::byte>) override;
  void preallocate(std::uint64_t, std::uint64_t) override {}
  void sync() override {}
  std::uint64_t size() override;
  void resize(std::uint64_t) override {}
  void set_modified_ns(std::int64_t) override {}
  std::int64_t modified_ns() override { return store_.modified_ns(); }
  const std::string& path() const override { return store_.path(); }

 private:
  /// What is in memory, or begins inside a file.
  struct Part {
    std::vector<std::byte> bytes;
    std::uint64_t file_address = 0;  ///< of the part, where it is not in memory
    std::uint64_t length = 0;
  };

  /// Of an object that is mapped.
  Part part_of(const storage::Segment& segment);
  const std::string* document(const std::string& name) const;
  const ChunkRef* find(const std::string& name);
  /// Do the names of its chunks begin with "c"?
  bool is_prefixed(const Node& node);
  /// The size of the file; Error where the chunk is not inside it, or not in the repository.
  std::uint64_t checked_file_bytes(const std::string& name, const ChunkRef& ref);

  storage::File& store_;
  Repository repository_;
  std::map<NodeId, bool> prefixed_;
  std::map<std::uint64_t, Part> parts_;
  std::map<std::string, std::uint64_t> file_bytes_;  ///< of the last call of sizes_of()
};

}  // namespace sluice::layout::icechunk
