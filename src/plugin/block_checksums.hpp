// Keeps the checksums of a file's blocks while a program writes it (block_table.hpp).
//
// Invariants:
// - They are of what is in the file at a commit that is in its place, and are written after that.
// - A block that is changed in part is compared with its checksum before: where it does not match,
//   it gets one that never will, until all of it is written.
// - Checksums never make a flush fail. Where they cannot be kept, that is said once, and no more
//   are kept in this opening: a table that was left behind is of another state of the file.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "plugin/block_table.hpp"
#include "storage/storage.hpp"

namespace sluice::plugin {

class BlockChecksums {
 public:
  /// Not `wanted`: every call does nothing. `path` is the file's final name.
  BlockChecksums(storage::Storage& storage, std::string path, bool wanted);

  /// Once, of a file that is there: takes over its checksums, if there are those of this state.
  void load(storage::File& file) noexcept;
  /// To be called before bytes of the file at `offset` change.
  void before_change(storage::File& file, std::uint64_t offset, std::uint64_t length) noexcept;
  /// After a commit is in its place.
  void update(storage::File& file) noexcept;
  /// After the last update(): makes them durable.
  void sync() noexcept;

 private:
  bool matches(storage::File& file, std::uint64_t number);
  void note_damage(std::uint64_t number);
  void follow_size(std::uint64_t bytes, storage::File& file);
  void compute(storage::File& file, std::uint64_t number);
  void open_table();
  void give_up(const char* why) noexcept;

  storage::Storage& storage_;
  const std::string path_;
  bool is_kept_;
  BlockTable table_;
  std::unique_ptr<storage::File> file_;  ///< the table's
  std::set<std::uint64_t> changed_;      ///< since the last update
  std::set<std::uint64_t> damaged_;
  std::vector<std::byte> buffer_;
};

}  // namespace sluice::plugin
