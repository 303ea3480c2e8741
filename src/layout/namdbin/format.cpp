#include "layout/namdbin/format.hpp"

#include "layout/namdbin/namdbin.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::namdbin {

constinit const Format format_row{
    .name = "namdbin",
    .option = "namdbin",
    .endings = ".coor .vel",
    .best = Durability::close,
    .has_grammar = true,
    .unchecked = "everything",
    .instead = "use format hdf5 or netcdf4",
    .create = [](storage::File& file, const PlannerOptions&) -> std::unique_ptr<Planner> {
      return NamdbinPlanner::create(file);
    },
    .append = [](storage::File& file, const PlannerOptions&) -> std::unique_ptr<Planner> {
      throw Error(
          Code::unsupported,
          file.path() + ": format namdbin: holds one array, which is whole: write a new file");
    },
    .open = [](storage::File& file) -> std::unique_ptr<Catalog> {
      return NamdbinCatalog::open(file);
    },
    .match = [](storage::File& file) { return shape_in(file) ? Match::possible : Match::none; },
    .refuse_definition = [](const model::Definition& definition) { return refusal(definition); },
};

}  // namespace sluice::layout::namdbin
