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

RecordSet::RecordSet(std::vector<Record> records) : list_(std::move(records)) {
  constexpr std::size_t few = 16;
  if (list_.size() <= few) {
    return;
  }
  std::vector<model::OwnedBox> boxes;
  boxes.reserve(list_.size());
  for (const Record& record : list_) {
    boxes.push_back({record.box});
  }
  tree_.emplace(boxes);
}

std::vector<const Record*> RecordSet::overlapping(const model::Box& box) const {
  std::vector<const Record*> found;
  if (tree_ && !box.empty()) {
    for (const std::size_t i : tree_->overlapping(box)) {
      found.push_back(&list_[i]);
    }
    return found;
  }
  for (const Record& record : list_) {
    if (model::intersect(record.box, box)) {
      found.push_back(&record);
    }
  }
  return found;
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
