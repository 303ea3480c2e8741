// The names of an output's variables, in order.
//
// Invariant: a look takes the logarithm of their number, so that many definitions do not take the
// square of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "sluice/error.hpp"

namespace sluice::commit {

class Names {
 public:
  void add(const std::string& name, std::uint32_t variable) { all_.emplace(name, variable); }

  std::optional<std::uint32_t> find(const std::string& name) const {
    const auto found = all_.find(name);
    return found == all_.end() ? std::nullopt : std::optional(found->second);
  }

  /// A name may not be both a dataset and a group on the way to another: Error bad_name.
  void check_path(const std::string& name) const {
    if (const std::string* const other = find_clash(name)) {
      throw Error(Code::bad_name, "define " + name + ": clashes with the variable " + *other);
    }
  }
  bool is_free(const std::string& name) const {
    return all_.count(name) == 0 && find_clash(name) == nullptr;
  }

 private:
  /// One below `name`, or on the way to it.
  const std::string* find_clash(const std::string& name) const {
    const std::string within = name + "/";
    const auto below = all_.lower_bound(within);
    if (below != all_.end() && below->first.starts_with(within)) {
      return &below->first;
    }
    for (std::size_t at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
      if (const auto above = all_.find(name.substr(0, at)); above != all_.end()) {
        return &above->first;
      }
    }
    return nullptr;
  }

  std::map<std::string, std::uint32_t> all_;
};

}  // namespace sluice::commit
