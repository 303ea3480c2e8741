// The checksum records of a file, found again: which boxes of which variable have which checksum.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/box.hpp"
#include "model/bytes.hpp"

namespace sluice::commit {

struct Record {
  model::Box box;
  std::uint64_t checksum = 0;
};

/// The records of one commit by name hash of the variable. Error damaged where the words do not
/// parse.
std::multimap<std::uint64_t, Record> parse_records(std::span<const std::uint64_t> words,
                                                   const std::string& path);

void write_records(std::span<const Record> records, model::ByteWriter& out);
std::vector<Record> read_records(model::ByteReader& in);

}  // namespace sluice::commit
