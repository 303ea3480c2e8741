#include "commit/publish/journal.hpp"

#include <algorithm>
#include <array>
#include <cstring>

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
bool parse_runs(std::span<const std::byte> payload, std::uint64_t count, Journal& journal) {
  std::uint64_t last_end = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::array<std::uint64_t, 2> place{};
    if (payload.size() < sizeof place) {
      return false;
    }
    std::memcpy(place.data(), payload.data(), sizeof place);
    payload = payload.subspan(sizeof place);
    const auto shape = sound_run(place[0], place[1], last_end, payload.size());
    if (!shape) {
      return false;
    }
    const auto before = payload.first(shape->before_bytes);
    const auto after = payload.subspan(shape->before_bytes, shape->after_bytes);
    payload = payload.subspan(shape->before_bytes + shape->after_bytes);
    last_end = place[0] + shape->length;
    if (shape->is_data) {
      JournalData data{place[0], shape->length, 0};
      std::memcpy(&data.checksum, before.data(), sizeof data.checksum);
      journal.data.push_back(data);
      continue;
    }
    JournalRun run{place[0], {}, {after.begin(), after.end()}, 0};
    if (shape->only_new) {
      std::memcpy(&run.before_checksum, before.data(), sizeof run.before_checksum);
    } else {
      run.before.assign(before.begin(), before.end());
    }
    journal.runs.push_back(std::move(run));
  }
  return payload.empty();
}

}  // namespace

std::string journal_path(const std::string& path) { return path + ".sluice-journal"; }

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
  for (const JournalData& some : data) {
    append(payload,
           std::array<std::uint64_t, 3>{some.offset, some.length | data_bit, some.checksum});
  }
  const auto& magic = !data.empty() ? data_magic : has_all && !is_in_log ? plain_magic : log_magic;
  const JournalHeader header =
      sealed_header({magic, commit, payload.size(), runs.size() + data.size(), end, modified_ns,
                     codec::checksum(payload), 0},
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
  const auto payload = bytes.subspan(journal_header_bytes, header->payload_bytes);
  if (codec::checksum(payload) != header->payload_checksum) {
    return std::nullopt;
  }
  Journal journal{header->commit, header->end, header->modified_ns, {}, {}};
  return parse_runs(payload, header->runs, journal) ? std::optional(std::move(journal))
                                                    : std::nullopt;
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
                                {run.bytes.begin() + from, run.bytes.begin() + to},
                                0});
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
