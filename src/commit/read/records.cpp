#include "commit/read/records.hpp"

#include "layout/portion.hpp"
#include "model/coverage.hpp"

namespace sluice::commit {

std::multimap<std::uint64_t, Record> parse_records(std::span<const std::uint64_t> words,
                                                   const std::string& path) {
  std::multimap<std::uint64_t, Record> records;
  std::size_t at = 0;
  while (at < words.size()) {
    const auto found = exec::ChecksumRecord::take_from(words, at);
    if (!found) {
      throw Error(Code::damaged, path + ": the checksum records in /sluice are damaged");
    }
    records.emplace(found->name_hash, Record{found->box, found->checksum, found->rank});
  }
  return records;
}

bool is_sound(const model::Dims& shape, const Type& type, const Record& record) {
  try {
    model::check_block(shape, record.box, "record");
    const std::uint64_t volume = record.box.volume();
    return volume == 1 || (volume != 0 && model::checked_product(volume, type.bytes, "record") <=
                                              layout::portion_bytes);
  } catch (const Error&) {
    return false;
  }
}

void write_records(std::span<const Record> records, model::ByteWriter& out) {
  out.put(records.size());
  for (const Record& record : records) {
    out.put(record.box);
    out.put(record.checksum);
    out.put(record.rank);
  }
}

std::vector<Record> read_records(model::ByteReader& in) {
  std::vector<Record> records(in.get<std::size_t>());
  for (Record& record : records) {
    record.box = in.get<model::Box>();
    record.checksum = in.get<std::uint64_t>();
    record.rank = in.get<std::uint32_t>();
  }
  return records;
}

}  // namespace sluice::commit
