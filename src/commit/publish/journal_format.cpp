#include "commit/publish/journal_format.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>

#include "codec/checksum.hpp"
#include "commit/publish/range_checksum.hpp"
#include "model/round_up.hpp"
#include "sluice/error.hpp"

namespace sluice::commit {

namespace {

/// Equal bytes between two differing ones that are cheaper to write than another run's header.
constexpr std::size_t shortest_gap_bytes = 16;

/// Records begin at multiples of this, so that writing one touches no page of the one before.
constexpr std::uint64_t record_alignment = 4096;

std::uint64_t checksum_of(const JournalHeader& header, std::uint64_t previous) {
  const auto bytes =
      std::as_bytes(std::span(&header, 1)).first(journal_header_bytes - sizeof(std::uint64_t));
  if (previous == 0) {
    return codec::checksum(bytes);
  }
  codec::Checksum digest;
  digest.update(bytes);
  digest.update(std::as_bytes(std::span(&previous, 1)));
  return digest.value();
}

bool has_payload(storage::File& file, const JournalRecord& record) {
  return range_checksum(file, record.at + journal_header_bytes, record.header.payload_bytes) ==
         record.header.payload_checksum;
}

/// The first position from `at` on where the two differ; their size if there is none. Whole blocks
/// first: in a node of an index some bytes change, and thousands stay.
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

constexpr std::size_t word_bytes = sizeof(std::uint64_t);
static_assert(shortest_gap_bytes >= 2 * word_bytes, "a gap holds a whole word, wherever it begins");

bool is_word_equal(const std::byte* a, const std::byte* b) {
  return std::memcmp(a, b, word_bytes) == 0;
}

/// The first of the words from `at` on that is the same in both; where there is none, how far whole
/// words reach.
std::size_t first_equal_word(std::span<const std::byte> a, std::span<const std::byte> b,
                             std::size_t at) {
  constexpr std::size_t block_words = 8;
  while (at + block_words * word_bytes <= a.size()) {
    bool is_any_equal = false;
    for (std::size_t i = 0; i < block_words; ++i) {
      is_any_equal |= is_word_equal(&a[at + i * word_bytes], &b[at + i * word_bytes]);
    }
    if (is_any_equal) {
      break;
    }
    at += block_words * word_bytes;
  }
  while (at + word_bytes <= a.size() && !is_word_equal(&a[at], &b[at])) {
    at += word_bytes;
  }
  return at;
}

/// The end of the differing part that starts at `at`: it is followed by `gap_bytes` equal ones, at
/// least shortest_gap_bytes, or the end. In changed raw data all words differ, so a gap is found by
/// an equal one.
std::size_t end_of_difference(std::span<const std::byte> a, std::span<const std::byte> b,
                              std::size_t at, std::size_t gap_bytes) {
  std::size_t end = at + 1;
  while (true) {
    const std::size_t word = first_equal_word(a, b, end);
    const bool is_there = word + word_bytes <= a.size();
    std::size_t gap = is_there ? word : a.size();
    while (gap > end && a[gap - 1] == b[gap - 1]) {
      --gap;
    }
    std::size_t next = is_there ? word + word_bytes : a.size();
    while (next < a.size() && next - gap < gap_bytes && a[next] == b[next]) {
      ++next;
    }
    if (next == a.size() || next - gap >= gap_bytes) {
      return gap;
    }
    end = next + 1;
  }
}

/// Nothing where the two words of a run do not fit behind one that ends at `last_end`, in a payload
/// of which `room_bytes` are left.
std::optional<JournalRunShape> sound_run(std::uint64_t offset, std::uint64_t length_word,
                                         std::uint64_t last_end, std::uint64_t room_bytes) {
  const bool only_new = (length_word & only_new_bit) != 0;
  const std::uint64_t length = length_word & ~only_new_bit;
  const std::uint64_t before_bytes = only_new ? sizeof(std::uint64_t) : length;
  const bool is_sound = length != 0 && before_bytes <= room_bytes &&
                        length <= room_bytes - before_bytes && offset >= last_end &&
                        offset <= std::numeric_limits<std::uint64_t>::max() - length &&
                        !(only_new && length > most_only_new_bytes);
  return is_sound ? std::optional(JournalRunShape{length, before_bytes, only_new}) : std::nullopt;
}

}  // namespace

JournalHeader sealed_header(JournalHeader header, std::uint64_t previous) {
  header.header_checksum = checksum_of(header, previous);
  return header;
}

JournalPlace place_behind(const JournalPlace& place, const JournalHeader& header) {
  const std::uint64_t end = place.at + journal_header_bytes + header.payload_bytes;
  return {model::round_up(end, record_alignment), header.header_checksum};
}

namespace {

/// The header at the front of `bytes`; nothing where it is damaged.
std::optional<JournalHeader> known_header(std::span<const std::byte> bytes,
                                          std::uint64_t previous) {
  JournalHeader header{};
  std::memcpy(&header, bytes.data(), journal_header_bytes);
  const bool is_known = header.magic == log_magic || has_tail(header) ||
                        (header.magic == plain_magic && previous == 0);
  return is_known && header.header_checksum == checksum_of(header, previous) ? std::optional(header)
                                                                             : std::nullopt;
}

/// Is there a record behind the first, whose header has one of the checksums in `first`?
bool has_second_record(storage::File& file, const std::array<std::uint64_t, 2>& first) {
  const std::uint64_t size = file.size();
  std::array<std::byte, journal_header_bytes> bytes{};
  for (std::uint64_t at = record_alignment; at < size; at += record_alignment) {
    if (file.read(at, bytes) != bytes.size()) {
      break;
    }
    if (known_header(bytes, first[0]) || known_header(bytes, first[1])) {
      return true;
    }
  }
  return false;
}

/// A crash may tear the first header, but then no record was ever behind it: one that follows on it
/// shows that it was durable. Not where another process writes it at this moment. Of a record
/// alone, damage cannot be told from a crash.
void require_undamaged_front(storage::File& file) {
  constexpr int most_reads = 5;
  constexpr auto pause = std::chrono::milliseconds(2);
  std::array<std::byte, journal_header_bytes> bytes{};
  for (int reads = 0; reads < most_reads; ++reads) {
    if (file.read(0, bytes) != bytes.size() || known_header(bytes, 0)) {
      return;
    }
    JournalHeader header{};
    std::memcpy(&header, bytes.data(), journal_header_bytes);
    if (header.header_checksum == 0) {
      return;  // forgotten
    }
    // Either of the two may be what is damaged.
    if (!has_second_record(file, {header.header_checksum, checksum_of(header, 0)})) {
      return;
    }
    std::this_thread::sleep_for(pause);
  }
  throw Error(Code::damaged,
              file.path() +
                  ": its first record is damaged, and later ones follow: the last steps may be in "
                  "it alone. Restore it from a copy; or move it away, and the file has the steps "
                  "that were put in place before");
}

}  // namespace

std::optional<JournalHeader> sound_header(std::span<const std::byte> bytes,
                                          std::uint64_t room_bytes, std::uint64_t previous) {
  if (bytes.size() < journal_header_bytes || room_bytes < journal_header_bytes) {
    return std::nullopt;
  }
  const auto header = known_header(bytes, previous);
  return header && header->payload_bytes <= room_bytes - journal_header_bytes ? header
                                                                              : std::nullopt;
}

bool visit_runs(std::uint64_t count, std::uint64_t begin, std::uint64_t end,
                const std::function<void(std::uint64_t at, std::span<std::byte> bytes)>& read,
                const VisitRun& visit) {
  std::uint64_t at = begin;
  std::uint64_t last_end = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::array<std::uint64_t, 2> words{};
    static_assert(sizeof words == journal_run_header_bytes);
    if (end - at < sizeof words) {
      return false;
    }
    read(at, std::as_writable_bytes(std::span(words)));
    at += sizeof words;
    const auto shape = sound_run(words[0], words[1], last_end, end - at);
    if (!shape) {
      return false;
    }
    visit(words[0], *shape, at);
    at += shape->before_bytes + shape->length;
    last_end = words[0] + shape->length;
  }
  return at == end;
}

