// The pages agree with the code and the suite: which formats there are, what each of them can hold,
// and which strategies and behaviours it does not support.
#include <cstdlib>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <tuple>

#include "layout/formats/formats.hpp"
#include "support/unsupported.hpp"

namespace sluice::test {
namespace {

using Cells = std::vector<std::string>;

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  const std::size_t last = text.find_last_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

std::string text_of(const std::string& path) {
  const char* folder = std::getenv("SLUICE_SOURCE_DIR");
  std::ifstream file(std::string(folder == nullptr ? "." : folder) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << path << " cannot be read";
  return text.str();
}

/// What stands in `text` from `from` to the next `to`.
std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find(from);
  const std::size_t end = text.find(to, begin == std::string::npos ? 0 : begin + from.size());
  if (begin == std::string::npos || end == std::string::npos) {
    ADD_FAILURE() << "there is no text from " << from << " to " << to;
    return "";
  }
  return text.substr(begin + from.size(), end - begin - from.size());
}

/// The rows of the table whose header is `header`, without header and rule.
std::vector<Cells> table(const std::string& header, const char* path = "docs/formats.md") {
  std::istringstream page(text_of(path));
  std::vector<Cells> rows;
  std::string line;
  while (std::getline(page, line) && line != header) {
  }
  std::getline(page, line);
  while (std::getline(page, line) && !line.empty() && line[0] == '|') {
    std::istringstream in(line.substr(1));
    Cells cells;
    for (std::string cell; std::getline(in, cell, '|');) {
      cells.push_back(trimmed(cell));
    }
    rows.push_back(cells);
  }
  EXPECT_FALSE(rows.empty()) << path << " has no table with the header " << header;
  return rows;
}

/// "`a`, `b`" as a and b.
Cells names_in(const std::string& text) {
  Cells names;
  for (std::size_t at = text.find('`'); at != std::string::npos; at = text.find('`', at)) {
    const std::size_t end = text.find('`', at + 1);
    names.push_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return names;
}

using Said = std::set<std::tuple<std::string, std::string, std::string>>;

void expect_same(const Said& code, const Said& docs) {
  for (const auto& [layout, what, why] : code) {
    EXPECT_EQ(docs.count({layout, what, why}), 1U)
        << "docs/formats.md does not say that " << layout << " has no " << what << ": " << why;
  }
  for (const auto& [layout, what, why] : docs) {
    EXPECT_EQ(code.count({layout, what, why}), 1U)
        << "docs/formats.md says that " << layout << " has no " << what << ": " << why
        << "; the suite (tests/support/unsupported.cpp) does not";
  }
}

TEST(Docs, NameEveryBehaviourThatALayoutDoesNotHave) {
  Said code;
  for (const Unsupported& one : unsupported()) {
    code.insert({one.layout, one.behaviour, one.reason});
  }
  Said docs;
  for (const Cells& row : table("| format | why not | behaviours |")) {
    for (const std::string& behaviour : names_in(row.at(2))) {
      docs.insert({names_in(row[0]).at(0), behaviour, row[1]});
    }
  }
  expect_same(code, docs);
}

TEST(Docs, NameEveryStrategyThatDoesNotWriteALayout) {
  Said code;
  for (const UnsupportedCell& one : unsupported_cells()) {
    code.insert({one.layout, one.strategy, one.reason});
  }
  Said docs;
  for (const Cells& row : table("| format | strategy | why not |")) {
    for (const std::string& strategy : names_in(row.at(1))) {
      docs.insert({names_in(row[0]).at(0), strategy, row[2]});
    }
  }
  expect_same(code, docs);
}

TEST(Docs, SayWhatEachFormatCanHold) {
  using layout::Format;
  const std::map<std::string, std::function<bool(const Format&)>> known = {
      {"several variables", [](const Format& f) { return f.many; }},
      {"names of variables", [](const Format& f) { return f.names; }},
      {"attributes, units, descriptions", [](const Format& f) { return f.attributes; }},
      {"times of steps", [](const Format& f) { return f.times; }},
      {"complex numbers", [](const Format& f) { return f.complex; }},
      {"float16", [](const Format& f) { return f.float16 && !f.has_grammar; }},
      {"steps with rows of different number", [](const Format& f) { return f.varying; }},
      {"chunks of the caller's choice", [](const Format& f) { return f.tiled && !f.has_grammar; }},
      {"checksums", [](const Format& f) { return f.checksums; }},
      {"every step durable", [](const Format& f) { return f.best == Durability::step; }},
      {"an index over several files", [](const Format& f) { return f.index; }},
  };
  std::string header = "| |";
  for (const Format* format : layout::formats()) {
    header += std::string(" `") + format->name + "` |";
  }
  std::size_t rows = 0;
  for (const Cells& row : table(header)) {
    ASSERT_EQ(known.count(row.at(0)), 1U) << row[0];
    std::size_t column = 1;
    for (const Format* format : layout::formats()) {
      EXPECT_EQ(row.at(column++), known.at(row[0])(*format) ? "yes" : "no")
          << format->name << ": " << row[0];
    }
    ++rows;
  }
  EXPECT_EQ(rows, known.size());
}

TEST(Docs, ListEveryFormat) {
  std::istringstream options(layout::format_options(" "));
  const std::set<std::string> code(std::istream_iterator<std::string>(options), {});
  const auto said = [](const std::string& words) {
    const Cells names = names_in(words);
    return std::set<std::string>(names.begin(), names.end());
  };
  const std::string header = text_of("include/sluice/options.hpp");
  EXPECT_EQ(said(between(header, "/// Format of the file: ", "Default: ")), code);
  const std::string row = between(text_of("docs/settings.md"), "\n| `format` | ", "\n");
  EXPECT_EQ(said(row.substr(0, row.find(':'))), code);
}

TEST(Docs, SayTheLimitsOfEachFormat) {
  std::set<std::string> docs;
  for (const Cells& row : table("| format | main limits | page |", "docs/limits.md")) {
    std::istringstream names(row.at(0));
    for (std::string name; std::getline(names, name, ',');) {
      docs.insert(trimmed(name));
    }
  }
  std::set<std::string> code;
  for (const layout::Format* format : layout::formats()) {
    code.insert(format->name);
  }
  EXPECT_EQ(docs, code);
}

TEST(Docs, SayWhichFormatsHoldCompressedVariables) {
  std::set<std::string> code;
  for (const layout::Format* format : layout::formats()) {
    if (format->compress) {
      code.insert(format->option);
    }
  }
  const Cells page =
      names_in(between(text_of("docs/compression.md"), "Files of formats", "hold compressed"));
  EXPECT_EQ(std::set<std::string>(page.begin(), page.end()), code);
  const std::string words =
      between(text_of("include/sluice/sluice.hpp"), "decimal digits. For formats ", "Default: ");
  for (const layout::Format* format : layout::formats()) {
    const std::regex name("\\b" + std::string(format->option) + "\\b");
    EXPECT_EQ(std::regex_search(words, name), code.count(format->option) != 0)
        << "VariableOptions::compress: " << format->option;
  }
}

}  // namespace
}  // namespace sluice::test
