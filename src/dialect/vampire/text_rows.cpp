// Rows of text files, whose positions are unknown until they are read: every rank parses the lines
// that begin in its share of the bytes of all files together, sums over the ranks give the numbers
// of these rows, and the rows are sent to the ranks that requested them.
//
// Invariants: a line is at most max_line_bytes long; blank lines are skipped and not counted;
// memory is bounded by the bytes of this rank's share and the rows that it requested.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <locale>
#include <map>
#include <span>
#include <sstream>
#include <string_view>

#include "dialect/vampire/files.hpp"
#include "dialect/vampire/snapshot.hpp"
#include "exec/transport/agree.hpp"
#include "sluice/error.hpp"

namespace sluice::dialect::vampire {
namespace {

constexpr std::size_t max_line_bytes = 4096;
constexpr std::size_t buffer_bytes = 1 << 20;

/// Lines of a file in sequence, from a byte on.
class LineReader {
 public:
  LineReader(storage::File& file, std::uint64_t offset) : file_(file), next_(offset) {}

  /// The next line without its end; false at the end of the file. Valid until the next call.
  bool next(std::string_view& line) {
    while (true) {
      const std::string_view rest = std::string_view(buffer_).substr(used_);
      const auto end = rest.find('\n');
      if (end != std::string_view::npos || (at_end_ && !rest.empty())) {
        line = rest.substr(0, end);
        start_ = next_ - rest.size();
        used_ += end == std::string_view::npos ? rest.size() : end + 1;
        return true;
      }
      if (at_end_) {
        return false;
      }
      if (rest.size() > max_line_bytes) {
        throw Error(Code::format, file_.path() + ": a line of more than " +
                                      std::to_string(max_line_bytes) + " bytes at offset " +
                                      std::to_string(next_ - rest.size()));
      }
      refill(rest.size());
    }
  }
  /// Where the line began.
  std::uint64_t start() const { return start_; }

 private:
  void refill(std::size_t kept) {
    buffer_.erase(0, used_);
    used_ = 0;
    buffer_.resize(kept + buffer_bytes);
    const std::size_t found =
        file_.read(next_, std::as_writable_bytes(std::span(buffer_).subspan(kept)));
    buffer_.resize(kept + found);
    next_ += found;
    at_end_ = found < buffer_bytes;
  }

  storage::File& file_;
  std::string buffer_;
  std::size_t used_ = 0;
  std::uint64_t next_;  ///< offset in the file of the end of the buffer
  std::uint64_t start_ = 0;
  bool at_end_ = false;
};

bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// Is the magnitude of a number in decimal digits below 1? By its first digit that is not 0, and
/// its exponent.
bool is_below_one(std::string_view number) {
  const std::size_t mark = std::min(number.find_first_of("eE"), number.size());
  const std::string_view digits = number.substr(0, mark);
  const std::size_t first = digits.find_first_of("123456789");
  if (first == std::string_view::npos) {
    return true;
  }
  std::string_view exponent = number.substr(std::min(mark + 1, number.size()));
  const bool is_negative = exponent.starts_with('-');
  exponent.remove_prefix(is_negative || exponent.starts_with('+') ? 1 : 0);
  // Out of range are exponents of hundreds; no line is long enough to make up for one of 10^9.
  std::int64_t power = 0;
  for (const char c : exponent) {
    power = std::min<std::int64_t>(power * 10 + (c - '0'), 1000000000);
  }
  const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()));
  const auto at = static_cast<std::int64_t>(first);
  return (at < point ? point - at : point - at + 1) + (is_negative ? -power : power) <= 0;
}

