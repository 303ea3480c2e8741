#include "layout/records/format.hpp"

#include "layout/records/catalog.hpp"
#include "layout/records/planner.hpp"

namespace sluice::layout::records {

constinit const Format format_row{
    .name = "records",
    .option = "records",
    .endings = ".rec",
    .many = true,
    .names = true,
    .attributes = true,
    .times = true,
    .checksums = true,
    .varying = true,
    .complex = true,
    .create = [](storage::File& file, const PlannerOptions& options) -> std::unique_ptr<Planner> {
      return RecordsPlanner::create(file, options);
    },
    .append = [](storage::File& file, const PlannerOptions& options) -> std::unique_ptr<Planner> {
      return RecordsPlanner::append(file, options);
    },
    .open = [](storage::File& file) -> std::unique_ptr<Catalog> {
      return RecordsCatalog::open(file);
    },
    .match = [](storage::File& file) { return is_log(file) ? Match::certain : Match::none; },
};

}  // namespace sluice::layout::records
