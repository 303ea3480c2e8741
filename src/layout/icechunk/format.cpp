#include "layout/icechunk/format.hpp"

#include "layout/icechunk/catalog.hpp"
#include "layout/icechunk/planner.hpp"
#include "layout/zarr/format.hpp"
#include "layout/zarr/planner.hpp"

namespace sluice::layout::icechunk {

constinit const Format format_row{
    .name = "icechunk",
    .option = "icechunk",
    .endings = ".icechunk",
    .many = true,
    .names = true,
    .attributes = true,
    .times = true,
    .time_variable = true,
    .checksums = true,
    .tiled = true,
    .varying = true,
    .length_variable = true,
    .text = false,
    .complex = true,
    .compress = true,
    .manifest = "refs/branch.main/ref.json",
    .read_manifests = "refs/tag.*/ref.json refs/branch.*/ref.json snapshots/*",
    .has_history = true,
    .most_tile_bytes = zarr::most_tile_bytes,
    .instead = "use format hdf5 or netcdf4",
    .create = [](storage::File& file, const PlannerOptions& options) -> std::unique_ptr<Planner> {
      return IcechunkPlanner::create(file, options);
    },
    .append = [](storage::File& file, const PlannerOptions& options) -> std::unique_ptr<Planner> {
      return IcechunkPlanner::append(file, options);
    },
    .open = [](storage::File& file) -> std::unique_ptr<Catalog> {
      return IcechunkCatalog::open(file);
    },
    .match = [](storage::File& file) { return is_repository(file) ? Match::certain : Match::none; },
    .refuse_definition = zarr::refuse_definition,
    .refuse_attribute = zarr::refuse_attribute,
    .filters = zarr::pipeline_in_zarr,
};

}  // namespace sluice::layout::icechunk
