#include "layout/hdf5/dataset_maker.hpp"

#include <algorithm>
#include <vector>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/filter_plugins.hpp"
#include "layout/hdf5/free_names.hpp"
#include "layout/hdf5/log.hpp"
#include "layout/hdf5/types.hpp"

namespace sluice::layout::hdf5 {

using model::Dims;

void DatasetMaker::make(std::uint32_t variable, bool places_now) {
  const model::Definition& definition = variables_.definition(variable);
  const Handle list = creation_list(file_.profile(), definition);
  require_free(file_.id(), definition.name, "define " + definition.name);
  file_.make_groups_above(definition.name);
  if (definition.stepped) {
    make_stepped(variable, list.get());
  } else {
    make_fixed(variable, list.get(), places_now);
  }
  mark(file_.profile(), variables_.dataset(variable), definition);
}

void DatasetMaker::create(std::uint32_t variable, hid_t space, hid_t list) {
  const model::Definition& definition = variables_.definition(variable);
  const Handle type = type_in_file(file_.profile(), definition.type);
  variables_[variable].handle =
      create_dataset(file_.id(), definition.name, type.get(), space, list);
}

void DatasetMaker::make_fixed(std::uint32_t variable, hid_t list, bool places_now) {
  const model::Definition& definition = variables_.definition(variable);
  const Handle space = dataspace(dims_in_file(file_.profile(), definition, definition.shape));
  if (is_encoded(definition)) {
    const Dims& tile = variables_[variable].tile;
    set_chunk(list, dims_in_file(file_.profile(), definition, tile), definition.name);
    set_filters(variable, list);
  } else {
    check(H5Pset_layout(list, H5D_CONTIGUOUS), definition.name);
    check(H5Pset_alloc_time(list, places_now ? H5D_ALLOC_TIME_EARLY : H5D_ALLOC_TIME_LATE),
          definition.name);
    // Elements that are never put must read as the fill value, or as zeros: libhdf5 reads that only
    // if there is no space, and does not read it where it may never fill.
    check(H5Pset_fill_time(list, places_now ? H5D_FILL_TIME_NEVER : H5D_FILL_TIME_IFSET),
          definition.name);
  }
  create(variable, space.get(), list);
}

void DatasetMaker::make_stepped(std::uint32_t variable, hid_t list) {
  const model::Definition& definition = variables_.definition(variable);
  PlannedDataset& dataset = variables_[variable];
  dataset.slot = vtkhdf_.slot(variable);
  const bool is_stacked = dataset.slot == 0;
  Dims shape = dims_in_file(file_.profile(), definition, definition.shape);
  Dims chunk = dims_in_file(file_.profile(), definition, dataset.tile);
  if (is_stacked) {
    shape = shape.with_front(0);
    chunk = chunk.with_front(1);
  } else {
    shape[0] = 0;
  }
  const Handle space = growing_space(shape, definition.name);
  set_chunk(list, chunk, definition.name);
  set_filters(variable, list);
  create(variable, space.get(), list);
  if (!is_stacked) {
    write_attribute(dataset.handle.get(), step_rows_attribute,
                    std::vector<std::int64_t>{static_cast<std::int64_t>(dataset.slot),
                                              static_cast<std::int64_t>(definition.shape[0])});
  }
}

void DatasetMaker::set_filters(std::uint32_t variable, hid_t list) const {
  constexpr std::uint32_t highest_deflate = 9;  // for HDF5; any reader can undo higher levels
  const std::string& name = variables_.definition(variable).name;
  for (const codec::Filter& filter : settled_filters(
           file_.profile(), variables_.definition(variable), variables_[variable].tile)) {
    if (filter.id == codec::shuffle_id) {
      check(H5Pset_shuffle(list), name);
    } else if (filter.id == codec::deflate_id) {
      check(H5Pset_deflate(list, std::min(filter.parameters[0], highest_deflate)), name);
    } else if (filter.id == codec::fletcher32_id) {
      check(H5Pset_fletcher32(list), name);
    } else {
      // Optional: this libhdf5 need not have the filter, because it never encodes.
      check(H5Pset_filter(list, static_cast<H5Z_filter_t>(filter.id), H5Z_FLAG_OPTIONAL,
                          filter.parameters.size(), filter.parameters.data()),
            name);
    }
  }
}

}  // namespace sluice::layout::hdf5