/// Appends the numbers of a line; false if there are not exactly `columns` finite ones, followed by
/// a word if `word` is given.
bool parse_row(std::string_view line, int columns, std::vector<double>& values,
               std::string_view* word) {
  const char* at = line.data();
  const char* const end = at + line.size();
  for (int column = 0; column < columns; ++column) {
    while (at != end && blank(*at)) {
      ++at;
    }
    double value = 0;
    const auto [stop, status] = std::from_chars(at, end, value);
    // A number too small for a double was printed from a tiny one: it becomes zero. from_chars()
    // says of one that is too large the same.
    const bool is_out = status == std::errc::result_out_of_range;
    const bool tiny = is_out && is_below_one({at, stop});
    if ((status != std::errc() && !tiny) || !std::isfinite(value) ||
        (stop != end && !blank(*stop))) {
      return false;
    }
    values.push_back(tiny ? 0.0 : value);
    at = stop;
  }
  const auto skip_blanks = [&] {
    while (at != end && blank(*at)) {
      ++at;
    }
  };
  skip_blanks();
  if (word != nullptr) {
    const char* const begin = at;
    while (at != end && !blank(*at)) {
      ++at;
    }
    while (at != end && *at == ' ') {
      ++at;  // VAMPIRE writes symbols with a trailing blank
    }
    *word = {begin, at};
    skip_blanks();
  }
  return at == end;
}

/// Limits of the number of materials with symbols, and of the bytes of a symbol.
constexpr double max_materials = 65536;
constexpr std::size_t max_symbol_bytes = 8;

/// The rows of which this rank parsed the lines.
struct Parsed {
  std::vector<double> values;
  std::vector<std::int64_t> rows_of_file;
  std::int64_t rows = 0;
  std::map<std::int32_t, std::string> elements;  ///< by material, where the files have them
};

/// Lines that begin in bytes [begin, end) of one file.
void parse_part(storage::File& file, std::uint64_t begin, std::uint64_t end, int columns,
                bool is_first, bool has_elements, Parsed& parsed, std::int64_t& rows) {
  LineReader reader(file, is_first ? begin : begin - 1);
  std::string_view line;
  std::string_view element;
  // The header, or the rest of a line that began before this part.
  if (!reader.next(line)) {
    return;
  }
  while (reader.next(line) && reader.start() < end) {
    if (std::all_of(line.begin(), line.end(), blank)) {
      continue;
    }
    if (!parse_row(line, columns, parsed.values, has_elements ? &element : nullptr)) {
      throw Error(Code::format, file.path() + ": the line at offset " +
                                    std::to_string(reader.start()) + " is not " +
                                    std::to_string(columns) + " numbers");
    }
    ++rows;
    if (has_elements) {
      const double material = parsed.values.end()[-columns];
      if (material >= 0 && material < max_materials) {
        parsed.elements.try_emplace(static_cast<std::int32_t>(material),
                                    element.substr(0, max_symbol_bytes));
      }
    }
  }
}

Parsed parse_share(storage::Storage& storage, const FileSet& set, int columns, int rank,
                   int ranks) {
  std::uint64_t total = 0;
  for (const DataFile& data : set.files) {
    total += data.bytes - data.begin;
  }
  const auto [first, last] = share(total, rank, ranks);
  Parsed parsed;
  parsed.rows_of_file.resize(set.files.size());
  std::uint64_t file_begin = 0;
  for (std::size_t i = 0; i < set.files.size(); ++i) {
    const DataFile& data = set.files[i];
    const std::uint64_t begin = std::max(first, file_begin);
    const std::uint64_t bytes = data.bytes - data.begin;
    const std::uint64_t end = std::min(last, file_begin + bytes);
    if (begin < end) {
      const auto file = storage.open(data.path, storage::Access::read);
      const std::uint64_t skipped = data.begin - file_begin;  // wraps, and wraps back
      parse_part(*file, begin + skipped, end + skipped, columns, begin == file_begin,
                 set.has_elements, parsed, parsed.rows_of_file[i]);
      parsed.rows += parsed.rows_of_file[i];
    }
    file_begin += bytes;
  }
  return parsed;
}

