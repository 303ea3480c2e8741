#include "plugin/settings.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "model/name.hpp"
#include "model/size_text.hpp"
#include "model/toml_entries.hpp"
#include "sluice/error.hpp"
#include "storage/file_lock.hpp"
#include "storage/small_file.hpp"

namespace sluice::plugin {

namespace {

[[noreturn]] void refuse(const std::string& name, std::string_view value, const char* expected) {
  throw Error(Code::invalid_argument,
              name + "=" + model::quoted(std::string(value)) + ": expected " + expected);
}

Settings::Durability durability_of(const std::string& name, std::string_view value) {
  if (value == "step" || value == "auto") {
    return Settings::Durability::step;
  }
  if (value == "close") {
    return Settings::Durability::close;
  }
  if (value == "none") {
    return Settings::Durability::none;
  }
  refuse(name, value, "none, close or step");
}

Settings::Apply apply_of(const std::string& name, std::string_view value) {
  if (value != "flush" && value != "later") {
    refuse(name, value, "flush or later");
  }
  return value == "later" ? Settings::Apply::later : Settings::Apply::flush;
}

bool switch_of(const std::string& name, std::string_view value) {
  if (value != "on" && value != "off") {
    refuse(name, value, "on or off");
  }
  return value == "on";
}

std::uint64_t budget_of(const std::string& name, std::string_view value) {
  const auto bytes = model::parse_bytes(value);
  if (!bytes) {
    refuse(name, value, model::bytes_expected);
  }
  return *bytes;
}

void set(std::string_view name, std::string_view value, Settings& settings) {
  const std::string place = "HDF5_DRIVER_CONFIG: " + std::string(name);
  if (name == "durability") {
    settings.durability = durability_of(place, value);
  } else if (name == "budget_bytes") {
    settings.budget_bytes = budget_of(place, value);
  } else if (name == "apply") {
    settings.apply = apply_of(place, value);
  } else if (name == "checksums") {
    settings.checksums = switch_of(place, value);
  } else if (name == "log") {
    settings.log = switch_of(place, value);
  } else {
    throw Error(Code::invalid_argument,
                place + " is not known: durability, apply, budget_bytes, checksums, log");
  }
}

/// The same file as the library's, whose other options do not concern a driver.
void read_toml(const std::string& path, Settings& settings) {
  const storage::SettingsFile file = storage::settings_file();
  const auto entries = model::toml_entries(file.text, file.name,
                                           [](std::string_view key) { return key == "hints"; });
  // A table for this file counts more than what is said for all.
  for (const bool is_special : {false, true}) {
    for (const model::TomlEntry& entry : entries) {
      const bool is_ours = is_special ? model::is_table_of(entry.table, path) : entry.table.empty();
      if (is_ours && entry.key == "durability") {
        settings.durability = durability_of(entry.place + ": durability", entry.value);
      } else if (is_ours && entry.key == "budget_bytes") {
        settings.budget_bytes = budget_of(entry.place + ": budget_bytes", entry.value);
      }
    }
  }
}

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

}  // namespace

Settings settings_of(const std::string& path, bool asks_locks) {
  Settings settings;
  settings.locks = storage::locks_files(asks_locks);
  read_toml(path, settings);
  if (const char* text = std::getenv("SLUICE_DURABILITY")) {
    settings.durability = durability_of("SLUICE_DURABILITY", text);
  }
  if (const char* text = std::getenv("SLUICE_BUDGET_BYTES")) {
    settings.budget_bytes = budget_of("SLUICE_BUDGET_BYTES", text);
  }
  const char* text = std::getenv("HDF5_DRIVER_CONFIG");
  return text == nullptr ? settings : parse_settings(text, settings);
}

}  // namespace sluice::plugin
