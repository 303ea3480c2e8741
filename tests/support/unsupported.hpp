// The cells that do not exist, and the behaviours that a layout cannot have, with reasons.
// docs/formats.md documents the same: a test compares the two.
#pragma once

#include <span>
#include <string>

namespace sluice::test {

struct Unsupported {
  const char* layout;
  const char* behaviour;  ///< "group.name"
  const char* reason;     ///< as it stands in docs/formats.md
  /// Refused with Error unsupported; otherwise meaningless there, and not run.
  bool is_refused = true;
};

/// A strategy that does not write a layout: Error unsupported when a file is opened.
struct UnsupportedCell {
  const char* layout;
  const char* strategy;
  const char* reason;
};

/// Derived from the properties of the formats, and declared ones.
std::span<const Unsupported> unsupported();
/// Adds a row, from register_additions().
void declare_unsupported(const Unsupported& row);
std::span<const UnsupportedCell> unsupported_cells();
/// nullptr if the layout supports the behaviour.
const Unsupported* find_unsupported(const std::string& layout, const std::string& behaviour);
/// nullptr if the strategy writes the layout.
const UnsupportedCell* find_unsupported_cell(const std::string& layout,
                                             const std::string& strategy);

}  // namespace sluice::test
