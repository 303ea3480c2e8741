// convert, for VOX-FE's texts: models and displacements to netCDF-4 or HDF5, and back.
#pragma once

#include <optional>
#include <string>

#include "commit/tools/convert.hpp"
#include "dialect/voxfe/model.hpp"
#include "verb.hpp"

namespace sluice::cli {

struct VoxfeWish {
  std::string from;
  std::string to;
  std::string compress;  ///< of what is made
  dialect::voxfe::Grid grid{};
  bool records = false;  ///< voxels as records beside the grid
  Options options;
  std::optional<std::int64_t> step = std::nullopt;  ///< of a file with steps that becomes text
};

enum class VoxfeText : std::uint8_t { none, model, displacements };

/// The kind of a file, from its first bytes. Local.
VoxfeText voxfe_text_of(storage::Storage& storage, const std::string& path);

/// Collective. Nothing is written if the text is wrong: Error format, with the line.
commit::Converted voxfe_to_file(const Context& context, VoxfeText kind, const VoxfeWish& wish);
/// Collective. The text of a file that voxfe_to_file() or parabmu made. Error format if it is not
/// one of these.
commit::Converted voxfe_to_text(const Context& context, const VoxfeWish& wish);

}  // namespace sluice::cli
