#include "model/name.hpp"

#include <cstdint>

#include "sluice/error.hpp"

namespace sluice::model {
namespace {

/// Length of the UTF-8 sequence at the front of `text`; 0 if it is invalid.
std::size_t sequence_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  if (byte(0) < 0x80) {
    return 1;
  }
  const std::size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length) {
    return 0;  // a continuation byte, an overlong lead byte, above U+10FFFF, or truncated
  }
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) {
      return 0;
    }
  }
  const bool overlong = (byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xf0 && byte(1) < 0x90);
  const bool surrogate = byte(0) == 0xed && byte(1) >= 0xa0;
  const bool too_large = byte(0) == 0xf4 && byte(1) >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

[[noreturn]] void refuse(std::string_view name, const char* why) {
  throw Error(Code::bad_name, "name " + quoted(name) + " " + why);
}

void check_component(std::string_view name, std::string_view component) {
  if (component.empty()) {
    refuse(name, "has an empty path component: use single slashes");
  }
  if (component == "." || component == "..") {
    refuse(name, "has a path component . or ..: name the path from the root");
  }
  if (component.size() > max_component_bytes) {
    refuse(name, "has a path component of more than 255 bytes");
  }
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

namespace {

/// Is this UTF-8 sequence a control sequence for a terminal?
bool is_control(std::string_view sequence, Shown shown) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(sequence[i]); };
  if (sequence.size() == 1) {
    const bool is_layout = byte(0) == '\n' || (byte(0) == '\t' && shown == Shown::lines);
    return byte(0) == 0x7f || (byte(0) < 0x20 && !(is_layout && shown != Shown::line));
  }
  if (sequence.size() == 2) {
    return byte(0) == 0xc2 && byte(1) < 0xa0;  // U+0080 to U+009F
  }
  // U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069: they change the direction of writing.
  return sequence.size() == 3 && byte(0) == 0xe2 &&
         ((byte(1) == 0x80 && (byte(2) == 0x8e || byte(2) == 0x8f)) ||
          (byte(1) == 0x80 && byte(2) >= 0xaa && byte(2) <= 0xae) ||
          (byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9));
}

void append_hex(std::uint32_t value, int digits, std::string& out) {
  for (int at = digits - 1; at >= 0; --at) {
    out += "0123456789abcdef"[value >> (4 * at) & 15];
  }
}

void append_escaped(std::string_view sequence, Shown shown, std::string& out) {
  if (shown != Shown::json) {
    for (const char c : sequence) {
      out += "\\x";
      append_hex(static_cast<std::uint8_t>(c), 2, out);
    }
    return;
  }
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(sequence[i]) & 0x3f; };
  const std::uint32_t point = sequence.size() == 3   ? 0x2000 | byte(1) << 6 | byte(2)
                              : sequence.size() == 2 ? 0x80 | byte(1)
                                                     : static_cast<std::uint8_t>(sequence[0]);
  out += "\\u";
  append_hex(point, 4, out);
}

}  // namespace

std::string quoted(std::string_view text, std::size_t max_bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string out = "\"";
  std::size_t used = 0;
  while (used < text.size() && used < max_bytes) {
    const std::string_view rest = text.substr(used);
    const auto first = static_cast<std::uint8_t>(rest[0]);
    const std::size_t length = sequence_length(rest);
    const bool plain = length != 0 && !is_control(rest.substr(0, length), Shown::line);
    if (plain) {
      out += rest.substr(0, length);
    } else {
      out += "\\x";
      out += digits[first >> 4];
      out += digits[first & 15];
    }
    used += plain ? length : 1;
  }
  return out + (used < text.size() ? "...\"" : "\"");
}

std::string escaped(std::string_view text, Shown shown) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const std::string_view sequence = text.substr(0, length == 0 ? 1 : length);
    if (length == 0 && shown == Shown::json) {
      out += "\\ufffd";
    } else if (length == 0 || is_control(sequence, shown)) {
      append_escaped(sequence, shown, out);
    } else {
      out += sequence;
    }
    text.remove_prefix(sequence.size());
  }
  return out;
}

void check_name(std::string_view name) {
  if (name.empty()) {
    throw Error(Code::bad_name, "a name is empty");
  }
  if (name.find('\0') != std::string_view::npos) {
    refuse(name, "contains NUL");
  }
  if (!is_utf8(name)) {
    refuse(name, "is not valid UTF-8");
  }
  if (name.front() == '/') {
    refuse(name, "is an absolute path: leave out the leading slash");
  }
  if (name.back() == '/') {
    refuse(name, "ends in a slash");
  }
  std::string_view rest = name;
  for (std::size_t slash = rest.find('/'); slash != std::string_view::npos;
       slash = rest.find('/')) {
    check_component(name, rest.substr(0, slash));
    rest.remove_prefix(slash + 1);
  }
  check_component(name, rest);
}

bool is_name(std::string_view name) {
  try {
    check_name(name);
  } catch (const Error&) {
    return false;
  }
  return true;
}

void check_read_name(std::string_view name, const std::string& path) {
  try {
    check_name(name);
  } catch (const Error& e) {
    throw Error(Code::damaged, path + ": " + e.what() + ": the file is damaged or malicious");
  }
}

std::string absent_variable_text(const std::string& name, const std::vector<std::string>& known) {
  std::string names;
  for (const std::string& one : known) {
    names += (names.empty() ? "" : ", ") + one;
  }
  return "no variable " + name +
         (names.empty() ? " (there is none)" : " (there are: " + names + ")");
}

std::string group_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return name.substr(0, slash == std::string::npos ? 0 : slash);
}

std::string stem_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::size_t dot = name.rfind('.');
  if (dot != std::string::npos && dot != 0) {
    name.resize(dot);
  }
  return name;
}

}  // namespace sluice::model
