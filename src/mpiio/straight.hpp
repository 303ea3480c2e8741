// The file itself, as the calls read and write it.
//
// Invariant: where each access locks, no byte is read, written or counted without a lock of its
// own range. NFS needs that if ranks are on several nodes: each node keeps pages of the file, and
// may write a whole page where a part of it was changed, over what another node has written there.
// A lock makes the node read its pages anew, keeps its writes to what was changed, and has them
// written back before it ends.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "mpiio/sink.hpp"
#include "storage/foreign_file.hpp"
#include "storage/storage.hpp"

namespace sluice::mpiio {

class Straight final : public Sink {
 public:
  enum class Locks : std::uint8_t {
    none,       ///< or the caller has one that covers the access
    each,       ///< access takes one, shared where it reads
    exclusive,  ///< the same for a file that may not be read, where none can be shared
  };

  explicit Straight(storage::File& file, Locks locks) : file_(file), locks_(locks) {}
  void write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  /// Fewer bytes than requested only at the end of the file.
  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes);
  std::uint64_t size();
  const std::string& path() const { return file_.path(); }

 private:
  std::unique_ptr<storage::RangeLock> lock(const storage::ByteRange& range, bool is_exclusive);

  storage::File& file_;
  const Locks locks_;
};

}  // namespace sluice::mpiio
