#include "commit/publish/journal.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "codec/checksum.hpp"
#include "commit/publish/journal_format.hpp"

namespace sluice::commit {

namespace {

template <class T>
void append(std::vector<std::byte>& out, const T& values) {
  const auto bytes = std::as_bytes(std::span(values));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

/// Reads the runs of a payload whose checksum matches; it still may be malformed.
std::optional<std::vector<JournalRun>> parse_runs(std::span<const std::byte> payload,
                                                  std::uint64_t count) {
  std::vector<JournalRun> runs;
  std::uint64_t last_end = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::array<std::uint64_t, 2> place{};
    if (payload.size() < sizeof place) {
      return std::nullopt;
    }
    std::memcpy(place.data(), payload.data(), sizeof place);
    payload = payload.subspan(sizeof place);
    const auto [offset, length] = place;
    const bool is_sound = length != 0 && length <= payload.size() / 2 && offset >= last_end &&
                          offset <= std::numeric_limits<std::uint64_t>::max() - length;
    if (!is_sound) {
      return std::nullopt;
    }
    const auto before = payload.first(length);
    const auto after = payload.subspan(length, length);
    runs.push_back({offset, {before.begin(), before.end()}, {after.begin(), after.end()}});
    payload = payload.subspan(2 * length);
    last_end = offset + length;
  }
  return payload.empty() ? std::optional(std::move(runs)) : std::nullopt;
}

}  // namespace

std::string journal_path(const std::string& path) { return path + ".sluice-journal"; }

std::vector<std::byte> Journal::to_bytes() const {
  std::vector<std::byte> payload;
  for (const JournalRun& run : runs) {
    append(payload, std::array<std::uint64_t, 2>{run.offset, run.before.size()});
    append(payload, run.before);
    append(payload, run.after);
  }
  const JournalHeader header =
      make_header(commit, payload.size(), runs.size(), end, modified_ns, codec::checksum(payload));
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
  const auto payload = bytes.subspan(journal_header_bytes, header->payload_bytes);
  if (codec::checksum(payload) != header->payload_checksum) {
    return std::nullopt;
  }
  auto runs = parse_runs(payload, header->runs);
  if (!runs) {
    return std::nullopt;
  }
  return Journal{header->commit, header->end, header->modified_ns, std::move(*runs)};
}

std::vector<std::byte> journal_bytes_in(storage::File& file) {
  std::vector<std::byte> bytes(journal_header_bytes);
  bytes.resize(file.read(0, bytes));
  const auto header = sound_header(bytes, file.size());
  if (!header) {
    return bytes;  // not a complete journal, whatever follows
  }
  if (header->payload_bytes > most_journal_bytes) {
    throw Error(Code::unsupported, file.path() + ": a journal of " +
                                       std::to_string(header->payload_bytes) + " bytes; up to " +
                                       std::to_string(most_journal_bytes) +
                                       " are read without recovering the file: call sluice "
                                       "recover, or open the file for writing");
  }
  bytes.resize(journal_header_bytes + header->payload_bytes);
  bytes.resize(journal_header_bytes +
               file.read(journal_header_bytes, std::span(bytes).subspan(journal_header_bytes)));
  return bytes;
}

Journal make_journal(storage::File& file, const layout::MetadataUpdate& update,
                     std::uint64_t commit, std::int64_t modified_ns) {
  Journal journal;
  journal.commit = commit;
  journal.modified_ns = modified_ns;
  journal.end = update.end;
  // The root first: it is at the front of the file.
  for (const auto* list : {&update.root, &update.in_place}) {
    for (const layout::MetadataRun& run : *list) {
      std::vector<std::byte> before(run.bytes.size());
      const std::size_t got = file.read(run.offset, before);
      std::fill(before.begin() + static_cast<std::ptrdiff_t>(got), before.end(), std::byte{0});
      for (const auto& [from, to] : differing_parts(before, run.bytes)) {
        journal.runs.push_back({run.offset + from,
                                {before.begin() + from, before.begin() + to},
                                {run.bytes.begin() + from, run.bytes.begin() + to}});
      }
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
  std::sort(journal.runs.begin(), journal.runs.end(),
            [](const JournalRun& a, const JournalRun& b) { return a.offset < b.offset; });
  return journal;
}

}  // namespace sluice::commit
