// Machines: those included in the library, and the requirements on a machine file.
#include "sim/machine.hpp"

#include <gtest/gtest.h>

#include "sluice/error.hpp"

namespace sluice::sim {
namespace {

TEST(Machine, EveryOneThatComesWithTheLibraryIsWhole) {
  const std::vector<std::string> names = machine_names();
  for (const char* wanted : {"archer", "contended", "franklin", "hector", "jaguar", "laptop",
                             "lustre-today", "occam-cluster", "s3-today"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), wanted), names.end()) << wanted;
  }
  for (const std::string& name : names) {
    const Machine machine = machine_named(name);
    EXPECT_FALSE(machine.name.empty() || machine.about.empty()) << name;
    EXPECT_LE(fitted_constants(machine).size(), most_fitted) << name;
    EXPECT_GE(machine.drain_bytes_per_s.value, machine.stream_bytes_per_s.value) << name;
  }
}

/// The text of a machine with the line of `constant` replaced.
std::string with(const std::string& constant, const std::string& line) {
  std::string text = machine_texts()[0].text;
  const std::size_t begin = text.find(constant + " = ");
  text.replace(begin, text.find('\n', begin) - begin, line);
  return text;
}

std::string refusal(const std::string& text) {
  try {
    read_machine(text, "mine.toml");
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Machine, SaysWhatIsWrong) {
  EXPECT_NE(refusal(with("rpc_s", "")).find("mine.toml: rpc_s is missing"), std::string::npos);
  EXPECT_NE(refusal(with("rpc_s", "rpc = 1")).find("there is no machine constant rpc"),
            std::string::npos);
  EXPECT_NE(refusal(with("rpc_s", "rpc_s = 1")).find("rpc_s: write rpc_s = {"), std::string::npos);
  EXPECT_NE(refusal(with("targets", "targets = { value = 0, from = \"guess\" }"))
                .find("targets must be positive"),
            std::string::npos);
  EXPECT_NE(refusal(with("rpc_s", "rpc_s = { value = 1, from = \"hope\" }")).find("\"hope\""),
            std::string::npos);
  EXPECT_NE(refusal(with("rpc_s", "rpc_s = {")).find("mine.toml, line "), std::string::npos);
}

TEST(Machine, CountsAndSizesAreThoseOfAMachine) {
  for (const char* name :
       {"stripes", "stripe_bytes", "cores_per_node", "targets", "dirty_bytes", "request_bytes"}) {
    for (const char* value : {"0.5", "inf", "1e300", "nan"}) {
      const std::string line = std::string(name) + " = { value = " + value + ", from = \"guess\" }";
      EXPECT_NE(refusal(with(name, line)).find(std::string(name) + " must be "), std::string::npos)
          << line;
    }
  }
  EXPECT_NE(refusal(with("rpc_s", "rpc_s = { value = inf, from = \"guess\" }"))
                .find("rpc_s must be finite"),
            std::string::npos);
}

TEST(Machine, NeedNotHaveWhatIsOptional) {
  std::string text = with("rpc_s", "rpc_s = { value = 1, from = \"guess\" }");
  EXPECT_EQ(read_machine(text, "mine.toml").handover_s.value, 0);
  text.insert(0, "handover_s = { value = 2, from = \"guess\" }\n");
  EXPECT_EQ(read_machine(text, "mine.toml").handover_s.value, 2);
  text.insert(0, "process_clients = { value = 16, from = \"guess\" }\n");
  EXPECT_NE(refusal(text).find("process_clients and locks_requests must be 0 or 1"),
            std::string::npos);
}

TEST(Machine, HasAtMostFourFittedConstants) {
  std::string text;
  std::string of_code = "\n[code]\n";
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    of_code += name + std::string(" = { value = 1, from = \"fitted\" }\n");
  }
  for (const MachineText& machine : machine_texts()) {
    if (machine.name == std::string("laptop")) {
      text = machine.text + of_code;
    }
  }
  EXPECT_NE(refusal(text).find("5 constants are fitted, at most 4"), std::string::npos);
}

TEST(Machine, ConstantsAreFoundByName) {
  Machine machine = machine_named("jaguar");
  constant_of(machine, "code.token_s").value = 2;
  EXPECT_EQ(machine.of_code("token_s"), 2);
  constant_of(machine, "rpc_s").value = 3;
  EXPECT_EQ(machine.rpc_s.value, 3);
  EXPECT_THROW(constant_of(machine, "code.none"), Error);
  EXPECT_THROW(machine.of_code("none"), Error);
  EXPECT_THROW(machine_named("none"), Error);
}

}  // namespace
}  // namespace sluice::sim
