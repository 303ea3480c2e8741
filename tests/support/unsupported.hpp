// Which cells there are not, and which behaviours a layout cannot have, and why. docs/formats.md
// says the same to users: a test compares the two.
#pragma once

#include <span>
#include <string>

namespace sluice::test {

struct Unsupported {
  const char* layout;
  const char* behaviour;  ///< "group.name"
  const char* reason;     ///< as it stands in docs/formats.md
  /// Refused with Error unsupported; else it has no meaning there, and is not run.
  bool is_refused = true;
};

/// A strategy that does not write a layout: Error unsupported when a file is opened.
struct UnsupportedCell {
  const char* layout;
  const char* strategy;
  const char* reason;
};

/// What follows from the properties of the formats, and what is declared.
std::span<const Unsupported> unsupported();
/// Adds a row, from register_additions().
void declare_unsupported(const Unsupported& row);
std::span<const UnsupportedCell> unsupported_cells();
/// nullptr where the layout has the behaviour.
const Unsupported* find_unsupported(const std::string& layout, const std::string& behaviour);
/// nullptr where the strategy writes the layout.
const UnsupportedCell* find_unsupported_cell(const std::string& layout,
                                             const std::string& strategy);

}  // namespace sluice::test
