#include "commit/records.hpp"

namespace sluice::commit {

std::multimap<std::uint64_t, Record> parse_records(std::span<const std::uint64_t> words,
                                                   const std::string& path) {
  std::multimap<std::uint64_t, Record> records;
  std::size_t at = 0;
  while (at < words.size()) {
    const std::size_t left = words.size() - at;
    const std::uint64_t rank = left >= 2 ? words[at + 1] : model::max_rank + 1;
    if (rank > model::max_rank || left < 3 + 2 * rank) {
      throw Error(Code::damaged, path + ": the checksum records in /sluice are damaged");
    }
    Record record;
    for (std::uint64_t d = 0; d < rank; ++d) {
      record.box.start.push_back(words[at + 2 + d]);
      record.box.count.push_back(words[at + 2 + rank + d]);
    }
    record.checksum = words[at + 2 + 2 * rank];
    records.emplace(words[at], record);
    at += 3 + 2 * rank;
  }
  return records;
}

void write_records(std::span<const Record> records, model::ByteWriter& out) {
  out.put(records.size());
  for (const Record& record : records) {
    out.put(record.box);
    out.put(record.checksum);
  }
}

std::vector<Record> read_records(model::ByteReader& in) {
  std::vector<Record> records(in.get<std::size_t>());
  for (Record& record : records) {
    record.box = in.get<model::Box>();
    record.checksum = in.get<std::uint64_t>();
  }
  return records;
}

}  // namespace sluice::commit
