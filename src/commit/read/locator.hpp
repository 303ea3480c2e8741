// Locates requested elements: the same placement, with its checksum records, on every rank, by one
// message from the rank that has the metadata.
//
// Invariant: of a variable with more records than a message to all ranks should hold, a rank gets
// those that meet its own box, unless the boxes overlap so much that all records take less.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
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

/// The records in several tiles that this rank has compared while it decodes tiles of one read.
struct Compared {
  std::mutex mutex;  ///< of everything here
  std::set<const Record*> records;
  layout::LastTile last;
  std::vector<std::byte> bytes;
};

/// The same, located on all ranks.
struct Located : Wanted {
  layout::EncodedTiles tiles = {};  ///< without sizes where nothing is encoded
  RecordSet records = {};  ///< those that overlap the region (for compressed ones, its tiles)
  /// Are there so many that `records` may be only those that meet this rank's box? The same on
  /// every rank.
  bool is_many = false;
  bool is_in_tiles = true;  ///< of many: is each of them all in one tile that exists?
  std::shared_ptr<Compared> compared = {};  ///< of a compressed variable, anew for every read

  const layout::Placement& placement() const noexcept { return tiles.placement; }
  /// Does it cover the requested region, for any box?
  bool answers(const Wanted& wanted) const;
};

class Locator {
 public:
  /// `root`: on rank 0. All must outlive the object.
  Locator(exec::Transport& transport, const FileView& view, RootCatalog* root)
      : transport_(transport), view_(view), root_(root) {}

  /// Collective. Locates variables with addresses, in their order; valid until the next call.
  /// `own`: of each the box that this rank reads; without them every rank gets all records.
  std::span<const Located> locate(std::span<const Wanted> wanted,
                                  std::span<const model::Box> own = {});
  /// Collective. All records of the region, on every rank, of what was located as number `i`.
  void complete(std::size_t i);
  /// Local. Forgets what was located if there were many records.
  void forget_many() noexcept;
  /// Local. Forgets what was located.
  void forget() noexcept;
  /// Collective. The same for a compressed variable, whose tiles differ in size.
  const Located& locate_encoded(const Wanted& wanted);

 private:
  /// On rank 0: the message to the others. With more than `most_records` these are not in it.
  /// Returns how many are.
  std::size_t describe(const Wanted& wanted, std::size_t most_records, model::ByteWriter& out);
  /// Collective. The records that each rank needs, where there are many.
  void deal(std::span<const model::Box> own, std::vector<Located>& located);
  void deal_one(std::span<const model::Box> boxes, Located& located);
  /// On rank 0: to each rank the records that meet its box, of those of `boxes`. False: altogether
  /// they would be several times as many as there are.
  bool cut_up(const Wanted& wanted, std::span<const model::Box> boxes,
              std::vector<exec::Parcel>& parcels);
  void describe_encoded(const Wanted& wanted, model::ByteWriter& out);
  std::vector<Record> records_in(const Wanted& wanted, const model::Box& region);

  exec::Transport& transport_;
  const FileView& view_;
  RootCatalog* root_;
  std::vector<Located> located_;  ///< the last ones
  std::optional<Located> encoded_;
};

}  // namespace sluice::commit
