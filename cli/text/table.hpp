// A table of text: columns as wide as their widest cell, two spaces between them.
#pragma once

#include <string>
#include <vector>

namespace sluice::cli {

class Table {
 public:
  /// A heading that starts with '>' aligns its column to the right; without the '>'. Without any
  /// heading text, no line of headings is made.
  explicit Table(const std::vector<std::string>& headings);
  void add(std::vector<std::string> cells);
  bool empty() const noexcept { return rows_.empty(); }
  /// All lines, each indented by `indent` spaces and ended by a newline.
  std::string text(std::size_t indent = 0) const;

 private:
  std::vector<std::string> headings_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace sluice::cli
