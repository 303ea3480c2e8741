#include "commit/publish/journal_runs.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "sluice/error.hpp"

namespace sluice::commit {

std::vector<JournalRuns::Piece>::const_iterator JournalRuns::first_behind(
    std::uint64_t offset) const {
  return std::upper_bound(
      pieces_.begin(), pieces_.end(), offset,
      [](std::uint64_t at, const Piece& piece) { return at < piece.offset + piece.length; });
}

void JournalRuns::add(std::uint64_t offset, std::uint64_t length, std::uint64_t before,
                      std::uint64_t after, bool only_new) {
  for (std::uint64_t done = 0; done < length; done += piece_bytes) {
    pieces_.push_back({offset + done, std::min(piece_bytes, length - done), before + done,
                       after + done, runs_, only_new});
  }
  ++runs_;
}

MemoryRuns::MemoryRuns(Journal journal) : journal_(std::move(journal)) {
  commit_ = journal_.commit;
  end_ = journal_.end;
  modified_ns_ = journal_.modified_ns;
  for (const JournalRun& run : journal_.runs) {
    add(run.offset, run.after.size(), 0, 0, run.before.empty());
  }
}

std::span<const std::byte> MemoryRuns::before(const Piece& piece, std::vector<std::byte>&) {
  return std::span(journal_.runs[piece.run].before).subspan(piece.before, piece.length);
}

std::uint64_t MemoryRuns::before_checksum(const Piece& piece) {
  return journal_.runs[piece.run].before_checksum;
}

std::span<const std::byte> MemoryRuns::after(const Piece& piece, std::vector<std::byte>&) {
  return std::span(journal_.runs[piece.run].after).subspan(piece.after, piece.length);
}

namespace {

/// Of a journal in a file.
class StoredRuns : public JournalRuns {
 public:
  explicit StoredRuns(std::shared_ptr<storage::File> file) : file_(std::move(file)) {}

  /// False: it is not complete.
  bool load(const OpenData& open_data) {
    const auto record = last_record(*file_, open_data);
    if (!record) {
      return false;
    }
    commit_ = record->header.commit;
    end_ = record->header.end;
    modified_ns_ = record->header.modified_ns;
    return load_runs(*record);
  }

  std::span<const std::byte> before(const Piece& piece, std::vector<std::byte>& buffer) override {
    return bytes_at(piece.before, piece.length, buffer);
  }
  std::span<const std::byte> after(const Piece& piece, std::vector<std::byte>& buffer) override {
    return bytes_at(piece.after, piece.length, buffer);
  }
  std::uint64_t before_checksum(const Piece& piece) override {
    std::uint64_t checksum = 0;
    read_at(piece.before, std::as_writable_bytes(std::span(&checksum, 1)));
    return checksum;
  }

 protected:
  void read_at(std::uint64_t at, std::span<std::byte> bytes) {
    if (file_->read(at, bytes) != bytes.size()) {
      throw Error(Code::truncated, file_->path() + ": became shorter while it was read");
    }
  }

  std::span<const std::byte> bytes_at(std::uint64_t at, std::uint64_t length,
                                      std::vector<std::byte>& buffer) {
    buffer.resize(std::max<std::size_t>(buffer.size(), length));
    const auto bytes = std::span(buffer).first(length);
    read_at(at, bytes);
    return bytes;
  }

 private:
  bool load_runs(const JournalRecord& record) {
    const auto tail = tail_of(*file_, record);
    if (!tail) {
      return false;
    }
    const std::uint64_t tail_length =
        record.header.magic == tail_magic ? tail->to_bytes().size() : 0;
    std::uint64_t at = record.at + journal_header_bytes;
    const std::uint64_t end = at + record.header.payload_bytes - tail_length;
    std::uint64_t last_end = 0;
    for (std::uint64_t i = 0; i < record.header.runs; ++i) {
      std::array<std::uint64_t, 2> place{};
      if (end - at < sizeof place) {
        return false;
      }
      read_at(at, std::as_writable_bytes(std::span(place)));
      at += sizeof place;
      const auto shape = sound_run(place[0], place[1], last_end, end - at);
      if (!shape) {
        return false;
      }
      add(place[0], shape->length, at, at + shape->before_bytes, shape->only_new);
      at += shape->before_bytes + shape->length;
      last_end = place[0] + shape->length;
    }
    return at == end;
  }

