#include "commit/publish/journal_runs.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "commit/publish/journal_format.hpp"

namespace sluice::commit {

std::vector<JournalRuns::Piece>::const_iterator JournalRuns::first_behind(
    std::uint64_t offset) const {
  return std::upper_bound(
      pieces_.begin(), pieces_.end(), offset,
      [](std::uint64_t at, const Piece& piece) { return at < piece.offset + piece.length; });
}

void JournalRuns::add(std::uint64_t offset, std::uint64_t length, std::uint64_t before,
                      std::uint64_t after) {
  for (std::uint64_t done = 0; done < length; done += piece_bytes) {
    pieces_.push_back(
        {offset + done, std::min(piece_bytes, length - done), before + done, after + done, runs_});
  }
  ++runs_;
}

MemoryRuns::MemoryRuns(Journal journal) : journal_(std::move(journal)) {
  commit_ = journal_.commit;
  end_ = journal_.end;
  modified_ns_ = journal_.modified_ns;
  for (const JournalRun& run : journal_.runs) {
    add(run.offset, run.after.size(), 0, 0);
  }
}

namespace {

std::vector<std::byte> part_of(const std::vector<std::byte>& bytes, std::uint64_t at,
                               std::uint64_t length) {
  const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  return {from, from + static_cast<std::ptrdiff_t>(length)};
}

}  // namespace

std::vector<std::byte> MemoryRuns::before(const Piece& piece) {
  return part_of(journal_.runs[piece.run].before, piece.before, piece.length);
}

std::vector<std::byte> MemoryRuns::after(const Piece& piece) {
  return part_of(journal_.runs[piece.run].after, piece.after, piece.length);
}

namespace {

/// Of a journal in a file.
class StoredRuns : public JournalRuns {
 public:
  explicit StoredRuns(std::shared_ptr<storage::File> file) : file_(std::move(file)) {}

  /// False: it is not complete.
  bool load() {
    std::vector<std::byte> head(journal_header_bytes);
    head.resize(file_->read(0, head));
    const auto header = sound_header(head, file_->size());
    if (!header || !has_checksum(*header)) {
      return false;
    }
    commit_ = header->commit;
    end_ = header->end;
    modified_ns_ = header->modified_ns;
    return load_runs(*header);
  }

  std::vector<std::byte> before(const Piece& piece) override {
    return bytes_at(piece.before, piece.length);
  }
  std::vector<std::byte> after(const Piece& piece) override {
    return bytes_at(piece.after, piece.length);
  }

 protected:
  std::vector<std::byte> bytes_at(std::uint64_t at, std::uint64_t length) {
    std::vector<std::byte> bytes(length);
    if (file_->read(at, bytes) != length) {
      throw Error(Code::truncated, file_->path() + ": became shorter while it was read");
    }
    return bytes;
  }

 private:
  bool has_checksum(const JournalHeader& header) {
    codec::Checksum digest;
    for (std::uint64_t done = 0; done < header.payload_bytes; done += piece_bytes) {
      const std::uint64_t length = std::min(piece_bytes, header.payload_bytes - done);
      digest.update(bytes_at(journal_header_bytes + done, length));
    }
    return digest.value() == header.payload_checksum;
  }

  bool load_runs(const JournalHeader& header) {
    std::uint64_t at = journal_header_bytes;
    const std::uint64_t end = journal_header_bytes + header.payload_bytes;
    std::uint64_t last_end = 0;
    for (std::uint64_t i = 0; i < header.runs; ++i) {
      std::array<std::uint64_t, 2> place{};
      if (end - at < sizeof place) {
        return false;
      }
      std::memcpy(place.data(), bytes_at(at, sizeof place).data(), sizeof place);
      at += sizeof place;
      const auto [offset, length] = place;
      const bool is_sound = length != 0 && length <= (end - at) / 2 && offset >= last_end &&
                            offset <= std::numeric_limits<std::uint64_t>::max() - length;
      if (!is_sound) {
        return false;
      }
      add(offset, length, at, at + length);
      at += 2 * length;
      last_end = offset + length;
    }
    return at == end;
  }

  std::shared_ptr<storage::File> file_;
};

}  // namespace

std::unique_ptr<JournalRuns> open_runs(std::shared_ptr<storage::File> file) {
  auto runs = std::make_unique<StoredRuns>(std::move(file));
  return runs->load() ? std::move(runs) : nullptr;
}

std::unique_ptr<JournalRuns> open_runs(storage::Storage& storage, const std::string& path) {
  const std::string name = journal_path(path);
  return storage.exists(name) ? open_runs(storage.open(name, storage::Access::read)) : nullptr;
}

/// For the journal that is being written.
class JournalWriter::Written final : public StoredRuns {
 public:
  using StoredRuns::StoredRuns;
  void add_run(std::uint64_t offset, std::uint64_t length, std::uint64_t at) {
    add(offset, length, at, at + length);
  }
  void finish(std::uint64_t commit, std::uint64_t end, std::int64_t modified_ns) {
    commit_ = commit;
    end_ = end;
    modified_ns_ = modified_ns;
  }
};

JournalWriter::JournalWriter(std::shared_ptr<storage::File> file)
    : file_(std::move(file)),
      written_(std::make_unique<Written>(file_)),
      buffer_(journal_header_bytes) {}

JournalWriter::~JournalWriter() = default;

void JournalWriter::add(std::uint64_t offset, std::span<const std::byte> before,
                        std::span<const std::byte> after) {
  for (const auto& [from, to] : differing_parts(before, after)) {
    const auto first = static_cast<std::size_t>(from);
    const auto length = static_cast<std::size_t>(to - from);
    const std::array<std::uint64_t, 2> place{offset + first, length};
    put(std::as_bytes(std::span(place)));
    written_->add_run(offset + first, length, at_ + buffer_.size());
    put(before.subspan(first, length));
    put(after.subspan(first, length));
    ++runs_;
    if (buffer_.size() >= JournalRuns::piece_bytes) {
      write_out();
    }
  }
}

void JournalWriter::put(std::span<const std::byte> bytes) {
  digest_.update(bytes);
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void JournalWriter::write_out() {
  // The header comes last: without it, the bytes after it are not a journal.
  const std::size_t skipped = at_ == 0 ? journal_header_bytes : 0;
  file_->write(at_ + skipped, std::span(buffer_).subspan(skipped));
  at_ += buffer_.size();
  buffer_.clear();
}

std::unique_ptr<JournalRuns> JournalWriter::finish(std::uint64_t commit, std::uint64_t end,
                                                   std::int64_t modified_ns) {
  const std::uint64_t payload_bytes = at_ + buffer_.size() - journal_header_bytes;
  const JournalHeader header =
      make_header(commit, payload_bytes, runs_, end, modified_ns, digest_.value());
  const auto head = std::as_bytes(std::span(&header, 1));
  if (at_ == 0) {
    std::copy(head.begin(), head.end(), buffer_.begin());
    file_->write(0, buffer_);
  } else {
    file_->write(at_, buffer_);
    file_->write(0, head);
  }
  written_->finish(commit, end, modified_ns);
  return std::move(written_);
}

}  // namespace sluice::commit
