// papers: the tables of docs/papers.md. --sensitivity: and what becomes of the orderings where a
// fitted constant is halved or doubled. --check FILE...: does each hold all that, and no other rows
// and orderings? Exit code 1 where not, and where an ordering does not hold.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>

#include "papers.hpp"

namespace papers {

namespace sim = sluice::sim;

namespace {

constexpr std::array<Paper, 4> all_papers{{
    {"VAMPIRE", "archer",
     "All plans are production's: file-per-node and file-per-process, `collective` with one writer "
     "a "
     "stripe and `tiles = cyclic`, `serial`. As in the paper only the calls that write are timed.",
     vampire},
    {"NAMD", "jaguar",
     "New: production's plan of `collective`. Old: a chain of writers, written by hand.", namd},
    {"MFDn", "franklin",
     "Writing: production's plans of `serial` and `shared`. Reading: their extents, the other way.",
     mfdn},
    {"PARA-BMU", "hector", "Output: production's plan of `shared`. Input and text: by hand.",
     parabmu},
}};

constexpr std::array<std::uint64_t, 5> seeds{1, 2, 3, 4, 5};

std::string number(double value) {
  std::array<char, 32> text{};
  const char* format = value >= 100 ? "%.0f" : value >= 0.995 ? "%.1f" : "%.2g";
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string range(const Row& row) {
  return row.low == row.high ? number(row.low) : number(row.low) + "–" + number(row.high);
}

const char* kind_text(Kind kind) {
  return kind == Kind::fitted ? "fitted" : kind == Kind::checked ? "checked" : "assumed";
}

std::string table(const Paper& paper, const Result& result) {
  const Machine machine = sim::machine_named(paper.machine);
  std::string text = "### " + std::string(paper.name) + " on " + machine.name + "\n\n" +
                     paper.plans + "\n\n| | paper | model | model / paper | | |\n" +
                     "|---|---|---|---|---|---|\n";
  for (const Row& row : result.rows) {
    const bool is_far = std::abs(std::log(row.ratio())) > std::log(1.5);
    text += "| " + row.claim + " | " + range(row) + " | " + number(row.model) + " | " +
            (is_far ? "**" : "") + number(row.ratio()) + (is_far ? "**" : "") + " | " +
            kind_text(row.kind) + " | " + row.note + " |\n";
  }
  text += "\n";
  for (const Ordering& ordering : result.orderings) {
    text +=
        std::string(ordering.holds ? "- holds: " : "- **does not hold**: ") + ordering.claim + "\n";
  }
  return text + "\n";
}

/// Which orderings of the paper do not hold with one fitted constant another.
std::string broken(const Paper& paper, Machine machine, const std::string& constant,
                   double factor) {
  sim::constant_of(machine, constant).value *= factor;
  std::string text;
  for (const Ordering& ordering : paper.run(machine).orderings) {
    text += ordering.holds ? "" : (text.empty() ? "not: " : "; ") + ordering.claim;
  }
  return text.empty() ? "all hold" : text;
}

std::string sensitivity() {
  std::string text =
      "| machine | fitted constant | value | halved | doubled |\n|---|---|---|---|---|\n";
  for (const Paper& paper : all_papers) {
    Machine machine = sim::machine_named(paper.machine);
    for (const std::string& constant : sim::fitted_constants(machine)) {
      std::array<char, 32> value{};
      std::snprintf(value.data(), value.size(), "%g", sim::constant_of(machine, constant).value);
      text += "| " + machine.name + " | `" + constant + "` | " + value.data() + " | " +
              broken(paper, machine, constant, 0.5) + " | " + broken(paper, machine, constant, 2) +
              " |\n";
    }
  }
  return text;
}

std::set<std::string> lines_of(std::istream& from) {
  std::set<std::string> lines;
  for (std::string line; std::getline(from, line);) {
    lines.insert(line);
  }
  return lines;
}

/// The lines that stand in tables and lists of orderings, and nowhere else on the page.
bool is_printed(const std::string& line) {
  return line.starts_with("| ") || line.starts_with("- holds") ||
         line.starts_with("- **does not hold");
}

/// Lines of `text` that are not in the file, and such as only `text` has but which it has not: the
/// page is out of date.
int differences(const std::string& text, const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    throw std::runtime_error(path + ": cannot be opened");
  }
  std::istringstream printed(text);
  const std::set<std::string> page = lines_of(file);
  const std::set<std::string> wanted = lines_of(printed);
  int count = 0;
  for (const std::string& line : wanted) {
    if (!page.contains(line)) {
      std::cout << path << " lacks: " << line << "\n";
      ++count;
    }
  }
  for (const std::string& line : page) {
    if (is_printed(line) && !wanted.contains(line)) {
      std::cout << path << " has, and should not: " << line << "\n";
      ++count;
    }
  }
  return count;
}

int run(std::span<char*> arguments) {
  const std::string what = arguments.size() > 1 ? arguments[1] : "";
  std::string text;
  int faults = 0;
  for (const Paper& paper : all_papers) {
    const Result result = paper.run(sim::machine_named(paper.machine));
    text += table(paper, result);
    for (const Ordering& ordering : result.orderings) {
      if (!ordering.holds) {
        std::cerr << paper.name << ": does not hold: " << ordering.claim << "\n";
        ++faults;
      }
    }
  }
  if (what == "--check" && arguments.size() > 2) {
    text += sensitivity();
    for (const char* path : arguments.subspan(2)) {
      faults += differences(text, path);
    }
    return faults == 0 ? 0 : 1;
  }
  std::cout << text << (what == "--sensitivity" ? sensitivity() : "");
  return 0;
}

}  // namespace

double Row::ratio() const { return model < low ? model / low : model > high ? model / high : 1; }

double median_s(const Machine& machine, const sim::Programs& programs,
                const std::function<double(const sim::Outcome&)>& time) {
  std::array<double, seeds.size()> all{};
  std::transform(seeds.begin(), seeds.end(), all.begin(), [&](std::uint64_t seed) {
    return time(sim::run_programs(machine, programs, seed));
  });
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

sim::Compiled plans(const Machine& machine, const sim::Job& job, const sim::Choice& choice) {
  return sim::compile(job, choice, sim::facts_of(machine));
}

}  // namespace papers

int main(int argc, char** argv) {
  try {
    return papers::run({argv, static_cast<std::size_t>(argc)});
  } catch (const std::exception& e) {
    std::cerr << "papers: " << e.what() << "\n";
    return 2;
  }
}
