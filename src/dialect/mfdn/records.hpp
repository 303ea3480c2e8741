// MFDn's wave functions as its public version writes them: a file for each diagonal rank,
// mfdn_smwf001 and so on, Fortran unformatted, one float32 record a state.
//
// A record is its length, its bytes, its length again; lengths are int32 of the machine. gfortran
// splits longer records into subrecords: the length before one is negative if another subrecord
// follows, and the length after one if one came before.
//
// Invariants: the lengths in a file are checked against each other and the file's end before they
// are used; a file is written in order, and is complete after finish().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/storage.hpp"

namespace sluice::dialect::mfdn {

/// The longest that gfortran writes in one.
constexpr std::uint64_t most_subrecord_bytes = 2147483639;

/// One record: where its bytes are, without the lengths.
struct Record {
  struct Segment {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<Segment> segments;
  std::uint64_t bytes() const noexcept;
};

/// mfdn_smwfNNN, NNN from 1.
std::string record_name(std::uint64_t number);
/// FOLDER/mfdn_smwfNNN.
std::string record_path(const std::string& folder, std::uint64_t number);

/// The number of files in a row from 1 on; 0 if `folder` is not such a folder.
std::uint64_t count_files(storage::Storage& storage, const std::string& folder);

/// One for each state: MFDn computes tens.
constexpr std::size_t most_records = 10000;

/// The records of a file. Error format, with the position, if lengths do not match, or if there are
/// more than most_records.
std::vector<Record> find_records(storage::File& file);

/// Reads `bytes` of a record from its byte `first` on. Error truncated if the file ends before.
void read_record(storage::File& file, const Record& record, std::uint64_t first,
                 std::span<std::byte> bytes);

/// Creates a new file. Error exists if it exists.
class RecordWriter {
 public:
  RecordWriter(storage::Storage& storage, const std::string& path,
               std::uint64_t most_bytes = most_subrecord_bytes);

  /// Begins a record of this many bytes, all of which must be appended before the next one.
  void begin(std::uint64_t bytes);
  void append(std::span<const std::byte> bytes);
  /// Syncs. Error wrong_state in the middle of a record.
  void finish();

 private:
  void put_length(std::int64_t length);
  void begin_segment();

  std::unique_ptr<storage::File> file_;
  std::uint64_t most_bytes_;
  std::uint64_t at_ = 0;
  std::uint64_t left_ = 0;          ///< of the record
  std::uint64_t segment_left_ = 0;  ///< of the subrecord
  std::uint64_t segment_ = 0;       ///< bytes of the subrecord
  bool is_first_ = true;            ///< subrecord of its record
};

}  // namespace sluice::dialect::mfdn
