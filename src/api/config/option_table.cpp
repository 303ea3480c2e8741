#include "api/config/option_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <list>
#include <numeric>
#include <type_traits>
#include <vector>

#include "codec/filter.hpp"
#include "layout/formats.hpp"
#include "model/name.hpp"
#include "plan/plan.hpp"
#include "sluice/error.hpp"

namespace sluice::settings {

namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& expected) {
  throw Error(Code::invalid_argument, model::quoted(text) + " is no " + expected);
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  const std::size_t last = text.find_last_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

template <class T>
T number(const std::string& text, const char* expected) {
  const std::string bare = trimmed(text);
  T value{};
  const auto [end, error] = std::from_chars(bare.data(), bare.data() + bare.size(), value);
  if (error != std::errc{} || end != bare.data() + bare.size()) {
    refuse(text, expected);
  }
  return value;
}

template <class T>
std::string shortest(T value) {
  std::array<char, 32> digits{};
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), result.ptr};
}

constexpr std::array<std::pair<const char*, std::uint64_t>, 4> units{
    {{"TiB", 1ULL << 40}, {"GiB", 1ULL << 30}, {"MiB", 1ULL << 20}, {"KiB", 1ULL << 10}}};

std::uint64_t bytes(const std::string& text) {
  constexpr const char* expected = "number of bytes: say 4194304, or 4 MiB (KiB, MiB, GiB, TiB)";
  const std::string bare = trimmed(text);
  const std::size_t letters = bare.find_first_not_of("0123456789");
  if (letters == std::string::npos) {
    return number<std::uint64_t>(bare, expected);
  }
  const std::string unit = trimmed(bare.substr(letters));
  const auto found =
      std::find_if(units.begin(), units.end(), [&](const auto& u) { return unit == u.first; });
  const auto count = number<std::uint64_t>(bare.substr(0, letters), expected);
  std::uint64_t product = 0;
  if (found == units.end() || __builtin_mul_overflow(count, found->second, &product)) {
    refuse(text, expected);
  }
  return product;
}

/// "100 steps", or a number of bytes with its unit.
void read_split(Options& options, const std::string& text) {
  const std::string bare = trimmed(text);
  const std::size_t letters = bare.find_first_not_of("0123456789");
  const std::string unit = letters == std::string::npos ? "" : trimmed(bare.substr(letters));
  const bool is_steps = unit == "steps" || unit == "step";
  if (bare != "0" && !is_steps && (unit.empty() || letters == 0)) {
    refuse(text, "size of a part: say 100 steps, or 4 GiB; 0: one file");
  }
  options.split_steps = is_steps ? number<std::uint64_t>(bare.substr(0, letters), "number") : 0;
  options.split_bytes = is_steps ? 0 : bytes(bare);
}

std::string split_text(const Options& options) {
  return options.split_steps != 0 ? std::to_string(options.split_steps) + " steps"
                                  : bytes_text(options.split_bytes);
}

bool boolean(const std::string& text) {
  const std::string bare = trimmed(text);
  for (const char* yes : {"true", "1", "yes", "on"}) {
    if (bare == yes) {
      return true;
    }
  }
  for (const char* no : {"false", "0", "no", "off"}) {
    if (bare == no) {
      return false;
    }
  }
  refuse(text, "boolean: say true or false");
}

constexpr std::array<const char*, 4> durabilities{"none", "close", "step", "automatic"};
constexpr std::array<const char*, 2> on_errors{"fail", "skip_step"};
constexpr std::array<const char*, 3> checks{"off", "volume", "full"};
constexpr std::array<const char*, 2> file_counts{"one", "any"};
constexpr std::array<const char*, 4> logs{"off", "auto", "line", "steps"};

void read_after_step(Options& options, const std::string& text) {
  options.after_step = number<std::int64_t>(text, "number of a step");
  if (options.after_step < -1) {
    refuse(text, "number of a step: it must not be negative; -1 drops none");
  }
}

