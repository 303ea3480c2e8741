#include "api/config/option_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <type_traits>
#include <vector>

#include "model/name.hpp"
#include "model/number_text.hpp"
#include "model/size_text.hpp"
#include "sluice/error.hpp"

namespace sluice::settings {

namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& expected) {
  throw Error(Code::invalid_argument, model::quoted(text) + " is not a " + expected);
}

std::string_view bare(std::string_view text) { return model::trimmed(text, " \t"); }

template <class T>
T number(const std::string& text, const char* expected) {
  const auto value = model::number_in<T>(bare(text));
  if (!value) {
    refuse(text, expected);
  }
  return *value;
}

template <class T>
std::string shortest(T value) {
  std::array<char, 32> digits{};
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), result.ptr};
}

std::uint64_t bytes(const std::string& text) {
  const auto size = model::parse_bytes(text);
  if (!size) {
    refuse(text, model::bytes_expected);
  }
  return *size;
}

bool boolean(const std::string& text) {
  const auto value = model::boolean_in(bare(text));
  if (!value) {
    refuse(text, "boolean: use true or false");
  }
  return *value;
}

constexpr std::array<const char*, 4> durabilities{"none", "close", "step", "auto"};
constexpr std::array<const char*, 2> on_errors{"fail", "skip_step"};
constexpr std::array<const char*, 3> checks{"off", "volume", "full"};
constexpr std::array<const char*, 2> file_counts{"one", "allow_multiple"};
constexpr std::array<const char*, 3> rectilinears{"auto", "true", "false"};
constexpr std::array<const char*, 4> logs{"off", "auto", "line", "steps"};

void read_restart_after(Options& options, const std::string& text) {
  options.restart_after = number<std::int64_t>(text, "number of a step");
  if (options.restart_after < -1) {
    refuse(text, "number of a step: it must not be negative; -1 drops none");
  }
}

template <class Enum, std::size_t count>
Enum word(const std::string& text, const std::array<const char*, count>& words) {
  const auto found = std::find(words.begin(), words.end(), bare(text));
  if (found == words.end()) {
    std::string expected = "known value: use one of";
    for (const char* candidate : words) {
      expected += std::string(candidate == words.front() ? " " : ", ") + candidate;
    }
    refuse(text, expected);
  }
  return static_cast<Enum>(found - words.begin());
}

// One line each: conversion of an option's value to text and back.
template <auto field>
Option text_option(const char* name) {
  return {name, [](const Options& o) { return o.*field; },
          [](Options& o, const std::string& text) { o.*field = text; }};
}
template <auto field>
Option count_option(const char* name) {
  return {name, [](const Options& o) { return std::to_string(o.*field); },
          [](Options& o, const std::string& text) {
            o.*field = number<int>(text, "whole number");
            if (o.*field < 0) {
              refuse(text, "number of ranks: it must not be negative");
            }
          }};
}
template <auto field>
Option steps_option(const char* name) {
  return {name, [](const Options& o) { return std::to_string(o.*field); },
          [](Options& o, const std::string& text) {
            o.*field = number<std::uint64_t>(text, "number of steps: use 0 (all), 1, 2, ...");
          }};
}
template <auto field, const auto& words>
Option word_option(const char* name) {
  return {name,
          [](const Options& o) { return std::string(words[static_cast<std::size_t>(o.*field)]); },
          [](Options& o, const std::string& text) {
            o.*field = word<std::remove_reference_t<decltype(o.*field)>>(text, words);
          }};
}
template <auto field>
Option flag_option(const char* name) {
  return {name, [](const Options& o) { return std::string(o.*field ? "true" : "false"); },
          [](Options& o, const std::string& text) { o.*field = boolean(text); }};
}
template <auto field>
Option bytes_option(const char* name) {
  return {name, [](const Options& o) { return model::bytes_text(o.*field); },
          [](Options& o, const std::string& text) { o.*field = bytes(text); }};
}

template <auto field>
Option seconds_option(const char* name) {
  return {name, [](const Options& o) { return shortest(o.*field); },
          [](Options& o, const std::string& text) {
            o.*field = number<double>(text, "number of seconds");
            if (!(o.*field >= 0)) {
              refuse(text, "number of seconds: it must not be negative");
            }
          }};
}

/// Negative: automatic.
template <auto field>
Option automatic_seconds_option(const char* name) {
  return {name,
          [](const Options& o) { return o.*field < 0 ? std::string("auto") : shortest(o.*field); },
          [](Options& o, const std::string& text) {
            if (text == "auto") {
              o.*field = -1;
            } else {
              seconds_option<field>("").set(o, text);
            }
          }};
}

std::vector<Option> make_table() {
  return {
      text_option<&Options::format>("format"),
      text_option<&Options::hdf5_layout>("hdf5_layout"),
      text_option<&Options::strategy>("strategy"),
      word_option<&Options::files, file_counts>("files"),
      flag_option<&Options::autotune>("autotune"),
      count_option<&Options::writers>("writers"),
      count_option<&Options::first_writer>("first_writer"),
      count_option<&Options::writer_spacing>("writer_spacing"),
      text_option<&Options::writer_map>("writer_map"),
      count_option<&Options::readers>("readers"),
      text_option<&Options::tiles>("tiles"),
      bytes_option<&Options::tile_bytes>("tile_bytes"),
      flag_option<&Options::coalesce>("coalesce"),
      bytes_option<&Options::coalesce_bytes>("coalesce_bytes"),
      bytes_option<&Options::stripe_bytes>("stripe_bytes"),
      word_option<&Options::rectilinear, rectilinears>("rectilinear"),
      text_option<&Options::branch>("branch"),
      text_option<&Options::tags>("tags"),
      text_option<&Options::parts_dir>("parts_dir"),
      {"restart_after", [](const Options& o) { return std::to_string(o.restart_after); },
       read_restart_after},
      text_option<&Options::compress>("compress"),
      steps_option<&Options::keep_last>("keep_last"),
      steps_option<&Options::split_steps>("split_steps"),
      bytes_option<&Options::split_bytes>("split_bytes"),
      count_option<&Options::ranks_per_node>("ranks_per_node"),
      text_option<&Options::storage>("storage"),
      text_option<&Options::hints>("hints"),
      bytes_option<&Options::budget_bytes>("budget_bytes"),
      seconds_option<&Options::staging_idle_s>("staging_idle_s"),
      word_option<&Options::durability, durabilities>("durability"),
      automatic_seconds_option<&Options::apply_every_s>("apply_every_s"),
      word_option<&Options::on_error, on_errors>("on_error"),
      word_option<&Options::check, checks>("check"),
      word_option<&Options::log, logs>("log"),
      flag_option<&Options::checksum>("checksum"),
      seconds_option<&Options::timeout_s>("timeout_s"),
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
  // The same word without its unit, or with another one, counts as near.
  constexpr std::array<std::string_view, 4> endings{"bytes", "steps", "s", "last"};
  const auto distance = [&](const Option& option) {
    const std::string_view known = option.name;
    const std::size_t end = known.rfind('_');
    const std::string_view word = known.substr(0, end);
    const bool has_unit =
        end != std::string_view::npos &&
        std::find(endings.begin(), endings.end(), known.substr(end + 1)) != endings.end();
    const bool is_same_word = has_unit && name.starts_with(word) &&
                              (name.size() == word.size() || name[word.size()] == '_');
    return is_same_word ? 0 : edit_distance(name, option.name);
  };
  return *std::min_element(table.begin(), table.end(), [&](const Option& a, const Option& b) {
    return distance(a) < distance(b);
  });
}

}  // namespace sluice::settings
