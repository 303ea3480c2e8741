#include "sim/machine.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sluice/error.hpp"

// A second place that reads TOML, as the first does (api/config/settings_toml.cpp).
#ifndef TOML_ENABLE_FORMATTERS
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ASSERT(expression) static_cast<void>(0)
#endif
#include <toml++/toml.h>

namespace sluice::sim {

namespace {

constexpr std::array<const char*, 5> source_words{"published", "paper", "measured", "fitted",
                                                  "guess"};

constexpr std::array<ConstantName, 26> names{{
    {"cores_per_node", &Machine::cores_per_node},
    {"copy_bytes_per_s", &Machine::copy_bytes_per_s},
    {"memory_bytes_per_s", &Machine::memory_bytes_per_s},
    {"link_bytes_per_s", &Machine::link_bytes_per_s},
    {"latency_s", &Machine::latency_s},
    {"message_s", &Machine::message_s},
    {"barrier_s", &Machine::barrier_s},
    {"stream_bytes_per_s", &Machine::stream_bytes_per_s},
    {"drain_bytes_per_s", &Machine::drain_bytes_per_s},
    {"dirty_bytes", &Machine::dirty_bytes},
    {"request_bytes", &Machine::request_bytes},
    {"rpc_s", &Machine::rpc_s},
    {"process_clients", &Machine::process_clients, true},
    {"targets", &Machine::targets},
    {"target_bytes_per_s", &Machine::target_bytes_per_s},
    {"request_s", &Machine::request_s},
    {"stripes", &Machine::stripes},
    {"stripe_bytes", &Machine::stripe_bytes},
    {"lock_callback_s", &Machine::lock_callback_s},
    {"handover_s", &Machine::handover_s, true},
    {"locks_requests", &Machine::locks_requests, true},
    {"part_read", &Machine::part_read, true},
    {"touch_s", &Machine::touch_s},
    {"opens_per_s", &Machine::opens_per_s},
    {"sync_s", &Machine::sync_s},
    {"interference", &Machine::interference},
}};

/// The constants that may be 0; every other one is a rate, a size or a count.
bool may_be_zero(const ConstantName& constant) {
  const std::string name = constant.name;
  return constant.is_optional || (name.ends_with("_s") && !name.ends_with("per_s")) ||
         name == "interference";
}

/// The largest value of what becomes a whole number, a count or a size; 0: any.
double most_of(const ConstantName& constant) {
  constexpr std::uint64_t most_things = 1 << 20;
  constexpr std::uint64_t most_bytes = 1ULL << 50;
  const std::string name = constant.name;
  const bool is_count = name == "cores_per_node" || name == "targets" || name == "stripes";
  return static_cast<double>(is_count ? most_things : name.ends_with("_bytes") ? most_bytes : 0);
}

[[noreturn]] void refuse_machine(const std::string& from, const std::string& what) {
  throw Error(Code::invalid_argument, from + ": " + what);
}

Constant read_constant(const std::string& key, const toml::node& node, const std::string& from) {
  const toml::table* table = node.as_table();
  if (table == nullptr) {
    refuse_machine(from, key + ": write " + key + " = { value = 1, from = \"guess\" }");
  }
  const auto value = (*table)["value"].value<double>();
  const auto word = (*table)["from"].value<std::string>();
  if (!value || !word) {
    refuse_machine(from, key + ": it needs value and from");
  }
  const auto found = std::find(source_words.begin(), source_words.end(), *word);
  if (found == source_words.end()) {
    refuse_machine(
        from, key + ": from = \"" + *word + "\": use published, paper, measured, fitted or guess");
  }
  return {*value, static_cast<Source>(found - source_words.begin())};
}

void check_values(const Machine& machine, const std::string& from) {
  for (const ConstantName& name : constant_names()) {
    const double value = (machine.*name.place).value;
    if (!(value > 0) && !(value == 0 && may_be_zero(name))) {
      refuse_machine(from, std::string(name.name) + " must be positive");
    }
    const double most = most_of(name);
    if (!std::isfinite(value) || (most != 0 && (value < 1 || value > most))) {
      refuse_machine(
          from,
          std::string(name.name) + " must be " +
              (most == 0 ? "finite" : "1 to " + std::to_string(static_cast<std::uint64_t>(most))));
    }
  }
  if (machine.interference.value >= 1) {
    refuse_machine(from, "interference must be below 1");
  }
  for (const double is_so : {machine.process_clients.value, machine.locks_requests.value}) {
    if (is_so != 0 && is_so != 1) {
      refuse_machine(from, "process_clients and locks_requests must be 0 or 1");
    }
  }
  if (machine.stripes.value > machine.targets.value) {
    refuse_machine(from, "a file has more stripes than there are targets");
  }
  const auto fitted = fitted_constants(machine);
  if (fitted.size() > most_fitted) {
    refuse_machine(from, std::to_string(fitted.size()) + " constants are fitted, at most " +
                             std::to_string(most_fitted) + " may be");
  }
}

toml::table parse_machine(const std::string& text, const std::string& from) {
  try {
    return toml::parse(text, from);
  } catch (const toml::parse_error& e) {
    throw Error(Code::format, from + ", line " + std::to_string(e.source().begin.line) + ": " +
                                  std::string(e.description()));
  }
}

}  // namespace

std::span<const ConstantName> constant_names() { return names; }

double Machine::of_code(const std::string& key) const {
  const auto found = code.find(key);
  if (found == code.end()) {
    throw Error(Code::not_found, "machine " + name + " has no constant code." + key);
  }
  return found->second.value;
}

std::vector<std::string> fitted_constants(const Machine& machine) {
  std::vector<std::string> fitted;
  for (const ConstantName& name : constant_names()) {
    if ((machine.*name.place).source == Source::fitted) {
      fitted.emplace_back(name.name);
    }
  }
  for (const auto& [key, constant] : machine.code) {
    if (constant.source == Source::fitted) {
      fitted.push_back("code." + key);
    }
  }
  return fitted;
}

Constant& constant_of(Machine& machine, const std::string& name) {
  for (const ConstantName& known : constant_names()) {
    if (name == known.name) {
      return machine.*known.place;
    }
  }
  const bool is_of_code = name.starts_with("code.");
  const auto found = machine.code.find(is_of_code ? name.substr(5) : "");
  if (found == machine.code.end()) {
    throw Error(Code::invalid_argument, "there is no machine constant " + name);
  }
  return found->second;
}

Machine read_machine(const std::string& text, const std::string& from) {
  const toml::table root = parse_machine(text, from);
  Machine machine;
  for (const auto& [key, node] : root) {
    const std::string name(key.str());
    if (name == "name" || name == "about") {
      (name == "name" ? machine.name : machine.about) = node.value_or(std::string());
      continue;
    }
    if (name == "code" && node.is_table()) {
      for (const auto& [inner, value] : *node.as_table()) {
        const std::string of_code(inner.str());
        machine.code[of_code] = read_constant("code." + of_code, value, from);
      }
      continue;
    }
    const auto all = constant_names();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& known) { return name == known.name; });
    if (found == all.end()) {
      refuse_machine(from, "there is no machine constant " + name);
    }
    machine.*found->place = read_constant(name, node, from);
  }
  for (const ConstantName& known : constant_names()) {
    if (!known.is_optional && !root.contains(known.name)) {
      refuse_machine(from, std::string(known.name) + " is missing");
    }
  }
  check_values(machine, from);
  return machine;
}

std::vector<std::string> machine_names() {
  std::vector<std::string> all;
  for (const MachineText& text : machine_texts()) {
    all.emplace_back(text.name);
  }
  std::sort(all.begin(), all.end());
  return all;
}

Machine machine_named(const std::string& name) {
  for (const MachineText& text : machine_texts()) {
    if (name == text.name) {
      return read_machine(text.text, name + ".toml");
    }
  }
  std::string known;
  for (const std::string& one : machine_names()) {
    known += (known.empty() ? "" : ", ") + one;
  }
  throw Error(Code::not_found, "there is no machine \"" + name + "\": use one of " + known);
}

}  // namespace sluice::sim