/// A yes, a no, or a number of bytes. 0 is a no, 1 a yes.
void read_gather(Options& options, const std::string& text) {
  const std::string bare = trimmed(text);
  const bool is_number = !bare.empty() && bare[0] >= '0' && bare[0] <= '9';
  const std::uint64_t number_of_bytes = is_number ? bytes(bare) : 0;
  options.gather = is_number ? number_of_bytes != 0 : boolean(text);
  options.gather_bytes = number_of_bytes > 1 ? number_of_bytes : 0;
}

std::string gather_text(const Options& options) {
  return options.gather_bytes != 0 ? bytes_text(options.gather_bytes)
         : options.gather          ? "true"
                                   : "false";
}

template <class Enum, std::size_t count>
Enum word(const std::string& text, const std::array<const char*, count>& words) {
  const auto found = std::find(words.begin(), words.end(), trimmed(text));
  if (found == words.end()) {
    std::string expected = "word that is known here: use one of";
    for (const char* candidate : words) {
      expected += std::string(candidate == words.front() ? " " : ", ") + candidate;
    }
    refuse(text, expected);
  }
  return static_cast<Enum>(found - words.begin());
}

// One line each: how an option's value becomes text and back.
template <auto field>
Option text_option(const char* name, const char* help) {
  return {name, help, [](const Options& o) { return o.*field; },
          [](Options& o, const std::string& text) { o.*field = text; }};
}
template <auto field>
Option count_option(const char* name, const char* help) {
  return {name, help, [](const Options& o) { return std::to_string(o.*field); },
          [](Options& o, const std::string& text) {
            o.*field = number<int>(text, "whole number");
            if (o.*field < 0) {
              refuse(text, "number of ranks: it must not be negative");
            }
          }};
}
template <auto field>
Option steps_option(const char* name, const char* help) {
  return {name, help, [](const Options& o) { return std::to_string(o.*field); },
          [](Options& o, const std::string& text) {
            o.*field = number<std::uint64_t>(text, "number of steps: say 0 (all), 1, 2, ...");
          }};
}
template <auto field, const auto& words>
Option word_option(const char* name, const char* help) {
  return {name, help,
          [](const Options& o) { return std::string(words[static_cast<std::size_t>(o.*field)]); },
          [](Options& o, const std::string& text) {
            o.*field = word<std::remove_reference_t<decltype(o.*field)>>(text, words);
          }};
}
template <auto field>
Option flag_option(const char* name, const char* help) {
  return {name, help, [](const Options& o) { return std::string(o.*field ? "true" : "false"); },
          [](Options& o, const std::string& text) { o.*field = boolean(text); }};
}
template <auto field>
Option bytes_option(const char* name, const char* help) {
  return {name, help, [](const Options& o) { return bytes_text(o.*field); },
          [](Options& o, const std::string& text) { o.*field = bytes(text); }};
}

/// Text that lives as long as the table: what the lists of formats, strategies and codecs say.
const char* kept(std::string text) {
  static std::list<std::string> texts;
  return texts.emplace_back(std::move(text)).c_str();
}

