// Text files by lines, each with its number; words of a line as numbers, with clear refusals.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm.hpp"

namespace parabmu {

/// Reads one line after the other. Error not_found, or format for a line above 4,096 characters.
class LineReader {
 public:
  explicit LineReader(std::string path);
  /// False at the end. The view is good until the next call; without the line's end.
  bool next(std::string_view& line);
  std::uint64_t number() const { return number_; }  ///< of the last line, from 1
  /// Throws Error format: `path:line: why`.
  [[noreturn]] void refuse(const std::string& why) const;
  const std::string& path() const { return path_; }

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
  std::vector<char> buffer_;
  std::uint64_t number_ = 0;
};

/// The words of a line, split at blanks.
std::vector<std::string> words_of(std::string_view line);

/// False unless the whole word is such a number.
bool parse(std::string_view word, double& value);
bool parse(std::string_view word, std::int64_t& value);
/// `count` non-negative whole numbers and nothing else.
bool parse_whole(std::string_view line, std::uint64_t* values, int count);

}  // namespace parabmu
