// What a snapshot of an Icechunk repository holds and where.
#pragma once

#include <memory>

#include "layout/icechunk/view.hpp"
#include "layout/zarr/catalog.hpp"

namespace sluice::layout::icechunk {

/// Before the catalog that reads from it.
struct ViewHolder {
  explicit ViewHolder(storage::File& store) : view(store) {}
  View view;
};

class IcechunkCatalog final : private ViewHolder, public zarr::ZarrCatalog {
 public:
  /// Of the snapshot at which `store` was opened; `store` must outlive the catalog.
  static std::unique_ptr<IcechunkCatalog> open(storage::File& store);

  const char* format() const override { return "icechunk"; }
  std::string title() const override { return "Icechunk 1"; }
  Placement locate(std::uint32_t variable, std::uint64_t step, const model::Box& region) override;
  EncodedTiles locate_encoded(std::uint32_t variable, std::uint64_t step,
                              const model::Box& region) override;
  void read(std::uint32_t variable, std::uint64_t step, const model::Box& box,
            std::span<std::byte> out) override;

 private:
  explicit IcechunkCatalog(storage::File& store) : ViewHolder(store), ZarrCatalog(view) {}
  /// With the files of the repository for the objects of the view.
  Placement of_files(Placement placement);
  bool is_on_this_rank(std::uint32_t variable) const { return held_.at(variable).has_value(); }

  /// By variable: its filters, where some chunks cannot be read by other ranks.
  std::vector<std::optional<codec::Pipeline>> held_;
};

}  // namespace sluice::layout::icechunk
