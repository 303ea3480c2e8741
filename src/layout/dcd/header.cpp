#include "layout/dcd/header.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "model/dims.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::dcd {

namespace {

constexpr std::uint64_t control_bytes = 84;
/// More than any program writes; what claims more is no title.
constexpr std::uint64_t most_titles = 10000;

template <class Value>
Value swapped(Value value) {
  auto bytes = std::bit_cast<std::array<std::byte, sizeof(Value)>>(value);
  std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<Value>(bytes);
}

template <class Value>
void put(std::vector<std::byte>& out, const Value& value) {
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), first, first + sizeof value);
}

/// Reads the records of a header one after the other.
class Reader {
 public:
  explicit Reader(storage::File& file) : file_(file), size_(file.size()) {}

  /// Which kind of markers and which byte order; false where it begins as no trajectory.
  bool begin() {
    std::array<std::byte, 16> start{};
    if (file_.read(0, start) != start.size()) {
      return false;
    }
    for (const std::uint64_t marker : {std::uint64_t{4}, std::uint64_t{8}}) {
      for (const bool big : {false, true}) {
        marker_ = marker;
        big_ = big;
        const bool has_name = std::memcmp(start.data() + marker, "CORD", 4) == 0 ||
                              std::memcmp(start.data() + marker, "VELD", 4) == 0;
        if (has_name && marker_at(start) == control_bytes) {
          return true;
        }
      }
    }
    return false;
  }

  std::vector<std::byte> record(const char* what, std::uint64_t most) {
    std::array<std::byte, 8> marker{};
    read(marker_, marker.data());
    const std::uint64_t bytes = marker_at(marker);
    if (bytes > most) {
      refuse(Code::format,
             std::string("its ") + what + " claims " + std::to_string(bytes) + " bytes");
    }
    if (bytes > size_ - std::min(size_, at_)) {
      refuse(Code::truncated, std::string("truncated: ends inside its ") + what);
    }
    std::vector<std::byte> content(bytes);
    read(bytes, content.data());
    read(marker_, marker.data());
    if (marker_at(marker) != bytes) {
      refuse(Code::format, std::string("the markers of its ") + what + " differ");
    }
    return content;
  }

  std::int32_t word(const std::vector<std::byte>& content, std::uint64_t at) const {
    if (at + 4 > content.size()) {
      refuse(Code::format, "a record of its header is too short");
    }
    std::int32_t value = 0;
    std::memcpy(&value, content.data() + at, sizeof value);
    return big_ ? swapped(value) : value;
  }

  [[noreturn]] void refuse(Code code, const std::string& why) const {
    throw Error(code, file_.path() + ": format dcd: " + why);
  }
  std::uint64_t marker_bytes() const { return marker_; }
  bool big() const { return big_; }
  std::uint64_t at() const { return at_; }
  std::uint64_t size() const { return size_; }

 private:
  template <std::size_t n>
  std::uint64_t marker_at(const std::array<std::byte, n>& bytes) const {
    if (marker_ == 4) {
      std::uint32_t value = 0;
      std::memcpy(&value, bytes.data(), sizeof value);
      return big_ ? swapped(value) : value;
    }
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    return big_ ? swapped(value) : value;
  }
  void read(std::uint64_t bytes, std::byte* into) {
    if (file_.read(at_, {into, bytes}) != bytes) {
      refuse(Code::truncated, "truncated: ends inside its header");
    }
    at_ += bytes;
  }

  storage::File& file_;
  std::uint64_t size_;
  std::uint64_t at_ = 0;
  std::uint64_t marker_ = 4;
  bool big_ = false;
};

void read_titles(Reader& reader, Header& header) {
  const std::vector<std::byte> content = reader.record("titles", 4 + most_titles * title_bytes);
  reader.word(content,
              0);  // their number, which some programs get wrong: the record's length counts
  for (std::uint64_t at = 4; at + title_bytes <= content.size(); at += title_bytes) {
    header.titles.emplace_back(reinterpret_cast<const char*>(content.data() + at), title_bytes);
  }
}

void read_free_atoms(Reader& reader, Header& header) {
  const std::int32_t fixed = header.control[fixed_atoms];
  if (fixed == 0) {
    return;
  }
  if (fixed < 0 || static_cast<std::uint64_t>(fixed) >= header.atoms) {
    reader.refuse(Code::format, "fixes " + std::to_string(fixed) + " of " +
                                    std::to_string(header.atoms) + " atoms");
  }
  const std::uint64_t count = header.atoms - static_cast<std::uint64_t>(fixed);
  const std::vector<std::byte> content = reader.record("list of free atoms", 4 * count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::int32_t index = reader.word(content, 4 * i);
    if (index < 1 || static_cast<std::uint64_t>(index) > header.atoms) {
      reader.refuse(Code::format, "its list of free atoms holds " + std::to_string(index));
    }
    header.free_atoms.push_back(static_cast<std::uint32_t>(index - 1));
  }
}

