// Finds the checksum records of a file: which boxes of which variable have which checksum.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exec/checksum_record.hpp"
#include "model/box.hpp"
#include "model/box_tree.hpp"
#include "model/bytes.hpp"
#include "sluice/types.hpp"

namespace sluice::commit {

struct Record {
  model::Box box;
  std::uint64_t checksum = 0;
  std::uint32_t rank = exec::ChecksumRecord::nobody;  ///< that wrote the box
};

/// The records of one commit by name hash of the variable. Error damaged if one of them does not
/// match its CRC: the records after it cannot be found.
std::multimap<std::uint64_t, Record> parse_records(std::span<const std::uint64_t> words,
                                                   const std::string& path);

/// Could a writer have made this record of a variable? In a damaged file it may claim any box.
bool is_sound(const model::Dims& shape, const Type& type, const Record& record);

/// The records of one variable in one step.
class RecordSet {
 public:
  RecordSet() = default;
  explicit RecordSet(std::vector<Record> records);

  const std::vector<Record>& list() const noexcept { return list_; }
  /// Those that overlap a box, in the order of the list; found without scanning the others.
  std::vector<const Record*> overlapping(const model::Box& box) const;

 private:
  std::vector<Record> list_;
  std::optional<model::BoxTree> tree_;  ///< where they are many
};

void write_records(std::span<const Record> records, model::ByteWriter& out);
std::vector<Record> read_records(model::ByteReader& in);

}  // namespace sluice::commit