std::vector<Option> make_table() {
  return {
      text_option<&Options::format>("format",
                                    kept(layout::format_options(" | ") + "; auto: by the ending")),
      text_option<&Options::form>(
          "form", kept("of hdf5: " + layout::form_options(" | ") + " (a group a step)")),
      text_option<&Options::strategy>("strategy",
                                      kept("who writes: " + plan::strategy_names(" | "))),
      word_option<&Options::files, file_counts>(
          "files", "that strategy auto may write: one | any: one, or a part a rank or node"),
      flag_option<&Options::probe>(
          "probe", "strategy auto: try other ways with the run's own steps, and keep the fastest"),
      count_option<&Options::writers>("writers", "ranks, or groups of them, that write; 0: nodes"),
      count_option<&Options::first_writer>("first_writer", "rank of the first writer"),
      count_option<&Options::writer_spacing>("writer_spacing",
                                             "ranks from writer to writer; 0: spread evenly"),
      text_option<&Options::writer_map>("writer_map",
                                        "spaced | node | ranks 0,4,8 | costs 3,1,1,2"),
      count_option<&Options::readers>("readers", "ranks that read from disk; 0: all"),
      text_option<&Options::tiles>("tiles", "tile to writer: auto | long | cyclic"),
      bytes_option<&Options::tile_bytes>("tile", "file space with one writer; 0: the stripe"),
      {"gather", "whole tiles: true | 0: pieces as they come (forward, sessions) | bytes at once",
       gather_text, read_gather},
      bytes_option<&Options::stripe_bytes>("stripe", "of the file system; 0: as it says"),
      text_option<&Options::parts_dir>("parts_dir", "where file-per-* puts its parts"),
      {"after_step", "append: steps after this one are dropped first; -1: none",
       [](const Options& o) { return std::to_string(o.after_step); }, read_after_step},
      text_option<&Options::compress>("compress",
                                      kept("of variables: " + codec::compressor_names() + "none")),
      steps_option<&Options::keep>("keep", "only the last so many steps stay; 0: all"),
      {"split", "a new part after 100 steps, or 4 GiB, say; 0: none", split_text, read_split},
      count_option<&Options::ranks_per_node>("ranks_per_node", "pretend such nodes; 0: real ones"),
      text_option<&Options::storage>("storage", "direct | posix | mpiio | auto"),
      text_option<&Options::hints>("hints", "of MPI-IO: cb_nodes=1,romio_cb_write=enable"),
      bytes_option<&Options::budget_bytes>("budget", "staging memory of one rank"),
      word_option<&Options::durability, durabilities>(
          "durability", "none | close | step | automatic: the strongest that the format offers"),
      word_option<&Options::on_error, on_errors>(
          "on_error", "what becomes of a step that the storage cannot take: fail | skip_step"),
      word_option<&Options::check, checks>("check", "of overlaps and holes: off | volume | full"),
      word_option<&Options::log, logs>(
          "log", "messages: off | auto | line: costs at the close | steps: a log beside the file"),
      flag_option<&Options::checksum>(
          "checksum", "write checksums where the format has a place, check them when reading"),
      {"timeout_s", "limit of one collective wait; 0: none",
       [](const Options& o) { return shortest(o.timeout_s); },
       [](Options& o, const std::string& text) {
         o.timeout_s = number<double>(text, "number of seconds");
         if (!(o.timeout_s >= 0)) {
           refuse(text, "number of seconds: it must not be negative");
         }
       }},
  };
}

}  // namespace

std::span<const Option> option_table() {
  static const std::vector<Option> table = make_table();
  return table;
}

const Option* find_option(std::string_view name) {
  const auto table = option_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Option& o) { return o.name == name; });
  return found == table.end() ? nullptr : &*found;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      row[j + 1] = std::min({replaced, above + 1, row[j] + 1});
      diagonal = above;
    }
  }
  return row[b.size()];
}

const Option& nearest_option(std::string_view name) {
  const auto table = option_table();
  // A name with its unit behind it, as the fields of Options have, is not far.
  const auto distance = [&](const Option& option) {
    const bool has_unit = name.starts_with(option.name) &&
                          name.substr(std::string_view(option.name).size()).starts_with("_");
    return has_unit ? 0 : edit_distance(name, option.name);
  };
  return *std::min_element(table.begin(), table.end(), [&](const Option& a, const Option& b) {
    return distance(a) < distance(b);
  });
}

std::string bytes_text(std::uint64_t bytes) {
  for (const auto& [unit, size] : units) {
    if (bytes != 0 && bytes % size == 0) {
      return std::to_string(bytes / size) + " " + unit;
    }
  }
  return std::to_string(bytes);
}

}  // namespace sluice::settings