  std::shared_ptr<storage::File> file_;
};

}  // namespace

std::unique_ptr<JournalRuns> open_runs(storage::Storage& storage, const std::string& path) {
  const std::string name = journal_path(path);
  if (!storage.exists(name)) {
    return nullptr;
  }
  auto runs = std::make_unique<StoredRuns>(storage.open(name, storage::Access::read));
  const bool is_complete = runs->load([&] { return storage.open(path, storage::Access::read); });
  return is_complete ? std::move(runs) : nullptr;
}

/// For the journal that is being written.
class JournalWriter::Written final : public StoredRuns {
 public:
  using StoredRuns::StoredRuns;
  void add_run(std::uint64_t offset, const JournalRunShape& shape, std::uint64_t at) {
    add(offset, shape.length, at, at + shape.before_bytes, shape.only_new);
  }
  void finish(std::uint64_t commit, std::uint64_t end, std::int64_t modified_ns) {
    commit_ = commit;
    end_ = end;
    modified_ns_ = modified_ns;
  }
};

JournalWriter::JournalWriter(std::shared_ptr<storage::File> file, JournalPlace place)
    : file_(std::move(file)),
      written_(std::make_unique<Written>(file_)),
      place_(place),
      buffer_(journal_header_bytes),
      at_(place.at) {}

JournalWriter::~JournalWriter() = default;

void JournalWriter::add(std::uint64_t offset, std::span<const std::byte> before,
                        std::span<const std::byte> after) {
  constexpr std::size_t most_old_bytes = 1024;  // of metadata recovery compares every byte
  for (const auto& [from, to] : differing_parts(before, after)) {
    const auto first = static_cast<std::size_t>(from);
    const auto length = static_cast<std::size_t>(to - from);
    put_run(offset + first, before.subspan(first, length), after.subspan(first, length),
            length > most_old_bytes);
  }
}

void JournalWriter::add_whole(std::uint64_t offset, std::span<const std::byte> before,
                              std::span<const std::byte> after) {
  put_run(offset, before, after, true);
}

void JournalWriter::put_run(std::uint64_t offset, std::span<const std::byte> before,
                            std::span<const std::byte> after, bool only_new) {
  constexpr std::size_t least_alone_bytes = 128 << 10;
  const std::uint64_t length = before.size();
  const std::array<std::uint64_t, 2> words{offset, length | (only_new ? only_new_bit : 0)};
  put(std::as_bytes(std::span(words)));
  const std::uint64_t at = at_ + buffer_.size();
  if (only_new) {
    const std::uint64_t checksum = codec::checksum(before);
    put(std::as_bytes(std::span(&checksum, 1)));
  } else {
    put(before);
  }
  written_->add_run(offset, {length, at_ + buffer_.size() - at, only_new}, at);
  ++runs_;
  if (length < least_alone_bytes) {
    put(after);
  }
  if (length >= least_alone_bytes || buffer_.size() >= JournalRuns::piece_bytes) {
    write_out();
  }
  if (length >= least_alone_bytes) {
    digest_.update(after);
    file_->write(at_, after);
    at_ += length;
  }
}

void JournalWriter::put(std::span<const std::byte> bytes) {
  digest_.update(bytes);
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void JournalWriter::write_out() {
  // The header comes last: until it is there, the bytes behind it are no journal.
  const std::size_t skipped = at_ == place_.at ? journal_header_bytes : 0;
  file_->write(at_ + skipped, std::span(buffer_).subspan(skipped));
  at_ += buffer_.size();
  buffer_.clear();
}

std::unique_ptr<JournalRuns> JournalWriter::finish(std::uint64_t commit, std::uint64_t end,
                                                   std::int64_t modified_ns,
                                                   const JournalTail* tail) {
  if (tail != nullptr) {
    put(tail->to_bytes());
  }
  const std::uint64_t payload_bytes = at_ + buffer_.size() - place_.at - journal_header_bytes;
  const JournalHeader header =
      sealed_header({tail != nullptr ? tail_magic : log_magic, commit, payload_bytes, runs_, end,
                     modified_ns, digest_.value(), 0},
                    place_.previous);
  const auto head = std::as_bytes(std::span(&header, 1));
  if (at_ == place_.at) {
    std::copy(head.begin(), head.end(), buffer_.begin());
    file_->write(at_, buffer_);
  } else {
    if (!buffer_.empty()) {
      file_->write(at_, buffer_);
    }
    file_->write(place_.at, head);
  }
  next_ = place_behind(place_, header);
  written_->finish(commit, end, modified_ns);
  return std::move(written_);
}

}  // namespace sluice::commit
