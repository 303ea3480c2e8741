#include "mpiio/settings.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <unistd.h>

#include "model/number_text.hpp"
#include "storage/say.hpp"

namespace sluice::mpiio {

namespace {

constexpr std::int64_t smallest_budget_mib = 8;
constexpr std::array<std::string_view, 4> storages{"auto", "writeback", "posix", "direct"};

std::string_view text_of(const char* setting) {
  const char* const text = std::getenv(setting);
  return model::trimmed(text == nullptr ? "" : text);
}

bool is_switch(std::string_view value) { return switch_of(value).has_value(); }
bool is_storage(std::string_view value) {
  return std::find(storages.begin(), storages.end(), value) != storages.end();
}
std::optional<std::int64_t> mib_of(std::string_view value) {
  const auto number = model::number_in<std::int64_t>(value);
  return number && *number >= smallest_budget_mib ? number : std::nullopt;
}
bool is_mib(std::string_view value) { return mib_of(value).has_value(); }

struct Setting {
  const char* name;
  bool (*is_allowed)(std::string_view value);  ///< null: every value is
  const char* allowed;
  const char* standard;
};
constexpr std::array<Setting, 6> settings{{
    {"SLUICE_MPIIO", is_switch, "true or false (on, off, yes, no, 1, 0)", "true"},
    {"SLUICE_MPIIO_BUDGET_MIB", is_mib, "a whole number of MiB from 8 on", "256"},
    {"SLUICE_MPIIO_PATH", nullptr, "", ""},
    {"SLUICE_MPIIO_RECORD", nullptr, "", ""},
    {"SLUICE_MPIIO_STORAGE", is_storage, "auto, writeback, posix or direct", "auto"},
    {"SLUICE_MPIIO_WRITE_BEHIND", is_switch, "true or false (on, off, yes, no, 1, 0)", "false"},
}};

/// Of "NAME=value"; empty: it is right, or of somebody else.
std::string fault_of(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  if (name != settings[0].name && !name.starts_with("SLUICE_MPIIO_")) {
    return "";
  }
  for (const Setting& setting : settings) {
    if (name == setting.name) {
      const std::string_view value = text_of(setting.name);
      const bool is_right =
          value.empty() || setting.is_allowed == nullptr || setting.is_allowed(value);
      return is_right ? ""
                      : std::string(name) + "=" + std::string(value) + ": expected " +
                            setting.allowed + ": it is " + setting.standard;
    }
  }
  std::string fault = std::string(name) + ": there is no such setting; there are";
  for (const Setting& setting : settings) {
    fault += std::string(&setting == settings.data() ? " " : ", ") + setting.name;
  }
  return fault;
}

}  // namespace

std::optional<bool> switch_of(std::string_view word) {
  return model::boolean_in(model::lower_case(word));
}

bool is_switched_on(const char* setting, bool standard) {
  return switch_of(text_of(setting)).value_or(standard);
}

std::string asked_storage() {
  const std::string_view name = text_of("SLUICE_MPIIO_STORAGE");
  return is_storage(name) && name != "auto" ? std::string(name) : std::string();
}

std::optional<std::int64_t> asked_budget_mib() {
  return mib_of(text_of("SLUICE_MPIIO_BUDGET_MIB"));
}

void say_wrong_settings(int rank) {
  static std::atomic<bool> is_said{false};
  if (rank != 0 || is_said.exchange(true)) {
    return;
  }
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (const std::string fault = fault_of(*variable); !fault.empty()) {
      storage::say(fault);
    }
  }
}

}  // namespace sluice::mpiio
