#include "commit/publish/journal_runs.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "commit/publish/superblock.hpp"
#include "sluice/error.hpp"
#include "storage/read_padded.hpp"

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

/// Of a journal in a file.
class StoredRuns : public JournalRuns {
 public:
  explicit StoredRuns(std::shared_ptr<storage::File> file) : file_(std::move(file)) {}

  /// False: it is not complete.
  bool load(const JournalRecord& record) {
    commit_ = record.header.commit;
    end_ = record.header.end;
    modified_ns_ = record.header.modified_ns;
    return load_runs(record);
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
  void add_run(std::uint64_t offset, const JournalRunShape& shape, std::uint64_t at) {
    add(offset, shape.length, at, at + shape.before_bytes, shape.only_new);
  }

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
    const std::uint64_t tail_length = has_tail(record.header) ? tail->size_bytes() : 0;
    const std::uint64_t begin = record.at + journal_header_bytes;
    return visit_runs(
        record.header.runs, begin, begin + record.header.payload_bytes - tail_length,
        [&](std::uint64_t at, std::span<std::byte> bytes) { read_at(at, bytes); },
        [&](std::uint64_t offset, const JournalRunShape& shape, std::uint64_t at) {
          add_run(offset, shape, at);
        });
  }

  std::shared_ptr<storage::File> file_;
};

namespace {

/// Of a piece that has none of its new bytes, but for the guard.
bool is_old(storage::File& file, const Superblock& superblock, JournalRuns& journal,
            const JournalRuns::Piece& piece) {
  std::vector<std::byte> now(piece.length);
  storage::read_padded(file, piece.offset, now);
  if (superblock.guarded) {
    without_guard(superblock, piece.offset, now);
  }
  std::vector<std::byte> buffer;
  return piece.only_new ? codec::checksum(now) == journal.before_checksum(piece)
                        : std::ranges::equal(now, journal.before(piece, buffer));
}

/// Does a record with a tail count? Not where the data that it needs is not in `file`: then it was
/// never durable.
bool is_backed(storage::File& file, const JournalHeader& header, JournalRuns& journal,
               const JournalTail& tail) {
  if (header.magic == begun_magic) {
    const Superblock superblock = find_superblock(file).value_or(Superblock{});
    for (const JournalRuns::Piece& piece : journal.pieces()) {
      if (!is_old(file, superblock, journal, piece)) {
        return true;
      }
    }
  }
  return has_fresh(file, tail, header.end);
}

std::optional<JournalRecord> last_backed(const std::shared_ptr<storage::File>& journal,
                                         const OpenData& open_data) {
  return last_record(*journal, [&](const JournalRecord& record) {
    StoredRuns runs(journal);
    const auto tail = tail_of(*journal, record);
    if (!has_tail(record.header) || !tail || !runs.load(record)) {
      return true;  // one that is malformed is refused by whoever reads it
    }
    const auto data = open_data();
    return data == nullptr || is_backed(*data, record.header, runs, *tail);
  });
}

}  // namespace

std::vector<std::byte> journal_bytes_in(const std::shared_ptr<storage::File>& journal,
                                        const OpenData& open_data) {
  storage::File& file = *journal;
  std::vector<std::byte> bytes(journal_header_bytes);
  const auto record = last_backed(journal, open_data);
  if (!record) {
    bytes.resize(file.read(0, bytes));
    return bytes;  // no complete journal, whatever follows
  }
  const std::uint64_t payload_bytes = record->header.payload_bytes;
  if (payload_bytes > most_journal_bytes) {
    throw Error(Code::unsupported, file.path() + ": a journal of " + std::to_string(payload_bytes) +
                                       " bytes; up to " + std::to_string(most_journal_bytes) +
                                       " are read without recovering the file: call sluice "
                                       "recover, or open the file for writing");
  }
  const JournalHeader alone = sealed_header(record->header, 0);
  std::memcpy(bytes.data(), &alone, journal_header_bytes);
  bytes.resize(journal_header_bytes + payload_bytes);
  bytes.resize(journal_header_bytes + file.read(record->at + journal_header_bytes,
                                                std::span(bytes).subspan(journal_header_bytes)));
  return bytes;
}

void drop_unbacked(storage::Storage& storage, const std::string& path) {
  const std::shared_ptr<storage::File> file =
      storage.open(journal_path(path), storage::Access::read_write);
  const auto last = last_record(*file);
  const auto backed = last_backed(file, [&] { return storage.open(path, storage::Access::read); });
  if (last && backed && last->at != backed->at) {
    file->write(last->at, std::vector<std::byte>(journal_header_bytes));
    file->sync();
  }
}

std::unique_ptr<JournalRuns> open_runs(storage::Storage& storage, const std::string& path) {
  const std::string name = journal_path(path);
  if (!storage.exists(name)) {
    return nullptr;
  }
  const std::shared_ptr<storage::File> file = storage.open(name, storage::Access::read);
  const auto record = last_backed(file, [&]() -> std::unique_ptr<storage::File> {
    return storage.exists(path) ? storage.open(path, storage::Access::read) : nullptr;
  });
  auto runs = std::make_unique<StoredRuns>(file);
  return record && runs->load(*record) ? std::move(runs) : nullptr;
}

/// For the journal that is being written.
class JournalWriter::Written final : public StoredRuns {
 public:
  using StoredRuns::add_run;
  using StoredRuns::StoredRuns;
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
