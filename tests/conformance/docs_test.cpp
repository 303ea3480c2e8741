// docs/formats.md agrees with the code and the suite: what each format can hold, and which
// strategies and behaviours it does not support.
#include <cstdlib>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "layout/formats.hpp"
#include "support/unsupported.hpp"

namespace sluice::test {
namespace {

using Cells = std::vector<std::string>;

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  const std::size_t last = text.find_last_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

/// The rows of the table whose header is `header`, without header and rule.
std::vector<Cells> table(const std::string& header) {
  const char* folder = std::getenv("SLUICE_SOURCE_DIR");
  std::ifstream page(std::string(folder == nullptr ? "." : folder) + "/docs/formats.md");
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
  EXPECT_FALSE(rows.empty()) << "docs/formats.md has no table with the header " << header;
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

}  // namespace
}  // namespace sluice::test
