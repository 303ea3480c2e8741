// What a file is called among people, where its format's name does not say it: "netCDF-4", "Zarr
// 2".
#pragma once

#include <string>

#include "layout/catalog.hpp"

namespace sluice::layout {

/// A catalog that has such a name.
class Titled {
 public:
  virtual ~Titled() = default;
  virtual std::string title() const = 0;
};

inline std::string title_of(const Catalog& catalog) {
  const auto* titled = dynamic_cast<const Titled*>(&catalog);
  return titled != nullptr ? titled->title() : catalog.format();
}

}  // namespace sluice::layout
