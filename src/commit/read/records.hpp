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

void write_records(std::span<const Record> records, model::ByteWriter& out);
std::vector<Record> read_records(model::ByteReader& in);

}  // namespace sluice::commit
