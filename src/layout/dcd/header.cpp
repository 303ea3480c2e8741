#include "layout/dcd/header.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>

#include "model/dims.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::dcd {

namespace {

constexpr std::uint64_t control_bytes = 84;
/// More than any program writes; a larger number is not a number of titles.
constexpr std::uint64_t most_titles = 10000;

template <class Value>
Value swapped(Value value) {
  auto bytes = std::bit_cast<std::array<std::byte, sizeof(Value)>>(value);
  std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<Value>(bytes);
}

template <class Value>
void put(std::vector<std::byte>& out, Value value, bool big_endian) {
  value = big_endian ? swapped(value) : value;
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), first, first + sizeof value);
}

void put_text(std::vector<std::byte>& out, const std::string& text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  out.insert(out.end(), first, first + text.size());
}

/// Reads the records of a header one after the other.
class Reader {
 public:
  explicit Reader(storage::File& file) : file_(file), size_(file.size()) {}

  /// The kind of markers and the byte order; false if the file does not begin as a trajectory.
  bool begin() {
    std::array<std::byte, 16> start{};
    if (file_.read(0, start) != start.size()) {
      return false;
    }
    for (const std::uint64_t marker : {std::uint64_t{4}, std::uint64_t{8}}) {
      for (const bool big : {false, true}) {
        marker_ = marker;
        big_ = big;
        name_.assign(reinterpret_cast<const char*>(start.data() + marker), 4);
        if ((name_ == "CORD" || name_ == "VELD") && marker_at(start) == control_bytes) {
          return true;
        }
      }
    }
    return false;
  }

  /// May the markers of the next record enclose this many bytes, whatever they say?
  bool could_hold(std::uint64_t bytes) {
    std::array<std::byte, 8> first{};
    std::array<std::byte, 8> last{};
    return file_.read(at_, std::span(first).first(marker_)) == marker_ &&
           file_.read(at_ + marker_ + bytes, std::span(last).first(marker_)) == marker_ &&
           first == last;
  }
  bool closes_as_it_says() {
    std::array<std::byte, 8> first{};
    file_.read(at_, std::span(first).first(marker_));
    const std::uint64_t said = marker_at(first);
    return said <= size_ && could_hold(said);
  }
  /// The first word of the file.
  std::int32_t next_word() {
    std::vector<std::byte> content(4);
    content.resize(file_.read(at_ + marker_, content));
    return word(content, 0);
  }

