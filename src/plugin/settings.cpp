#include "plugin/settings.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "sluice/error.hpp"

namespace sluice::plugin {

namespace {

[[noreturn]] void refuse(std::string_view name, std::string_view value, const char* expected) {
  throw Error(Code::invalid_argument, "HDF5_DRIVER_CONFIG: " + std::string(name) + "=" +
                                          std::string(value) + ": expected " + expected);
}

Settings::Durability durability_of(std::string_view value) {
  if (value == "step" || value == "auto") {
    return Settings::Durability::step;
  }
  if (value == "close") {
    return Settings::Durability::close;
  }
  if (value == "none") {
    return Settings::Durability::none;
  }
  refuse("durability", value, "none, close or step");
}

std::uint64_t bytes_of(std::string_view value) {
  constexpr std::pair<std::string_view, int> units[] = {
      {"", 0}, {"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
  std::string_view rest = value.substr(static_cast<std::size_t>(end - value.data()));
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  for (const auto& [unit, shift] : units) {
    if (problem == std::errc{} && rest == unit && number <= (std::uint64_t{1} << 62) >> shift) {
      return number << shift;
    }
  }
  refuse("budget_bytes", value, "a number of bytes such as 64MiB");
}

void set(std::string_view name, std::string_view value, Settings& settings) {
  if (name == "durability") {
    settings.durability = durability_of(value);
  } else if (name == "budget_bytes") {
    settings.budget_bytes = bytes_of(value);
  } else if (name == "log" && (value == "on" || value == "off")) {
    settings.log = value == "on";
  } else if (name == "log") {
    refuse(name, value, "on or off");
  } else {
    throw Error(Code::invalid_argument, "HDF5_DRIVER_CONFIG: " + std::string(name) +
                                            " is not known: durability, budget_bytes, log");
  }
}

}  // namespace

Settings parse_settings(const std::string& text, Settings base) {
  constexpr const char* separators = " ,;\t\n";
  std::string_view rest = text;
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(separators), rest.size()));
    if (rest.empty()) {
      return base;
    }
    const std::string_view word = rest.substr(0, rest.find_first_of(separators));
    rest.remove_prefix(word.size());
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) {
      throw Error(Code::invalid_argument, "HDF5_DRIVER_CONFIG: " + std::string(word) +
                                              ": expected NAME=VALUE, such as durability=close");
    }
    set(word.substr(0, equals), word.substr(equals + 1), base);
  }
}

Settings settings_of_environment() {
  Settings settings;
  if (const char* text = std::getenv("SLUICE_DURABILITY")) {
    settings.durability = durability_of(text);
  }
  if (const char* text = std::getenv("SLUICE_BUDGET_BYTES")) {
    settings.budget_bytes = bytes_of(text);
  }
  if (const char* text = std::getenv("HDF5_USE_FILE_LOCKING")) {
    const std::string_view word = text;
    settings.locks = word != "FALSE" && word != "0";
  }
  const char* text = std::getenv("HDF5_DRIVER_CONFIG");
  return text == nullptr ? settings : parse_settings(text, settings);
}

}  // namespace sluice::plugin
