#include "api/config/settings.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <unistd.h>

#include "api/config/option_table.hpp"
#include "exec/transport/agree.hpp"
#include "model/bytes.hpp"
#include "model/name.hpp"
#include "storage/small_file.hpp"

namespace sluice::settings {

namespace {

constexpr const char* prefix = "SLUICE_";
constexpr const char* explain_variable = "SLUICE_EXPLAIN";
/// Used by the tests: not a misspelt SLUICE_LOG.
constexpr const char* long_variable = "SLUICE_LONG";

std::string variable_of(const Option& option) {
  std::string name = prefix;
  for (const char* c = option.name; *c != '\0'; ++c) {
    name += static_cast<char>(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
  }
  return name;
}

/// Other programs use variables with this prefix too, so only apparent misspellings are refused.
void refuse_slip(const std::string& name) {
  constexpr std::size_t slip = 2;
  std::vector<std::string> known{storage::settings_variable, explain_variable};
  for (const Option& option : option_table()) {
    known.push_back(variable_of(option));
  }
  for (const std::string& candidate : known) {
    if (edit_distance(name, candidate) <= slip && name != candidate) {
      throw Error(Code::invalid_argument, "environment: " + model::quoted(name) +
                                              " is not known: did you mean " + candidate + "?");
    }
  }
}

}  // namespace

std::vector<Override> overrides_of_environment(const char* const* environment) {
  std::vector<Override> overrides;
  for (; *environment != nullptr; ++environment) {
    const std::string entry = *environment;
    const std::size_t equals = entry.find('=');
    if (entry.rfind(prefix, 0) != 0 || equals == std::string::npos) {
      continue;
    }
    const std::string name = entry.substr(0, equals);
    const auto table = option_table();
    const auto option = std::find_if(table.begin(), table.end(),
                                     [&](const Option& o) { return variable_of(o) == name; });
    if (option != table.end()) {
      overrides.push_back({option->name, entry.substr(equals + 1), name});
    } else if (name != storage::settings_variable && name != explain_variable &&
               name != long_variable) {
      refuse_slip(name);
    }
  }
  return overrides;
}

void override_with(const std::vector<Override>& overrides, Options& options) {
  for (const Override& one : overrides) {
    try {
      find_option(one.name)->set(options, one.value);
    } catch (const Error& e) {
      throw Error(e.code(), one.from + ": " + one.name + ": " + e.what());
    }
  }
}

namespace {

/// What a sluice.toml that the user did not name changes in whether a step survives, which steps
/// stay, and where files are put.
std::string found_notice(const Settings& settings, const Options& code) {
  constexpr std::array<std::string_view, 5> watched{"durability", "keep_last", "on_error",
                                                    "parts_dir", "restart_after"};
  std::map<std::string, const Override*> last;
  for (const Override& one : settings.overrides) {
    last[one.name] = &one;
  }
  std::string text;
  for (const auto& [name, one] : last) {
    const bool is_watched = std::find(watched.begin(), watched.end(), name) != watched.end();
    const Option* option = find_option(name);
    if (is_watched && one->was_found && option->get(settings.options) != option->get(code)) {
      text += (text.empty() ? "" : ", ") + name + " = " + model::quoted(one->value);
    }
  }
  return text.empty()
             ? text
             : std::string(storage::default_settings) + " in the current folder sets " + text;
}

}  // namespace

Settings resolve(exec::Transport& transport, const std::string& path, const Options& code,
                 const std::vector<std::string>& own) {
  auto in = exec::on_root(transport, [&](model::ByteWriter& out) {
    const storage::SettingsFile file = storage::settings_file();
    std::vector<Override> found = overrides_of_toml(file.text, file.name, path);
    for (Override& one : found) {
      one.was_found = file.was_found;
    }
    const std::vector<Override> more = overrides_of_environment(environ);
    found.insert(found.end(), more.begin(), more.end());
    Options scratch = code;
    override_with(found, scratch);  // an invalid value is an error also where it does not count
    std::erase_if(found, [&](const Override& one) {
      return !one.is_of_file && std::find(own.begin(), own.end(), one.name) != own.end();
    });
    const char* explain = std::getenv(explain_variable);
    out.put(explain != nullptr && std::strcmp(explain, "") != 0 && std::strcmp(explain, "0") != 0);
    out.put(file.notice);
    out.put(found.size());
    for (const Override& one : found) {
      out.put(one.name);
      out.put(one.value);
      out.put(one.from);
      out.put(one.was_found);
    }
  });
  Settings settings;
  settings.explain = in.get<bool>();
  const std::string unsearched = in.get_string();
  for (auto left = in.get<std::size_t>(); left > 0; --left) {
    Override one;
    one.name = in.get_string();
    one.value = in.get_string();
    one.from = in.get_string();
    one.was_found = in.get<bool>();
    settings.overrides.push_back(std::move(one));
  }
  settings.options = code;
  override_with(settings.overrides, settings.options);
  if (code.log != Log::off) {
    settings.notice = unsearched.empty() ? found_notice(settings, code) : unsearched;
  }
  return settings;
}

std::string explain_options(const std::string& path, const Settings& settings) {
  std::map<std::string, std::string> origin;
  for (const Override& one : settings.overrides) {
    origin[one.name] = one.from;
  }
  const Options defaults;
  std::string text = path + ": options\n";
  for (const Option& option : option_table()) {
    const std::string value = option.get(settings.options);
    const auto found = origin.find(option.name);
    const std::string from = found != origin.end()           ? found->second
                             : value != option.get(defaults) ? "code"
                                                             : "default";
    std::string line = std::string("  ") + option.name;
    line.resize(std::max<std::size_t>(line.size() + 1, 18), ' ');
    line += value.empty() ? "\"\"" : value;
    line.resize(std::max<std::size_t>(line.size() + 1, 38), ' ');
    text += line + from + "\n";
  }
  return text;
}

}  // namespace sluice::settings