/// Every file must have as many rows as its first line says. Collective.
void check_counts(exec::Transport& transport, const FileSet& set, const Parsed& parsed) {
  std::vector<std::int64_t> rows = parsed.rows_of_file;
  transport.allreduce(rows, exec::Op::sum);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const DataFile& data = set.files[i];
    if (static_cast<std::uint64_t>(rows[i]) != data.rows) {
      const bool fewer = static_cast<std::uint64_t>(rows[i]) < data.rows;
      throw Error(fewer ? Code::truncated : Code::format,
                  data.path + (fewer ? ": truncated" : ": too long") + ": its first line says " +
                      std::to_string(data.rows) + " rows, found " + std::to_string(rows[i]) +
                      " in " + std::to_string(data.bytes) + " bytes");
    }
  }
}

struct Range {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// The rows of `mine`, held from row `first` on, that each rank requested.
std::vector<exec::Parcel> parcels_for(const std::vector<std::vector<std::byte>>& wishes,
                                      const Parsed& mine, std::uint64_t first, int columns) {
  const auto width = static_cast<std::uint64_t>(columns);
  const std::uint64_t rows = mine.rows;
  std::vector<exec::Parcel> parcels;
  for (std::size_t rank = 0; rank < wishes.size(); ++rank) {
    Range wish;
    std::memcpy(&wish, wishes[rank].data(), sizeof wish);
    const std::uint64_t begin = std::max(wish.first, first);
    const std::uint64_t end = std::min(wish.first + wish.count, first + rows);
    if (begin >= end) {
      continue;
    }
    const auto values = std::as_bytes(
        std::span(mine.values).subspan((begin - first) * width, (end - begin) * width));
    exec::Parcel parcel{static_cast<int>(rank), std::vector<std::byte>(8 + values.size())};
    std::memcpy(parcel.bytes.data(), &begin, 8);
    std::memcpy(parcel.bytes.data() + 8, values.data(), values.size());
    parcels.push_back(std::move(parcel));
  }
  return parcels;
}

}  // namespace

std::vector<std::string> elements_of(exec::Transport& transport, storage::Storage& storage,
                                     const FileSet& set) {
  constexpr int columns = 5;
  Parsed parsed;
  exec::together(transport, [&] {
    parsed = parse_share(storage, set, columns, transport.rank(), transport.size());
  });
  std::string mine;
  for (const auto& [material, element] : parsed.elements) {
    mine += std::to_string(material) + " " + element + "\n";
  }
  std::vector<std::string> elements;
  for (const auto& bytes : transport.allgather(std::as_bytes(std::span(mine)))) {
    std::istringstream lines(
        std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    lines.imbue(std::locale::classic());  // one that groups digits by spaces reads on
    std::size_t material = 0;
    for (std::string element; lines >> material && lines.get() && std::getline(lines, element);) {
      elements.resize(std::max(elements.size(), material + 1));
      elements[material] = element;
    }
  }
  return elements;
}

std::vector<double> read_text_rows(exec::Transport& transport, storage::Storage& storage,
                                   const FileSet& set, int columns, std::uint64_t first,
                                   std::uint64_t count) {
  Parsed parsed;
  exec::together(transport, [&] {
    parsed = parse_share(storage, set, columns, transport.rank(), transport.size());
  });
  check_counts(transport, set, parsed);
  const auto mine_first = static_cast<std::uint64_t>(transport.prefix_sum(parsed.rows).below);
  const Range wish{first, count};
  const auto wishes = transport.allgather(std::as_bytes(std::span(&wish, 1)));
  const auto received = transport.exchange(parcels_for(wishes, parsed, mine_first, columns));
  std::vector<double> rows(count * static_cast<std::uint64_t>(columns));
  for (const exec::Parcel& parcel : received) {
    std::uint64_t begin = 0;
    std::memcpy(&begin, parcel.bytes.data(), 8);
    std::memcpy(rows.data() + (begin - first) * static_cast<std::uint64_t>(columns),
                parcel.bytes.data() + 8, parcel.bytes.size() - 8);
  }
  return rows;
}

}  // namespace sluice::dialect::vampire
