// Locates requested elements: the same placement, with its checksum records, on every rank, by one
// message from the rank that has the metadata.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "commit/read/file_view.hpp"
#include "commit/read/records.hpp"
#include "commit/read/root_catalog.hpp"
#include "exec/transport/transport.hpp"
#include "layout/encoded_tiles.hpp"

namespace sluice::commit {

/// A variable of one step, and the region of it that the ranks want.
struct Wanted {
  std::uint32_t variable = 0;
  std::uint64_t step = 0;
  model::Box region;
};

/// The same, located on all ranks.
struct Located : Wanted {
  layout::EncodedTiles tiles = {};  ///< without sizes where nothing is encoded
  RecordSet records = {};  ///< those that overlap the region (for compressed ones, its tiles)

  const layout::Placement& placement() const noexcept { return tiles.placement; }
  /// Does it cover the requested region?
  bool answers(const Wanted& wanted) const;
};

class Locator {
 public:
  /// `root`: on rank 0. All must outlive the object.
  Locator(exec::Transport& transport, const FileView& view, RootCatalog* root)
      : transport_(transport), view_(view), root_(root) {}

  /// Collective. Locates variables with addresses, in their order; valid until the next call.
  std::span<const Located> locate(std::span<const Wanted> wanted);
  /// Collective. The same for a compressed variable, whose tiles differ in size.
  const Located& locate_encoded(const Wanted& wanted);

 private:
  /// On rank 0: the message to the others.
  void describe(const Wanted& wanted, model::ByteWriter& out);
  void describe_encoded(const Wanted& wanted, model::ByteWriter& out);
  std::vector<Record> records_in(const Wanted& wanted, const model::Box& region);

  exec::Transport& transport_;
  const FileView& view_;
  RootCatalog* root_;
  std::vector<Located> located_;  ///< the last ones
  std::optional<Located> encoded_;
};

}  // namespace sluice::commit