  /// `real_bytes`: the length of the record if it is not the one in its markers.
  std::vector<std::byte> record(const char* what, std::uint64_t most,
                                std::optional<std::uint64_t> real_bytes = std::nullopt) {
    std::array<std::byte, 8> marker{};
    read(marker_, marker.data());
    const std::uint64_t said = marker_at(marker);
    const std::uint64_t bytes = real_bytes.value_or(said);
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
    if (marker_at(marker) != said) {
      refuse(Code::format, std::string("the two markers of its ") + what + " differ");
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
  const std::string& name() const { return name_; }
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
  std::string name_;
};

void read_titles(Reader& reader, Header& header) {
  // Some programs write a wrong number of titles, others a wrong length of the record: the closing
  // marker decides.
  const std::int32_t number = reader.next_word();
  const std::uint64_t most = 4 + most_titles * title_bytes;
  const std::uint64_t numbered =
      4 + title_bytes * static_cast<std::uint64_t>(std::max(number, std::int32_t{0}));
  const bool is_by_number =
      number >= 0 && numbered <= most && !reader.closes_as_it_says() && reader.could_hold(numbered);
  const std::vector<std::byte> content =
      reader.record("titles", most, is_by_number ? std::optional(numbered) : std::nullopt);
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

/// The length of the file decides: programs that died left no number of frames, others a wrong one.
void settle_frames(Header& header, std::uint64_t size) {
  const std::uint64_t room = size - header.bytes;
  const std::uint64_t first = header.frame_bytes(0);
  std::uint64_t whole = room / first;
  if (!header.free_atoms.empty() && whole != 0) {
    whole = 1 + (room - first) / header.frame_bytes(1);
  }
  header.is_cut = header.frame_offset(whole) != size;
  const std::int32_t said = header.control[frames];
  if (said <= 0 || static_cast<std::uint64_t>(said) > whole) {
    header.counted = static_cast<std::uint64_t>(std::max(said, std::int32_t{0}));
    header.control[frames] = static_cast<std::int32_t>(std::min<std::uint64_t>(whole, INT32_MAX));
  }
}

}  // namespace

double Header::timestep_value() const {
  if (control[version] != 0) {
    return std::bit_cast<float>(control[timestep]);
  }
  // Words were swapped one by one; in a number of 8 bytes their order is swapped too.
  const std::size_t low = big_endian ? timestep + 1 : timestep;
  const std::size_t high = big_endian ? timestep : timestep + 1;
  const auto bits = static_cast<std::uint64_t>(static_cast<std::uint32_t>(control[low])) |
                    static_cast<std::uint64_t>(static_cast<std::uint32_t>(control[high])) << 32;
  return std::bit_cast<double>(bits);
}

void Header::set_timestep(double value) {
  if (control[version] != 0) {
    control[timestep] = std::bit_cast<std::int32_t>(static_cast<float>(value));
    return;
  }
  const auto bits = std::bit_cast<std::uint64_t>(value);
  control[big_endian ? timestep + 1 : timestep] = static_cast<std::int32_t>(bits & 0xffffffff);
  control[big_endian ? timestep : timestep + 1] = static_cast<std::int32_t>(bits >> 32);
}

std::uint64_t Header::frame_bytes(std::uint64_t frame) const {
  return (cell() ? record_bytes(cell_bytes) : 0) + axes() * record_bytes(4 * atoms_in(frame));
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
  control[version] = usual_version;
  return control;
}

bool is_dcd(storage::File& file) { return Reader(file).begin(); }

Header read_header(storage::File& file) {
  Reader reader(file);
  if (!reader.begin()) {
    reader.refuse(Code::format, "does not begin like a trajectory");
  }
  Header header;
  header.marker_bytes = reader.marker_bytes();
  header.big_endian = reader.big();
  header.name = reader.name();
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
  settle_frames(header, reader.size());
  return header;
}

void put_marker(std::vector<std::byte>& out, const Header& header, std::uint64_t content) {
  if (header.marker_bytes == 4) {
    put(out, static_cast<std::uint32_t>(content), header.big_endian);
  } else {
    put(out, content, header.big_endian);
  }
}

std::int64_t step_before(const Header& header) {
  const auto word = [&](Word at) { return std::int64_t{header.control[at]}; };
  const std::int64_t counted = std::max(static_cast<std::int64_t>(header.counted), word(frames));
  return word(last_step) == std::numeric_limits<std::int32_t>::max()
             ? word(first_step) - word(interval)
             : word(last_step) - counted * word(interval);
}

StepCount count_frames(storage::File& file) {
  const Header header = read_header(file);
  const auto there = static_cast<std::uint64_t>(header.control[frames]);
  return {std::max(header.counted, there), there};
}

void set_frame_count(storage::File& file, std::uint64_t count) {
  Header header = read_header(file);
  set_counts(header, step_before(header), count);
  file.write(header.counts_offset(), counts_of(header));
  file.sync();
}

std::int32_t in_word(std::int64_t number) {
  using Limits = std::numeric_limits<std::int32_t>;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(number, Limits::min(), Limits::max()));
}

void set_counts(Header& header, std::int64_t before, std::uint64_t count) {
  header.control[frames] = static_cast<std::int32_t>(count);
  header.control[last_step] =
      in_word(before + static_cast<std::int64_t>(count) * header.control[interval]);
}

std::vector<std::byte> counts_of(const Header& header) {
  std::vector<std::byte> out;
  for (std::size_t i = frames; i <= last_step; ++i) {
    put(out, header.control[i], header.big_endian);
  }
  return out;
}

std::vector<std::byte> header_bytes(const Header& header) {
  std::vector<std::byte> out;
  const auto marker = [&](std::uint64_t content) { put_marker(out, header, content); };
  const auto word = [&](std::int32_t value) { put(out, value, header.big_endian); };
  marker(control_bytes);
  put_text(out, header.name);
  for (const std::int32_t value : header.control) {
    word(value);
  }
  marker(control_bytes);
  const std::uint64_t titles = 4 + title_bytes * header.titles.size();
  marker(titles);
  word(static_cast<std::int32_t>(header.titles.size()));
  for (const std::string& title : header.titles) {
    put_text(out, title);
  }
  marker(titles);
  marker(4);
  word(static_cast<std::int32_t>(header.atoms));
  marker(4);
  return out;
}

}  // namespace sluice::layout::dcd
