#include "layout/npy/header.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "model/definition.hpp"
#include "model/name.hpp"
#include "model/type_names.hpp"

namespace sluice::layout::npy {

namespace {

constexpr std::string_view magic("\x93NUMPY", 6);
/// A longer header does not belong to an array: numpy itself refuses more than 10,000 characters.
constexpr std::uint64_t most_header_bytes = 1 << 20;

[[noreturn]] void refuse(const storage::File& file, Code code, const std::string& why) {
  throw Error(code, file.path() + ": " + why);
}

std::string read_text(storage::File& file, std::uint64_t offset, std::uint64_t bytes) {
  std::string text(bytes, '\0');
  text.resize(file.read(offset, std::as_writable_bytes(std::span(text))));
  return text;
}

/// A parser of the dictionary; every mismatch is Error format.
class Parser {
 public:
  Parser(const storage::File& file, std::string_view text) : file_(file), text_(text) {}

  void expect(char wanted) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != wanted) {
      refuse(file_, Code::format,
             std::string("its header has no '") + wanted + "' where it should");
    }
    ++at_;
  }
  /// Does not consume anything if the text differs, not even spaces.
  bool takes(char wanted) {
    const std::size_t from = at_;
    skip_spaces();
    const bool is_there = at_ < text_.size() && text_[at_] == wanted;
    at_ = is_there ? at_ + 1 : from;
    return is_there;
  }
  std::string text() {
    skip_spaces();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const std::size_t end = text_.find(quote, at_ + 1);
    if ((quote != '\'' && quote != '"') || end == std::string_view::npos) {
      refuse(file_, Code::unsupported,
             "its header has no text where it should (records are not supported)");
    }
    std::string found(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return found;
  }
  bool boolean() {
    skip_spaces();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(std::min(at_, text_.size()), word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    refuse(file_, Code::format, "its header has no boolean where it should");
  }
  /// Returns the number and the number of characters consumed, including the spaces before it.
  std::uint64_t number(std::size_t& width) {
    const std::size_t from = at_;
    skip_spaces();
    std::uint64_t value = 0;
    const char* begin = text_.data() + std::min(at_, text_.size());
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc{}) {
      refuse(file_, Code::format, "its header has no number where it should");
    }
    at_ += static_cast<std::size_t>(end - begin);
    width = at_ - from;
    return value;
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) {
      ++at_;
    }
  }

  const storage::File& file_;
  std::string_view text_;
  std::size_t at_ = 0;
};

void read_shape(const storage::File& file, Parser& parser, Header& header) {
  parser.expect('(');
  while (!parser.takes(')')) {
    std::size_t width = 0;
    header.extents.push_back(parser.number(width));
    if (header.extents.size() == 1) {
      header.growing = width == field_width;
    }
    if (header.extents.size() > static_cast<std::size_t>(model::max_rank)) {
      refuse(file, Code::unsupported, "more than 8 dimensions");
    }
    parser.takes(',');
  }
}

void read_descriptor(const storage::File& file, const std::string& text, Header& header) {
  const auto known = model::numpy_type_named(text);
  if (!known || known->type.bytes > model::most_element_bytes) {
    refuse(file, Code::unsupported,
           "elements of type " + model::quoted(text) + ", which Sluice does not have");
  }
  header.type = known->type;
  header.big_endian = known->big_endian;
}

}  // namespace

bool is_npy(storage::File& file) { return read_text(file, 0, magic.size()) == magic; }

