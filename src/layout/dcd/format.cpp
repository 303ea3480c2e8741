#include "layout/dcd/format.hpp"

#include "layout/dcd/catalog.hpp"
#include "layout/dcd/planner.hpp"
#include "layout/dcd/rules.hpp"

namespace sluice::layout::dcd {

constinit const Format format_row{
    .name = "dcd",
    .option = "dcd",
    .endings = ".dcd",
    .best = Durability::close,
    .many = true,
    .names = true,
    .attributes = true,
    .tiled = true,
    .has_grammar = true,
    .unchecked = "everything",
    .instead = "use format hdf5 or netcdf4",
    .create = [](storage::File& file, const PlannerOptions&) -> std::unique_ptr<Planner> {
      return DcdPlanner::create(file);
    },
    .append = [](storage::File& file, const PlannerOptions&) -> std::unique_ptr<Planner> {
      return DcdPlanner::append(file);
    },
    .open = [](storage::File& file) -> std::unique_ptr<Catalog> { return DcdCatalog::open(file); },
    .match = [](storage::File& file) { return is_dcd(file) ? Match::certain : Match::none; },
    .refuse_definition = [](const model::Definition& definition) { return refusal(definition); },
    .refuse_attribute = [](const model::Attribute& attribute) { return refusal(attribute); },
    .change = change,
    .choose_steps = choose_steps,
    .fixed_tile = tile_of,
    .count_steps = count_frames,
    .set_step_count = set_frame_count,
};

}  // namespace sluice::layout::dcd
