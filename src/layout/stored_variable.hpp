// A variable of a file that is read.
#pragma once

#include <string>
#include <vector>

#include "codec/filter.hpp"
#include "model/definition.hpp"

namespace sluice::layout {

/// A variable, and how it is stored.
struct StoredVariable {
  model::Definition definition;
  bool big_endian = false;
  /// Can every rank read it by Placement? Otherwise (compressed, compact, virtual, external,
  /// Fortran order) only by Catalog::read.
  bool placeable = false;
  /// If not placeable: can every rank read and decode it by EncodedTiles? Empty: no.
  codec::Pipeline filters;
  model::Dims tile;  ///< chunk without the step dimension; the shape for contiguous data
  /// How it is stored: "contiguous", "chunked", "chunked, deflate", "compact", "virtual", ...
  std::string storage;
  /// For a further name of a dataset: its first name; else empty.
  std::string same_as = {};
  /// The name under which programs show it, where that is another one than in the file; else empty.
  std::string shown_as = {};
};

inline const std::string& shown_name(const StoredVariable& variable) {
  return variable.shown_as.empty() ? variable.definition.name : variable.shown_as;
}
/// Gives the attributes of variables the owners that programs show.
void show_owners(const std::vector<StoredVariable>& variables,
                 std::vector<model::Attribute>& attributes);

}  // namespace sluice::layout
