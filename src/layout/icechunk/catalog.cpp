#include "layout/icechunk/catalog.hpp"

#include "sluice/error.hpp"

namespace sluice::layout::icechunk {

std::unique_ptr<IcechunkCatalog> IcechunkCatalog::open(storage::File& store) {
  std::unique_ptr<IcechunkCatalog> catalog(new IcechunkCatalog(store));
  if (catalog->view.repository().find("") == nullptr) {
    throw Error(Code::format, store.path() + ": the snapshot " +
                                  text_of(catalog->view.repository().snapshot().id) +
                                  " has no root group yet: open a later one");
  }
  catalog->load();
  for (StoredVariable& variable : catalog->variables_) {
    catalog->held_.emplace_back();
    if (!catalog->view.is_in_files(variable.definition.name)) {
      catalog->held_.back() = variable.filters;
      variable.filters = {};
      variable.placeable = false;
    }
  }
  return catalog;
}

Placement IcechunkCatalog::of_files(Placement placement) {
  std::vector<storage::Segment> objects = placement.objects();
  for (storage::Segment& object : objects) {
    object.name = view.file_of(object.name);
  }
  placement.set_objects(std::move(objects));
  return placement;
}

Placement IcechunkCatalog::locate(std::uint32_t variable, std::uint64_t step,
                                  const model::Box& region) {
  Placement placement = ZarrCatalog::locate(variable, step, region);
  return is_on_this_rank(variable) ? std::move(placement) : of_files(std::move(placement));
}

EncodedTiles IcechunkCatalog::locate_encoded(std::uint32_t variable, std::uint64_t step,
                                             const model::Box& region) {
  EncodedTiles tiles = ZarrCatalog::locate_encoded(variable, step, region);
  if (!is_on_this_rank(variable)) {
    tiles.placement = of_files(std::move(tiles.placement));
  }
  return tiles;
}

void IcechunkCatalog::read(std::uint32_t variable, std::uint64_t step, const model::Box& box,
                           std::span<std::byte> out) {
  if (!is_on_this_rank(variable) || held_[variable]->empty() || box.empty()) {
    ZarrCatalog::read(variable, step, box, out);
    return;
  }
  StoredVariable stored = variables_[variable];
  stored.filters = *held_[variable];
  read_encoded(view, stored, locate_encoded(variable, step, box), {variable, step}, box, out,
               last_tile_);
}

}  // namespace sluice::layout::icechunk
