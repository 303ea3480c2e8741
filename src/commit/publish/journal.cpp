#include "commit/publish/journal.hpp"

#include <array>
#include <cstring>

#include "codec/checksum.hpp"
#include "commit/publish/journal_format.hpp"
#include "sluice/error.hpp"
#include "storage/read_padded.hpp"

namespace sluice::commit {

namespace {

template <class T>
void append(std::vector<std::byte>& out, const T& values) {
  const auto bytes = std::as_bytes(std::span(values));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

/// Reads the runs of a payload whose checksum matches; it still may be malformed.
bool parse_runs(std::span<const std::byte> payload, std::uint64_t count, Journal& journal) {
  const auto read = [&](std::uint64_t at, std::span<std::byte> bytes) {
    std::memcpy(bytes.data(), payload.data() + at, bytes.size());
  };
  return visit_runs(count, 0, payload.size(), read,
                    [&](std::uint64_t offset, const JournalRunShape& shape, std::uint64_t at) {
                      const auto before = payload.subspan(at, shape.before_bytes);
                      const auto after = payload.subspan(at + shape.before_bytes, shape.length);
                      JournalRun run{offset, {}, {after.begin(), after.end()}, 0};
                      if (shape.only_new) {
                        std::memcpy(&run.before_checksum, before.data(),
                                    sizeof run.before_checksum);
                      } else {
                        run.before.assign(before.begin(), before.end());
                      }
                      journal.runs.push_back(std::move(run));
                    });
}

}  // namespace

std::vector<std::byte> Journal::to_bytes(std::uint64_t previous, bool is_in_log) const {
  std::vector<std::byte> payload;
  bool has_all = true;
  for (const JournalRun& run : runs) {
    const bool only_new = run.before.empty();
    has_all = has_all && !only_new;
    append(payload, std::array<std::uint64_t, 2>{run.offset,
                                                 run.after.size() | (only_new ? only_new_bit : 0)});
    append(payload, run.before);
    if (only_new) {
      append(payload, std::array<std::uint64_t, 1>{run.before_checksum});
    }
    append(payload, run.after);
  }
  if (!tail.fresh.empty()) {
    append(payload, tail.to_bytes());
  }
  const auto& magic = !tail.fresh.empty()     ? begun_magic
                      : has_all && !is_in_log ? plain_magic
                                              : log_magic;
  const JournalHeader header = sealed_header(
      {magic, commit, payload.size(), runs.size(), end, modified_ns, codec::checksum(payload), 0},
      previous);
  const auto head = std::as_bytes(std::span(&header, 1));
  std::vector<std::byte> bytes(head.begin(), head.end());
  append(bytes, payload);
  return bytes;
}

std::optional<Journal> parse_journal(std::span<const std::byte> bytes) {
  const auto header = sound_header(bytes, bytes.size());
  if (!header) {
    return std::nullopt;
  }
  // An older, longer journal may follow this one, so the file may be longer than it says.
  auto payload = bytes.subspan(journal_header_bytes, header->payload_bytes);
  if (codec::checksum(payload) != header->payload_checksum) {
    return std::nullopt;
  }
  if (has_tail(*header)) {
    const auto tail = tail_bytes(payload, payload.size());
    if (!tail) {
      return std::nullopt;
    }
    payload = payload.first(payload.size() - *tail);
  }
  Journal journal{header->commit, header->end, header->modified_ns, {}, {}};
  return parse_runs(payload, header->runs, journal) ? std::optional(std::move(journal))
                                                    : std::nullopt;
}

namespace {

/// The bytes of a file where it will be changed. A commit changes many small structures that lie
/// near one another, so they are read by few calls.
class PresentBytes {
 public:
  using Run = model::Overlay::Runs::const_iterator;

  explicit PresentBytes(storage::File& file) : file_(file) {}

  /// Of `run`, which others may follow before `end`; valid until the next call. Zeros where the
  /// file has ended.
  std::span<const std::byte> at(Run run, Run end) {
    const auto& [offset, bytes] = *run;
    if (offset < offset_ || offset + bytes.size() > offset_ + bytes_.size()) {
      read(run, end);
    }
    return std::span(bytes_).subspan(offset - offset_, bytes.size());
  }

 private:
  void read(Run run, Run end) {
    constexpr std::uint64_t longest_gap_bytes = 4096;
    constexpr std::uint64_t most_bytes = 64 << 10;  // unless one run is longer
    offset_ = run->first;
    std::uint64_t length = run->second.size();
    for (++run; run != end; ++run) {
      const std::uint64_t with_it = run->first - offset_ + run->second.size();
      if (run->first - offset_ > length + longest_gap_bytes || with_it > most_bytes) {
        break;
      }
      length = with_it;
    }
    bytes_.resize(length);
    storage::read_padded(file_, offset_, bytes_);
  }

  storage::File& file_;
  std::uint64_t offset_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace

Journal make_journal(storage::File& file, const model::Overlay& changes, std::uint64_t end,
                     std::uint64_t commit, std::int64_t modified_ns, std::size_t joined_bytes) {
  Journal journal;
  journal.commit = commit;
  journal.modified_ns = modified_ns;
  journal.end = end;
  PresentBytes present(file);
  for (auto run = changes.runs().begin(); run != changes.runs().end(); ++run) {
    const auto& [offset, after] = *run;
    const auto before = present.at(run, changes.runs().end());
    for (const auto& [from, to] : differing_parts(before, after, joined_bytes)) {
      journal.runs.push_back({offset + from,
                              {before.begin() + from, before.begin() + to},
                              {after.begin() + from, after.begin() + to},
                              0});
    }
  }
  std::uint64_t bytes = 0;
  for (const JournalRun& run : journal.runs) {
    bytes += 2 * run.after.size() + journal_run_header_bytes;
  }
  if (bytes > most_journal_bytes) {
    throw Error(Code::unsupported,
                file.path() + ": a commit that changes " + std::to_string(bytes / 2) +
                    " bytes of metadata in place needs a journal that no reader accepts: write "
                    "several files");
  }
  return journal;
}

void forget_records(storage::File& journal) {
  journal.write(0, std::vector<std::byte>(journal_header_bytes));
  journal.sync();
}

void add_data(Journal& journal, storage::File& file, const layout::Extent& extent) {
  std::vector<std::byte> bytes;
  for (std::uint64_t done = 0; done < extent.length; done += bytes.size()) {
    bytes.resize(std::min(extent.length - done, most_only_new_bytes));
    const std::uint64_t offset = extent.offset + done;
    if (file.read(offset, bytes) != bytes.size()) {
      throw Error(Code::truncated, file.path() + ": became shorter while it was written");
    }
    journal.tail.fresh.push_back({offset, bytes.size(), codec::checksum(bytes)});
  }
}

}  // namespace sluice::commit
