// Lines of VAMPIRE's small text files: read in sequence, with the line named in every error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/number_text.hpp"
#include "sluice/error.hpp"

namespace sluice::dialect::vampire {

/// A piece of text from a file, made fit for a message: short, printable.
inline std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, 60)) {
    out += c >= ' ' && c < 127 ? c : '?';
  }
  return out + (text.size() > 60 ? "...'" : "'");
}

inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(model::trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

/// Iterates over the lines, skipping those that begin with '#' (rules, titles and the date).
class Lines {
 public:
  /// Both must outlive it.
  Lines(std::string_view text, const std::string& path) : whole_(text), rest_(text), path_(path) {}

  [[noreturn]] void fail(const std::string& what, Code code = Code::format) const {
    throw Error(code, path_ + ": line " + std::to_string(number_) + ": " + what);
  }

  std::string_view next(const char* wanted) {
    while (!rest_.empty()) {
      const auto end = rest_.find('\n');
      const std::string_view line = model::trimmed(rest_.substr(0, end));
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      ++number_;
      if (!line.empty() && line.front() != '#') {
        return line;
      }
    }
    throw Error(Code::truncated, path_ + ": the file ends before " + wanted);
  }

  /// The next line, which must begin with '#'.
  void next_rule() {
    const auto end = rest_.find('\n');
    if (rest_.empty() || rest_.front() != '#' || end == std::string_view::npos) {
      fail("expected the rule that ends the header");
    }
    rest_.remove_prefix(end + 1);
    ++number_;
  }

  /// The value on the next line, which must begin with `key`.
  std::string_view value(const char* key) {
    const std::string_view line = next((std::string("the line '") + key + "'").c_str());
    if (!line.starts_with(key)) {
      fail(std::string("expected '") + key + "', found " + quoted(line));
    }
    return model::trimmed(line.substr(std::string_view(key).size()));
  }

  template <class T>
  T number(std::string_view text) const {
    const std::optional<T> result = model::number_in<T>(text);
    if (!result) {
      fail("expected a number, found " + quoted(text));
    }
    return *result;
  }

  /// A count of things that take at least `bytes_each` bytes of the rest of this file.
  std::uint64_t count(const char* key, std::uint64_t bytes_each) {
    const auto result = number<std::uint64_t>(value(key));
    if (result > rest_.size() / bytes_each + 1) {
      fail(std::string(key) + " " + std::to_string(result) + ", more than this file has lines");
    }
    return result;
  }

  std::vector<std::string_view> three(const char* key) {
    std::vector<std::string_view> parts = split(value(key), '\t');
    if (parts.size() != 3) {
      fail(std::string("expected three numbers separated by tabs after '") + key + "'");
    }
    return parts;
  }

  /// Bytes up to and with the last line that was read.
  std::uint64_t read_bytes() const { return whole_.size() - rest_.size(); }

 private:
  std::string_view whole_;
  std::string_view rest_;
  const std::string& path_;
  std::uint64_t number_ = 0;
};

/// `key` and a count, then that many plain names of files in this folder.
inline std::vector<std::string> file_names(Lines& lines, const char* key,
                                           bool may_be_none = false) {
  const std::uint64_t count = lines.count(key, 2);
  if (count == 0 && !may_be_none) {
    lines.fail("it lists no data file");
  }
  std::vector<std::string> names;
  names.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string_view name = lines.next("the last of the listed data files");
    const bool plain = name != "." && name != ".." && name.size() <= 255 &&
                       name.find('/') == std::string_view::npos &&
                       name.find('\0') == std::string_view::npos;
    if (!plain) {
      lines.fail(quoted(name) + " is not the plain name of a file in this folder", Code::bad_name);
    }
    names.emplace_back(name);
  }
  return names;
}

}  // namespace sluice::dialect::vampire