namespace {

/// Does not depend on the length of the file.
Header parse_header(storage::File& file) {
  const std::string start = read_text(file, 0, 12);
  if (start.size() < 10 || start.compare(0, magic.size(), magic) != 0) {
    refuse(file, Code::format, "not a numpy array (no magic string)");
  }
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint64_t>(static_cast<unsigned char>(start[i]));
  };
  const std::uint64_t major = byte(6);
  if (major < 1 || major > 3) {
    refuse(file, Code::version, "numpy format " + std::to_string(major) + ".x: known are 1 to 3");
  }
  const std::uint64_t prefix = major == 1 ? 10 : 12;
  if (start.size() < prefix) {
    refuse(file, Code::truncated, "truncated: ends inside its header");
  }
  const std::uint64_t length =
      byte(8) | byte(9) << 8 | (major == 1 ? 0 : byte(10) << 16 | byte(11) << 24);
  if (length > most_header_bytes) {
    refuse(file, Code::format, "claims a header of " + std::to_string(length) + " bytes");
  }
  const std::string text = read_text(file, prefix, length);
  if (text.size() < length) {
    refuse(file, Code::truncated, "truncated: ends inside its header");
  }
  Header header;
  header.data_offset = prefix + length;
  Parser parser(file, text);
  std::array<bool, 3> seen{};
  parser.expect('{');
  while (!parser.takes('}')) {
    const std::string key = parser.text();
    parser.expect(':');
    if (key == "descr") {
      read_descriptor(file, parser.text(), header);
      seen[0] = true;
    } else if (key == "fortran_order") {
      header.fortran_order = parser.boolean();
      seen[1] = true;
    } else if (key == "shape") {
      read_shape(file, parser, header);
      seen[2] = true;
    } else {
      refuse(file, Code::format, "its header has an unknown key " + model::quoted(key));
    }
    parser.takes(',');
  }
  if (!seen[0] || !seen[1] || !seen[2]) {
    refuse(file, Code::format, "its header lacks the type, the order or the shape");
  }
  return header;
}

/// As Sluice writes it: Error as parse_header(), empty if it is another program's.
std::optional<Header> own_header(storage::File& file) {
  Header header = parse_header(file);
  std::vector<std::byte> text(header_bytes);
  text.resize(file.read(0, text));
  return header.growing && text == header_text(header) ? std::optional(std::move(header))
                                                       : std::nullopt;
}

}  // namespace

StepCount count_steps(storage::File& file) {
  const auto header = own_header(file);
  if (!header) {
    return {};
  }
  std::uint64_t step_bytes = header->type.bytes;
  for (std::size_t d = 1; d < header->extents.size(); ++d) {
    step_bytes = model::checked_product(step_bytes, header->extents[d], "array size");
  }
  const std::uint64_t counted = header->extents[0];
  const std::uint64_t bytes = file.size() - std::min(file.size(), header_bytes);
  return {counted, step_bytes == 0 ? counted : std::min(counted, bytes / step_bytes)};
}

void set_step_count(storage::File& file, std::uint64_t steps) {
  auto header = own_header(file);
  if (!header) {
    throw Error(Code::internal, file.path() + ": not an array of steps of Sluice");
  }
  header->extents[0] = steps;
  const std::uint64_t at = field_offset(*header);
  const std::vector<std::byte> text = header_text(*header);
  file.write(at, std::span(text).subspan(at, field_width));
  file.sync();
}

Header read_header(storage::File& file) {
  Header header = parse_header(file);
  std::uint64_t bytes = header.type.bytes;
  for (const std::uint64_t extent : header.extents) {
    bytes = model::checked_product(bytes, extent, "array size");
  }
  if (file.size() < header.data_offset || file.size() - header.data_offset < bytes) {
    refuse(file, Code::truncated, "truncated: has fewer bytes than its shape requires");
  }
  return header;
}

namespace {

/// The dictionary up to the first extent.
std::string front_text(const Header& header) {
  return "{'descr': '" + model::numpy_type(header.type) + "', 'fortran_order': False, 'shape': (";
}

constexpr std::uint64_t prefix_bytes = 10;

}  // namespace

std::uint64_t field_offset(const Header& header) {
  return prefix_bytes + front_text(header).size();
}

std::vector<std::byte> header_text(const Header& header) {
  std::string shape;
  for (std::size_t d = 0; d < header.extents.size(); ++d) {
    std::string extent = std::to_string(header.extents[d]);
    if (d == 0 && header.growing) {
      extent.insert(0, field_width - extent.size(), ' ');
    }
    shape += (d == 0 ? "" : ", ") + extent;
  }
  if (header.extents.size() == 1) {
    shape += ",";
  }
  std::string text = front_text(header) + shape + "), }";
  text.resize(header_bytes - prefix_bytes, ' ');
  text.back() = '\n';
  constexpr auto length = static_cast<std::uint16_t>(header_bytes - prefix_bytes);
  std::string bytes(magic);
  bytes += '\x01';
  bytes += '\x00';
  bytes += static_cast<char>(length & 0xff);
  bytes += static_cast<char>(length >> 8);
  bytes += text;
  const auto raw = std::as_bytes(std::span(bytes));
  return {raw.begin(), raw.end()};
}

}  // namespace sluice::layout::npy