std::optional<JournalTail> tail_of(storage::File& file, const JournalRecord& record) {
  if (!has_tail(record.header)) {
    return JournalTail{};
  }
  const std::uint64_t payload_bytes = record.header.payload_bytes;
  return read_tail(file, record.at + journal_header_bytes + payload_bytes, payload_bytes);
}

std::optional<JournalRecord> last_record(
    storage::File& file, const std::function<bool(const JournalRecord&)>& is_backed) {
  const std::uint64_t size = file.size();
  std::optional<JournalRecord> last;
  std::optional<JournalRecord> before;
  JournalPlace place;
  std::array<std::byte, journal_header_bytes> bytes{};
  while (place.at < size && file.read(place.at, bytes) == bytes.size()) {
    const auto header = sound_header(bytes, size - place.at, place.previous);
    if (!header || (last && header->commit != last->header.commit + 1)) {
      break;
    }
    before = std::exchange(last, JournalRecord{place.at, *header});
    place = place_behind(place, *header);
  }
  if (!last) {
    require_undamaged_front(file);
  }
  if (last && has_payload(file, *last) && (!is_backed || is_backed(*last))) {
    return last;
  }
  return before && has_payload(file, *before) ? before : std::nullopt;
}

std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>> differing_parts(
    std::span<const std::byte> before, std::span<const std::byte> after, std::size_t joined_bytes) {
  const std::size_t gap_bytes = std::max(shortest_gap_bytes, joined_bytes + 1);
  std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>> parts;
  for (std::size_t at = first_difference(before, after, 0); at < before.size();
       at = first_difference(before, after, at)) {
    const std::size_t end = end_of_difference(before, after, at, gap_bytes);
    parts.emplace_back(at, end);
    at = end;
  }
  return parts;
}

}  // namespace sluice::commit
