#include "api/config/option_table.hpp"
#include "api/config/settings.hpp"
#include "model/toml_entries.hpp"
#include "sluice/error.hpp"

namespace sluice::settings {

namespace {

bool is_option(std::string_view key) { return find_option(key) != nullptr; }

const Option& known_option(const model::TomlEntry& entry) {
  const Option* option = find_option(entry.key);
  if (option == nullptr) {
    throw Error(Code::invalid_argument, entry.place + ": there is no option \"" + entry.key +
                                            "\": did you mean " + nearest_option(entry.key).name +
                                            "?");
  }
  return *option;
}

/// One option, checked even if it does not apply to this output.
Override take_one(const model::TomlEntry& entry, const std::string& from) {
  const Option& option = known_option(entry);
  try {
    Options scratch;
    option.set(scratch, entry.value);
  } catch (const Error& e) {
    throw Error(e.code(), entry.place + ": " + option.name + ": " + e.what());
  }
  return {option.name, entry.value, from};
}

}  // namespace

std::vector<Override> overrides_of_toml(const std::string& text, const std::string& file,
                                        const std::string& path) {
  std::vector<Override> general;
  std::vector<Override> special;
  for (const model::TomlEntry& entry : model::toml_entries(text, file, is_option)) {
    if (entry.table.empty()) {
      general.push_back(take_one(entry, file));
      continue;
    }
    Override found = take_one(entry, file + " [" + entry.table + "]");
    if (model::is_table_of(entry.table, path)) {
      found.is_of_file = true;
      special.push_back(std::move(found));
    }
  }
  general.insert(general.end(), special.begin(), special.end());
  return general;
}

}  // namespace sluice::settings

namespace sluice {

Options parse_options(const std::string& text, const Options& base) {
  const std::string where = "options";
  std::vector<settings::Override> overrides;
  for (const model::TomlEntry& entry : model::toml_entries(text, where, settings::is_option)) {
    if (!entry.table.empty()) {
      settings::known_option({"", entry.table, "", entry.place});  // a table of no option
    }
    overrides.push_back(settings::take_one(entry, where));
  }
  Options options = base;
  settings::override_with(overrides, options);
  return options;
}

}  // namespace sluice
