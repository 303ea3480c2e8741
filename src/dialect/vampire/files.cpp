#include "dialect/vampire/files.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <span>

#include "sluice/error.hpp"

namespace sluice::dialect::vampire {
namespace {

static_assert(sizeof(double) == 8);

constexpr std::uint64_t max_meta_bytes = 64ULL << 20;

/// The shortest row of text there can be, with its line end.
std::uint64_t min_text_row_bytes(Kind kind) { return kind == Kind::spins ? 6 : 10; }

bool is_digit(std::byte b) { return b >= std::byte{'0'} && b <= std::byte{'9'}; }

std::string number(std::uint64_t value) { return std::to_string(value); }

/// The count on the first line of a text file.
std::uint64_t text_count(storage::File& file, Kind kind, std::span<const std::byte> head,
                         std::uint64_t begins_at = 0) {
  const char* begin = reinterpret_cast<const char*>(head.data());
  const char* end = begin + head.size();
  std::uint64_t rows = 0;
  const auto [stop, status] = std::from_chars(begin, end, rows);
  if (status != std::errc() || (stop != end && *stop != '\n' && *stop != '\r')) {
    throw Error(Code::format, file.path() + ": expected the number of rows on the first line" +
                                  (begins_at > 0 ? " after the header" : ""));
  }
  if (rows > file.size() / min_text_row_bytes(kind)) {
    throw Error(Code::truncated, file.path() + ": its first line announces " + number(rows) +
                                     " rows, for which its " + number(file.size()) +
                                     " bytes are too few");
  }
  std::byte last{};
  file.read(file.size() - 1, std::span(&last, 1));
  if (last != std::byte{'\n'}) {
    throw Error(Code::truncated, file.path() + ": its last line has no end (" +
                                     number(file.size()) + " bytes found)");
  }
  return rows;
}

struct Measured {
  bool text = false;
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
};

/// A count of atoms below 2^56 has a zero byte at its end, which no text has: so the first eight
/// bytes distinguish binary from text without trusting the meta.
Measured measure(storage::Storage& storage, const std::string& path, Kind kind) {
  const auto file = storage.open(path, storage::Access::read);
  Measured result;
  result.bytes = file->size();
  std::array<std::byte, 24> head{};
  const std::size_t found = file->read(0, head);
  if (found == 0) {
    throw Error(Code::truncated, path + ": the file is empty");
  }
  if (found < count_bytes || head[7] != std::byte{0}) {
    if (!is_digit(head[0])) {
      throw Error(Code::format, path + ": neither VAMPIRE's text nor its little-endian binary");
    }
    result.text = true;
    result.rows = text_count(*file, kind, std::span(head).first(found));
    return result;
  }
  std::memcpy(&result.rows, head.data(), sizeof result.rows);
  if ((result.bytes - count_bytes) / row_bytes(kind) < result.rows) {
    throw Error(Code::truncated, path + ": truncated: its " + number(result.rows) + " atoms need " +
                                     number(count_bytes + result.rows * row_bytes(kind)) +
                                     " bytes, found " + number(result.bytes));
  }
  return result;
}

std::string in_folder(const Listed& listed, const std::string& name) {
  return listed.folder + "/" + name;
}

/// Determines the sizes of `names`, numbers their rows; refuses a mixture of text and binary.
FileSet measure_all(storage::Storage& storage, const Listed& listed,
                    const std::vector<std::string>& names, std::uint64_t& rows) {
  FileSet set;
  rows = 0;
  for (const std::string& name : names) {
    const std::string path = in_folder(listed, name);
    const Measured found = measure(storage, path, listed.kind);
    if (set.files.empty()) {
      set.text = found.text;
    } else if (set.text != found.text) {
      throw Error(Code::format, path + ": is " + (found.text ? "text" : "binary") + ", but " +
                                    set.files.front().path + " is " +
                                    (set.text ? "text" : "binary") +
                                    ": files of two runs are mixed in this folder");
    }
    set.files.push_back({path, rows, found.rows, found.bytes});
    rows += found.rows;  // cannot wrap: each is below 2^58 and a meta lists below 2^26 files ...
    if (rows > (1ULL << 60)) {  // ... and the sum is checked here all the same
      throw Error(Code::format, path + ": more atoms than any file can hold");
    }
  }
  return set;
}

void note_format(const Listed& listed, const FileSet& set, std::vector<std::string>& notes) {
  if ((listed.says_text && !set.text) || (listed.says_binary && set.text)) {
    notes.push_back(in_folder(listed, listed.meta) + ": says Format: " +
                    (listed.says_text ? "text" : "binary") + ", but the data are " +
                    (set.text ? "text" : "binary") + " and are read as such");
  }
}

}  // namespace

FileSet resolve(storage::Storage& storage, const Listed& listed, std::uint64_t atoms,
                std::vector<std::string>& notes) {
  std::vector<std::string> present;
  std::string absent;
  for (const std::string& name : listed.names) {
    if (storage.exists(in_folder(listed, name))) {
      present.push_back(name);
    } else if (absent.empty()) {
      absent = name;
    }
  }
  const std::string meta = in_folder(listed, listed.meta);
  const std::uint64_t missing = listed.names.size() - present.size();
  // MPI-IO mode with several output nodes lists numbered files but writes only the unnumbered one.
  if (missing > 0 && storage.exists(in_folder(listed, listed.single))) {
    std::uint64_t rows = 0;
    FileSet set = measure_all(storage, listed, {listed.single}, rows);
    if (rows == atoms) {
      notes.push_back(meta + ": lists " + number(listed.names.size()) + " files, " +
                      number(missing) + " of which do not exist; " + listed.single +
                      " holds all atoms and is read instead");
      note_format(listed, set, notes);
      return set;
    }
  }
  std::uint64_t rows = 0;
  FileSet set = measure_all(storage, listed, present, rows);
  if (rows != atoms && missing > 0) {
    throw Error(Code::not_found,
                meta + ": lists " + absent + ", which does not exist" +
                    (missing > 1 ? " (nor do " + number(missing - 1) + " others)" : std::string()) +
                    "; the files that do hold " + number(rows) + " of " + number(atoms) + " atoms");
  }
  if (rows != atoms) {
    throw Error(Code::format, meta + ": the listed files hold " + number(rows) + " atoms, but " +
                                  listed.folder + "/atoms-coords.meta says " + number(atoms));
  }
  if (missing > 0) {
    notes.push_back(meta + ": lists " + absent + ", which does not exist; the other " +
                    number(present.size()) + " files hold all atoms");
  }
  note_format(listed, set, notes);
  return set;
}

FileSet resolve_legacy(storage::Storage& storage, const std::string& folder,
                       const std::vector<std::string>& names, std::uint64_t header_bytes, Kind kind,
                       std::uint64_t atoms) {
  FileSet set;
  set.text = true;
  set.has_elements = kind == Kind::coordinates;
  std::uint64_t rows = 0;
  for (const std::string& name : names) {
    const auto file = storage.open(folder + "/" + name, storage::Access::read);
    DataFile data{file->path(), rows, 0, file->size(), set.files.empty() ? header_bytes : 0};
    std::array<std::byte, 24> head{};
    const std::size_t found = file->read(data.begin, head);
    data.rows = text_count(*file, kind, std::span(head).first(found), data.begin);
    rows += data.rows;
    set.files.push_back(data);
  }
  if (rows != atoms) {
    throw Error(Code::format, set.files.front().path + ": its header says " + number(atoms) +
                                  " atoms, the files hold " + number(rows));
  }
  return set;
}

std::string read_header(storage::Storage& storage, const std::string& path) {
  const auto file = storage.open(path, storage::Access::read);
  std::string text(std::min(file->size(), max_header_bytes), '\0');
  text.resize(file->read(0, std::as_writable_bytes(std::span(text))));
  return text;
}

std::string read_small(storage::Storage& storage, const std::string& path) {
  const auto file = storage.open(path, storage::Access::read);
  const std::uint64_t bytes = file->size();
  if (bytes > max_meta_bytes) {
    throw Error(Code::format, path + ": too large for a meta file (" + number(bytes) + " bytes)");
  }
  std::string text(bytes, '\0');
  text.resize(file->read(0, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace sluice::dialect::vampire
