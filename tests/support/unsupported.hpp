// Which behaviours a layout cannot have, and why. docs/formats.md says the same to users: a test
// compares the two.
#pragma once

#include <span>
#include <string>

namespace sluice::test {

struct Unsupported {
  const char* layout;
  const char* behaviour;  ///< "group.name", or "group.*"
  const char* reason;     ///< as it stands in docs/formats.md
  /// Refused with Error unsupported; else it has no meaning there, and is not run.
  bool is_refused = true;
};

std::span<const Unsupported> unsupported();
/// nullptr where the layout has the behaviour.
const Unsupported* find_unsupported(const std::string& layout, const std::string& behaviour);

}  // namespace sluice::test
