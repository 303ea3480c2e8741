// Variables of the environment during a test.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

/// Sets environment variables during its lifetime; no thread may run then that changes others.
class Environment {
 public:
  Environment(std::initializer_list<std::pair<std::string, std::string>> values) {
    for (const auto& [name, value] : values) {
      names_.push_back(name);
      setenv(name.c_str(), value.c_str(), 1);
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    for (const std::string& name : names_) {
      unsetenv(name.c_str());
    }
  }

 private:
  std::vector<std::string> names_;
};

}  // namespace sluice::test
