#include "dialect/mfdn/records.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "sluice/error.hpp"

namespace sluice::dialect::mfdn {

namespace {

constexpr std::uint64_t length_bytes = sizeof(std::int32_t);

std::int64_t length_at(storage::File& file, std::uint64_t offset) {
  std::array<std::byte, length_bytes> bytes{};
  if (file.read(offset, bytes) != bytes.size()) {
    throw Error(Code::format, file.path() + ": ends in the middle of a record, at byte " +
                                  std::to_string(offset));
  }
  std::int32_t length = 0;
  std::memcpy(&length, bytes.data(), bytes.size());
  return length;
}

[[noreturn]] void refuse(const storage::File& file, std::uint64_t offset) {
  throw Error(Code::format, file.path() + ": no Fortran record at byte " + std::to_string(offset) +
                                ": the lengths before and after it differ");
}

}  // namespace

std::uint64_t Record::bytes() const noexcept {
  return std::accumulate(segments.begin(), segments.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Segment& s) { return sum + s.bytes; });
}

std::string record_name(std::uint64_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, 3 - std::min<std::size_t>(3, digits.size()), '0');
  return "mfdn_smwf" + digits;
}

std::string record_path(const std::string& folder, std::uint64_t number) {
  return folder + "/" + record_name(number);
}

std::uint64_t count_files(storage::Storage& storage, const std::string& folder) {
  std::uint64_t count = 0;
  while (storage.exists(record_path(folder, count + 1))) {
    ++count;
  }
  return count;
}

std::vector<Record> find_records(storage::File& file) {
  std::vector<Record> records;
  const std::uint64_t end = file.size();
  bool is_open = false;
  for (std::uint64_t at = 0; at < end;) {
    const std::int64_t before = length_at(file, at);
    const std::uint64_t bytes = static_cast<std::uint64_t>(before < 0 ? -before : before);
    if (bytes > end - at || end - at - bytes < 2 * length_bytes) {
      refuse(file, at);
    }
    const std::int64_t behind = length_at(file, at + length_bytes + bytes);
    const std::int64_t expected = static_cast<std::int64_t>(bytes);
    if (behind != (is_open ? -expected : expected)) {
      refuse(file, at);
    }
    if (!is_open) {
      if (records.size() == most_records) {
        throw Error(Code::format, file.path() + ": has more than " + std::to_string(most_records) +
                                      " records: these are no wave functions");
      }
      records.emplace_back();
    }
    records.back().segments.push_back({at + length_bytes, bytes});
    is_open = before < 0;
    at += bytes + 2 * length_bytes;
  }
  if (is_open) {
    refuse(file, end);
  }
  return records;
}

void read_record(storage::File& file, const Record& record, std::uint64_t first,
                 std::span<std::byte> bytes) {
  for (const Record::Segment& segment : record.segments) {
    if (first >= segment.bytes) {
      first -= segment.bytes;
      continue;
    }
    const std::uint64_t length = std::min<std::uint64_t>(bytes.size(), segment.bytes - first);
    if (file.read(segment.offset + first, bytes.first(length)) != length) {
      break;
    }
    bytes = bytes.subspan(length);
    first = 0;
    if (bytes.empty()) {
      return;
    }
  }
  if (!bytes.empty()) {
    throw Error(Code::truncated, file.path() + ": a record is shorter than requested");
  }
}

RecordWriter::RecordWriter(storage::Storage& storage, const std::string& path,
                           std::uint64_t most_bytes)
    : file_(storage.open(path, storage::Access::create)), most_bytes_(most_bytes) {}

void RecordWriter::put_length(std::int64_t length) {
  const auto value = static_cast<std::int32_t>(length);
  std::array<std::byte, length_bytes> bytes{};
  std::memcpy(bytes.data(), &value, bytes.size());
  file_->write(at_, bytes);
  at_ += bytes.size();
}

void RecordWriter::begin_segment() {
  segment_ = std::min(left_, most_bytes_);
  segment_left_ = segment_;
  const auto length = static_cast<std::int64_t>(segment_);
  put_length(left_ > segment_ ? -length : length);
}

void RecordWriter::begin(std::uint64_t bytes) {
  if (left_ != 0) {
    throw Error(Code::wrong_state, file_->path() + ": the previous record is not complete");
  }
  left_ = bytes;
  is_first_ = true;
  begin_segment();
  if (bytes == 0) {
    put_length(0);
  }
}

void RecordWriter::append(std::span<const std::byte> bytes) {
  if (bytes.size() > left_) {
    throw Error(Code::out_of_bounds, file_->path() + ": more bytes than the record has");
  }
  while (!bytes.empty()) {
    const std::uint64_t length = std::min<std::uint64_t>(bytes.size(), segment_left_);
    file_->write(at_, bytes.first(length));
    bytes = bytes.subspan(length);
    at_ += length;
    left_ -= length;
    segment_left_ -= length;
    if (segment_left_ == 0) {
      const auto all = static_cast<std::int64_t>(segment_);
      put_length(is_first_ ? all : -all);
      is_first_ = false;
      if (left_ != 0) {
        begin_segment();
      }
    }
  }
}

void RecordWriter::finish() {
  if (left_ != 0) {
    throw Error(Code::wrong_state, file_->path() + ": the record is not complete");
  }
  file_->sync();
}

}  // namespace sluice::dialect::mfdn