/// What the file has room for counts: programs that died left no number, others a wrong one.
void count_frames(Header& header, std::uint64_t size) {
  const std::uint64_t room = size - header.bytes;
  const std::uint64_t first = header.frame_bytes(0);
  std::uint64_t whole = room / first;
  if (!header.free_atoms.empty() && whole != 0) {
    whole = 1 + (room - first) / header.frame_bytes(1);
  }
  const std::int32_t said = header.control[frames];
  if (said <= 0 || static_cast<std::uint64_t>(said) > whole) {
    header.control[frames] = static_cast<std::int32_t>(std::min<std::uint64_t>(whole, INT32_MAX));
  }
}

}  // namespace

double Header::timestep_value() const {
  if (control[version] != 0) {
    return std::bit_cast<float>(control[timestep]);
  }
  // Words were swapped one by one, a number of 8 bytes has them in the other order too.
  const std::size_t low = big_endian ? timestep + 1 : timestep;
  const std::size_t high = big_endian ? timestep : timestep + 1;
  const auto bits = static_cast<std::uint64_t>(static_cast<std::uint32_t>(control[low])) |
                    static_cast<std::uint64_t>(static_cast<std::uint32_t>(control[high])) << 32;
  return std::bit_cast<double>(bits);
}

std::uint64_t Header::frame_bytes(std::uint64_t frame) const {
  const std::uint64_t axes = fourth() ? 4 : 3;
  return (cell() ? record_bytes(cell_bytes) : 0) + axes * record_bytes(4 * atoms_in(frame));
}

std::uint64_t Header::frame_offset(std::uint64_t frame) const {
  return frame == 0 ? bytes : bytes + frame_bytes(0) + (frame - 1) * frame_bytes(1);
}

std::uint64_t Header::axis_offset(std::uint64_t frame, int d) const {
  return frame_offset(frame) + (cell() ? record_bytes(cell_bytes) : 0) +
         static_cast<std::uint64_t>(d) * record_bytes(4 * atoms_in(frame)) + marker_bytes;
}

std::array<std::int32_t, control_words> usual_control() {
  std::array<std::int32_t, control_words> control{};
  control[interval] = 1;
  control[timestep] = std::bit_cast<std::int32_t>(1.0F);
  control[version] = 24;
  return control;
}

bool is_dcd(storage::File& file) { return Reader(file).begin(); }

Header read_header(storage::File& file) {
  Reader reader(file);
  if (!reader.begin()) {
    reader.refuse(Code::format, "does not begin as a trajectory");
  }
  Header header;
  header.marker_bytes = reader.marker_bytes();
  header.big_endian = reader.big();
  const std::vector<std::byte> control = reader.record("control record", control_bytes);
  for (std::size_t i = 0; i < control_words; ++i) {
    header.control[i] = reader.word(control, 4 + 4 * i);
  }
  read_titles(reader, header);
  const std::int32_t atoms = reader.word(reader.record("number of atoms", 4), 0);
  if (atoms < 0) {
    reader.refuse(Code::format, "claims " + std::to_string(atoms) + " atoms");
  }
  header.atoms = static_cast<std::uint64_t>(atoms);
  read_free_atoms(reader, header);
  header.bytes = reader.at();
  count_frames(header, reader.size());
  return header;
}

void put_marker(std::vector<std::byte>& out, std::uint64_t marker_bytes, std::uint64_t content) {
  if (marker_bytes == 4) {
    put(out, static_cast<std::uint32_t>(content));
  } else {
    put(out, content);
  }
}

std::vector<std::byte> counts_of(const Header& header) {
  std::vector<std::byte> out;
  for (std::size_t i = frames; i <= last_step; ++i) {
    put(out, header.control[i]);
  }
  return out;
}

std::vector<std::byte> header_bytes(const Header& header) {
  std::vector<std::byte> out;
  const auto marker = [&](std::uint64_t content) { put_marker(out, header.marker_bytes, content); };
  marker(control_bytes);
  put(out, std::array<char, 4>{'C', 'O', 'R', 'D'});
  put(out, header.control);
  marker(control_bytes);
  const std::uint64_t titles = 4 + title_bytes * header.titles.size();
  marker(titles);
  put(out, static_cast<std::int32_t>(header.titles.size()));
  for (const std::string& title : header.titles) {
    const auto* first = reinterpret_cast<const std::byte*>(title.data());
    out.insert(out.end(), first, first + title_bytes);
  }
  marker(titles);
  marker(4);
  put(out, static_cast<std::int32_t>(header.atoms));
  marker(4);
  return out;
}

}  // namespace sluice::layout::dcd
