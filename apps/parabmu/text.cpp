#include "text.hpp"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>

namespace parabmu {
namespace {

constexpr std::size_t longest_line = 4096;

}  // namespace

LineReader::LineReader(std::string path)
    : path_(std::move(path)), file_(std::fopen(path_.c_str(), "r")), buffer_(longest_line + 2) {
  if (!file_) {
    throw Error(Code::not_found, path_ + ": " + std::strerror(errno));
  }
  std::setvbuf(file_.get(), nullptr, _IOFBF, 1 << 20);
}

bool LineReader::next(std::string_view& line) {
  buffer_.back() = 1;
  if (std::fgets(buffer_.data(), static_cast<int>(buffer_.size()), file_.get()) == nullptr) {
    if (std::ferror(file_.get()) != 0) {
      throw Error(Code::io, path_ + ": cannot be read: " + std::strerror(errno));
    }
    return false;
  }
  ++number_;
  const std::size_t length = std::strlen(buffer_.data());
  if (buffer_.back() == 0 && buffer_[length - 1] != '\n') {
    refuse("a line of more than " + std::to_string(longest_line) + " characters");
  }
  line = {buffer_.data(), length};
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) {
    line.remove_suffix(1);
  }
  return true;
}

void LineReader::refuse(const std::string& why) const {
  throw Error(Code::format, path_ + ":" + std::to_string(number_) + ": " + why);
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) {
      return words;
    }
    const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    words.emplace_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
}

bool parse(std::string_view word, double& value) {
  const auto result = std::from_chars(word.data(), word.data() + word.size(), value);
  return result.ec == std::errc{} && result.ptr == word.data() + word.size() &&
         std::isfinite(value);
}

bool parse(std::string_view word, std::int64_t& value) {
  const auto result = std::from_chars(word.data(), word.data() + word.size(), value);
  return result.ec == std::errc{} && result.ptr == word.data() + word.size();
}

bool parse_whole(std::string_view line, std::uint64_t* values, int count) {
  const char* at = line.data();
  const char* const end = at + line.size();
  const auto skip = [&] {
    while (at != end && (*at == ' ' || *at == '\t')) {
      ++at;
    }
  };
  for (int i = 0; i < count; ++i) {
    skip();
    const auto result = std::from_chars(at, end, values[i]);
    if (result.ec != std::errc{}) {
      return false;
    }
    at = result.ptr;
  }
  skip();
  return at == end;
}

}  // namespace parabmu
