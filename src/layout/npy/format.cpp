#include "layout/npy/format.hpp"

#include "layout/npy/catalog.hpp"
#include "layout/npy/planner.hpp"
#include "model/name.hpp"

namespace sluice::layout::npy {

constinit const Format format_row{
    .name = "npy",
    .option = "npy",
    .endings = ".npy",
    .complex = true,
    .unchecked = "everything",
    .instead = "use format hdf5 or netcdf4",
    .create = [](storage::File& file, const PlannerOptions&) -> std::unique_ptr<Planner> {
      return NpyPlanner::create(file);
    },
    .append = [](storage::File& file, const PlannerOptions&) -> std::unique_ptr<Planner> {
      return NpyPlanner::append(file, model::stem_of(file.path()));
    },
    .open = [](storage::File& file) -> std::unique_ptr<Catalog> { return NpyCatalog::open(file); },
    .match = [](storage::File& file) { return is_npy(file) ? Match::certain : Match::none; },
    .count_steps = count_steps,
    .set_step_count = set_step_count,
};

}  // namespace sluice::layout::npy
