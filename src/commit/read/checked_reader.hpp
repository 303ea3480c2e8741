// Reads of one rank by itself from located variables, and their verification.
//
// Invariant: data with checksum records is checked before it is returned, partial reads too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "codec/checksum.hpp"
#include "commit/read/destination.hpp"
#include "commit/read/file_view.hpp"
#include "commit/read/locator.hpp"
#include "commit/read/source_file.hpp"

namespace sluice::commit {

/// All calls are local.
class CheckedReader {
 public:
  /// Both must outlive the object.
  CheckedReader(const FileView& view, SourceFile& source) : view_(view), source_(source) {}

  /// Reads the box of `to` of a variable with addresses into it. Error damaged.
  void get(const Located& located, const Destination& to);
  /// Dense bytes of a box, in the byte order of this machine; not checked.
  void read(const Located& located, const model::Box& box, std::span<std::byte> out) const {
    read(source_.file(located.placement()), located, box, out);
  }
  /// Reads the box of a record and compares its checksum: false if it does not match.
  bool read_record(const Located& located, const Record& record, std::vector<std::byte>& out);
  /// The same for a compressed variable; `last` keeps a tile between calls.
  bool read_encoded_record(const Located& located, const Record& record, layout::LastTile& last,
                           std::vector<std::byte>& out) const;
  /// Compares the records that overlap a decoded tile; called by any thread. Error damaged.
  void check_tile(const Located& located, std::uint64_t tile,
                  std::span<const std::byte> dense) const;
  /// Compares the records that are in tiles of `box` which are not there, and so read as the fill
  /// value. Error damaged.
  void check_absent(const Located& located, const model::Box& box);
  /// Error damaged, or changed_outside if the file was changed.
  [[noreturn]] void refuse(const Wanted& which, const Record& record) const;

 private:
  /// Reads and compares a record in several tiles, if this read has not yet.
  void check_across_tiles(const Located& located, const Record& record) const;
  /// All of the box of `to`.
  void get_unchecked(storage::File& file, const Located& located, const Destination& to);
  void get_record(storage::File& file, const Located& located, const Record& record,
                  const Destination& to);
  void read(storage::File& file, const Located& located, const model::Box& box,
            std::span<std::byte> out) const;
  std::uint64_t checksum_of_fill(const model::Definition& definition, std::uint64_t elements);
  /// Puts what a part that was read and the destination have in common.
  void put_common(const Located& located, const model::Box& part, std::span<const std::byte> bytes,
                  const model::Box& common, const Destination& to);
  /// Visits a box in the parts by which it is read, which follow each other in its dense bytes.
  template <class Visit>
  void for_each_part(const storage::File& file, const Located& located, const model::Box& box,
                     Visit&& visit) const;
  /// Memory of this object for a part.
  std::span<std::byte> room_for(const Located& located, const model::Box& part);

  const FileView& view_;
  SourceFile& source_;
  codec::Checksum checksum_;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> selected_;
};

}  // namespace sluice::commit
