#include "commit/publish/journal.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "codec/checksum.hpp"

namespace sluice::commit {

namespace {

constexpr std::array<char, 8> magic{'S', 'L', 'U', 'I', 'C', 'E', 'J', '1'};
constexpr std::size_t header_bytes = 64;
/// Before the bytes of a run: its offset and its length.
constexpr std::size_t run_header_bytes = 16;
/// Equal bytes between two differing ones that are cheaper to write than another run's header.
constexpr std::size_t shortest_gap_bytes = 16;

struct Header {
  std::array<char, 8> magic;
  std::uint64_t commit;
  std::uint64_t payload_bytes;
  std::uint64_t runs;
  std::uint64_t end;
  std::int64_t modified_ns;
  std::uint64_t payload_checksum;
  std::uint64_t header_checksum;
};
static_assert(sizeof(Header) == header_bytes);

std::uint64_t checksum_of(const Header& header) {
  return codec::checksum(
      std::as_bytes(std::span(&header, 1)).first(header_bytes - sizeof(std::uint64_t)));
}

template <class T>
void append(std::vector<std::byte>& out, const T& values) {
  const auto bytes = std::as_bytes(std::span(values));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

/// Reads the runs of a payload whose checksum is right; still not trusted to be well-formed.
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
  Header header{magic, commit,      payload.size(),           runs.size(),
                end,   modified_ns, codec::checksum(payload), 0};
  header.header_checksum = checksum_of(header);
  const auto head = std::as_bytes(std::span(&header, 1));
  std::vector<std::byte> bytes(head.begin(), head.end());
  append(bytes, payload);
  return bytes;
}

std::optional<Journal> parse_journal(std::span<const std::byte> bytes) {
  if (bytes.size() < header_bytes) {
    return std::nullopt;
  }
  Header header;
  std::memcpy(&header, bytes.data(), header_bytes);
  // An older, longer journal may stand behind this one, so the file may be longer than it says.
  const auto rest = bytes.subspan(header_bytes);
  if (header.magic != magic || header.header_checksum != checksum_of(header) ||
      header.payload_bytes > rest.size()) {
    return std::nullopt;
  }
  const auto payload = rest.first(header.payload_bytes);
  if (codec::checksum(payload) != header.payload_checksum) {
    return std::nullopt;
  }
  auto runs = parse_runs(payload, header.runs);
  if (!runs) {
    return std::nullopt;
  }
  return Journal{header.commit, header.end, header.modified_ns, std::move(*runs)};
}

std::vector<std::byte> journal_bytes_in(storage::File& file) {
  std::vector<std::byte> bytes(header_bytes);
  bytes.resize(file.read(0, bytes));
  Header header;
  if (bytes.size() < header_bytes) {
    return bytes;
  }
  std::memcpy(&header, bytes.data(), header_bytes);
  if (header.magic != magic || header.header_checksum != checksum_of(header) ||
      header.payload_bytes > file.size() - header_bytes) {
    return bytes;  // no complete journal, whatever follows
  }
  if (header.payload_bytes > most_journal_bytes) {
    throw Error(Code::unsupported, file.path() + ": a journal of " +
                                       std::to_string(header.payload_bytes) + " bytes; up to " +
                                       std::to_string(most_journal_bytes) + " are read");
  }
  bytes.resize(header_bytes + header.payload_bytes);
  bytes.resize(header_bytes + file.read(header_bytes, std::span(bytes).subspan(header_bytes)));
  return bytes;
}

std::optional<Journal> read_journal(storage::Storage& storage, const std::string& path) {
  const std::string name = journal_path(path);
  if (!storage.exists(name)) {
    return std::nullopt;
  }
  return parse_journal(journal_bytes_in(*storage.open(name, storage::Access::read)));
}

namespace {

/// The first place from `at` on where the two differ; their size where there is none. Whole blocks
/// first: of a node of an index some bytes change, and thousands stay.
std::size_t first_difference(std::span<const std::byte> a, std::span<const std::byte> b,
                             std::size_t at) {
  constexpr std::size_t block_bytes = 256;
  while (at + block_bytes <= a.size() && std::memcmp(&a[at], &b[at], block_bytes) == 0) {
    at += block_bytes;
  }
  const auto from = static_cast<std::ptrdiff_t>(at);
  const auto found = std::mismatch(a.begin() + from, a.end(), b.begin() + from).first;
  return static_cast<std::size_t>(found - a.begin());
}

/// Adds the parts of one run that differ, joined over short gaps.
void add_differing(std::uint64_t offset, std::span<const std::byte> before,
                   std::span<const std::byte> after, std::vector<JournalRun>& runs) {
  for (std::size_t at = first_difference(before, after, 0); at < before.size();
       at = first_difference(before, after, at)) {
    std::size_t end = at + 1;
    for (std::size_t next = end; next < before.size() && next - end < shortest_gap_bytes; ++next) {
      if (before[next] != after[next]) {
        end = next + 1;
      }
    }
    const auto old_part = before.subspan(at, end - at);
    const auto new_part = after.subspan(at, end - at);
    runs.push_back(
        {offset + at, {old_part.begin(), old_part.end()}, {new_part.begin(), new_part.end()}});
    at = end;
  }
}

}  // namespace

Journal make_journal(storage::File& file, const layout::MetadataUpdate& update,
                     std::uint64_t commit, std::int64_t modified_ns) {
  Journal journal;
  journal.commit = commit;
  journal.modified_ns = modified_ns;
  journal.end = update.end;
  // The root first: it lies at the front of the file.
  for (const auto* list : {&update.root, &update.in_place}) {
    for (const layout::MetadataRun& run : *list) {
      std::vector<std::byte> before(run.bytes.size());
      const std::size_t got = file.read(run.offset, before);
      std::fill(before.begin() + static_cast<std::ptrdiff_t>(got), before.end(), std::byte{0});
      add_differing(run.offset, before, run.bytes, journal.runs);
    }
  }
  std::uint64_t bytes = 0;
  for (const JournalRun& run : journal.runs) {
    bytes += 2 * run.after.size() + run_header_bytes;
  }
  if (bytes > most_journal_bytes) {
    throw Error(Code::unsupported,
                file.path() + ": a commit that changes " + std::to_string(bytes / 2) +
                    " bytes of metadata in place needs a journal that no reader takes: write "
                    "several files");
  }
  std::sort(journal.runs.begin(), journal.runs.end(),
            [](const JournalRun& a, const JournalRun& b) { return a.offset < b.offset; });
  return journal;
}

}  // namespace sluice::commit
