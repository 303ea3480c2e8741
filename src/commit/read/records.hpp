// The checksum records of a file, found again: which boxes of which variable have which checksum.
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

/// The records of one commit by name hash of the variable. Error damaged where one of them does not
/// prove itself: then it is not known what the others leave out.
std::multimap<std::uint64_t, Record> parse_records(std::span<const std::uint64_t> words,
                                                   const std::string& path);

/// Could a writer have made this record of a variable? One of a damaged file may claim any box.
bool is_sound(const model::Dims& shape, const Type& type, const Record& record);

/// The records of one variable in one step.
class RecordSet {
 public:
  RecordSet() = default;
  explicit RecordSet(std::vector<Record> records);

  const std::vector<Record>& list() const noexcept { return list_; }
  /// Those that overlap a box, in the order of the list; found without looking at the others.
  std::vector<const Record*> overlapping(const model::Box& box) const;

 private:
  std::vector<Record> list_;
  std::optional<model::BoxTree> tree_;  ///< where they are many
};

void write_records(std::span<const Record> records, model::ByteWriter& out);
std::vector<Record> read_records(model::ByteReader& in);

}  // namespace sluice::commit
